"""HTML files."""

import pytest

from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source


def read(markup: str | bytes) -> Extraction:
    data = markup.encode() if isinstance(markup, str) else markup
    return read_book(Source.of_bytes(data, "book.html"))


def words(markup: str) -> list[str]:
    return [word for page in read(markup).pages for word in page.split()]


def test_text_comes_in_order_and_blocks_break_lines() -> None:
    book = read(
        "<!DOCTYPE html><html lang=en><title>A\n book</title><style>p{}</style><body><h1>One</h1>"
        "<p>two\n three<br>four <i>fi</i>ve</p><script>no()</script><table><tr><td>six<td>seven</table>eight"
    )
    assert book.format == "html"
    assert [" ".join(line.split()) for line in book.pages[0].split("\n") if line] == [
        *("One", "two three", "four five", "six", "seven", "eight")
    ]
    assert (book.metadata.title, book.metadata.language) == ("A book", "en")


def test_page_numbers_are_left_out_and_do_not_divide_words() -> None:
    markup = '<p>beau<span class="pagenum" id="P">[Pg 2]</span>tiful <span class=pagenum>3</span></p>'
    assert words(markup)[0] == "beautiful"
    assert read(markup).paginated is False


def test_standard_marks_of_page_breaks_make_pages() -> None:
    book = read(
        '<div>cover</div><p>one <span role="doc-pagebreak" id="p1" aria-label="1"></span>two beau'
        '<span epub:type="pagebreak">2</span>tiful three</p><hr role="doc-pagebreak">'
    )
    assert [" ".join(page.split()) for page in book.pages] == ["cover one", "two beautiful", "three", ""]
    assert book.paginated


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=Shift_JIS">', "cp932"),
        ("<meta charset=iso-8859-1>", "utf-8"),  # as it is often declared, and is not
        ("", "utf-16"),
        ("", "utf-16-be"),
        ("", "utf-32-le"),
    ],
)
def test_the_encoding_is_as_declared(declaration: str, encoding: str) -> None:
    assert "Привет" in read(f"<html>{declaration}<p>Привет".encode(encoding)).pages[0]


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("<p>a<ul><li>b</ul>c</p>d", "a|b|c|d"),
        ("<h1>a<p>b</h1>c", "a|b|c"),
        ("a</div>b</p>c", "a|b|c"),
        ("<font>a<p>b</font>c", "a|bc"),
        ("a<title>t<p>b", "ab"),
        ("a<select>b<p>c", "ac"),
        ("a<svg><text>t</text><p>b", "atb"),
        ("a<noframes>b<p>c</noframes>d", "ab|cd"),
        ("<html><body>a</body></html>b", "a|b"),
        ("<p>a<span class=pagenum>12 b c", "a12 b c"),
    ],
)
def test_no_text_is_lost_to_elements_that_do_not_nest(markup: str, lines: str) -> None:
    [page] = read("<html><body>" + markup).pages
    assert "|".join(filter(None, map(str.strip, page.split("\n")))) == lines


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("river<sup>1</sup> was", "river 1 was"),
        ("river<a epub:type='noteref' href='#n'><sup><b>3</b></sup></a>", "river 3"),
        ("river<a href='#n'>[3]</a>", "river [3]"),
        ("<p><sup>1</sup>The river</p>", "1 The river"),
        ("river <sup>1</sup> was", "river 1 was"),
        ("the 2<sup>nd</sup> day", "the 2nd day"),
        ("see<a href='#n'>page</a>", "seepage"),
        ("<p><img src='t.png' alt='T'/>he river</p>", "The river"),
        ("<p><img src='t.png' alt='A tree'>The river <img alt='x'></p>", "The river"),
    ],
)
def test_initials_and_numbers_of_notes_are_read_as_they_stand(body: str, text: str) -> None:
    assert read(f"<body>{body}</body>").pages[0] == text
