"""HTML and XHTML as a row of tags."""

import pytest

from bookprint_readers.syntax.tags import Tag, tags


def named(markup: str) -> list[tuple[str, bool, str]]:
    return [(tag.name, tag.is_end, tag.text) for tag in tags(markup)][1:]


def texts(markup: str) -> str:
    return "".join(tag.text for tag in tags(markup))


def test_names_are_in_lower_case_and_texts_stand_behind_their_tags() -> None:
    assert named("x<P CLASS=a>one</P >two<br/>") == [
        ("p", False, "one"),
        ("p", True, "two"),
        ("br", False, ""),
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<!-- <b> -- > -->b", "ab"),
        ("a<!-->b<!--->c<!---->d", "abcd"),
        ("a<!-- without end", "a"),
        ("a<!DOCTYPE html>b<?xml version='1.0'?>c", "abc"),
        ("a<script>if (a < b) '<p>'</SCRIPT>b", "ab"),
        ("a<script src='x'/>b<style/>c", "abc"),
        ("a<style>p {}", "a"),
        ("a<styled>b</styled>", "ab"),
        ("1 < 2 and 3 <4 <", "1 < 2 and 3 <4 <"),
        ("a<p title='a > b' class=\"c>d\">e", "ae"),
        ("a<p title=O'Brien>b<p title=it's>c", "abc"),
        ("a<p class='b>c", "a"),
        ("&lt;p&gt; &#x17f;&eacute;&unknown; &amp;amp;", "<p> ſé&unknown; &amp;"),
        ("&#" + "9" * 5_000 + ";", "&#" + "9" * 5_000 + ";"),
    ],
)
def test_what_is_no_tag_is_text_and_the_rest_is_not(markup: str, text: str) -> None:
    assert texts(markup) == text


def test_attributes_have_any_quotes_and_the_first_of_a_name_counts() -> None:
    [_, tag] = tags("<a ID=one id='two' Title = \"a &amp; b\" hidden href=/x/>")
    assert tag.attributes() == {"id": "one", "title": "a & b", "hidden": "", "href": "/x/"}


def test_elements_without_content_are_known() -> None:
    assert [tag.is_empty for tag in tags("<br><p/><p>")][1:] == [True, True, False]
    assert not Tag("p", False, "", "").is_empty
