"""ALTO: words that a line divides, the order of blocks, and page furniture."""

import pytest

from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

FIRST, SECOND = "HypPart1", "HypPart2"


def read(layout: str, before: str = "") -> Extraction:
    xml = f"<alto>{before}<Layout>{layout}</Layout></alto>"
    return read_book(Source.of_bytes(xml.encode(), "alto.xml"))


def string(content: str, role: str = "", whole: str = "") -> str:
    return f'<String CONTENT="{content}" SUBS_TYPE="{role}" SUBS_CONTENT="{whole}"/>'


def line(*parts: str) -> str:
    strings = "".join(part if part.startswith("<") else string(part) for part in parts)
    return f"<TextLine>{strings}</TextLine>"


def block(name: str, text: str, attributes: str = "") -> str:
    return f'<TextBlock ID="{name}" {attributes}>{line(*text.split())}</TextBlock>'


def page(*lines: str) -> str:
    return f"<Page><PrintSpace>{''.join(lines)}</PrintSpace></Page>"


def text(*lines: str) -> str:
    return str(read(page(*lines)).pages[0])


HYPHEN = '<HYP CONTENT="-"/>'
VER, EIN = string("Ver", FIRST, "Verein"), string("ein", SECOND, "Verein")


@pytest.mark.parametrize(
    ("lines", "read_as"),
    [
        ((line("im", VER, HYPHEN), line(EIN, "der")), "im Verein\nder"),
        ((line(VER, EIN, "der", "Leser"),), "Verein der Leser"),
        ((line(VER, "aber", "auch", HYPHEN), line(EIN, "der")), "Verein aber auch\nder"),
        ((line(VER, "I", ".", HYPHEN), line(EIN, "der")), "Verein\nder"),
        ((line(VER, HYPHEN), line("ein", "der")), "Verein\nder"),
        ((line(VER, HYPHEN), line("12"), line(EIN, "der")), "Verein\n12\nder"),
        ((line(VER, HYPHEN), line(EIN), line(VER, HYPHEN), line(EIN)), "Verein\n\nVerein\n"),
        ((line(EIN, "der"), line("Leser")), "ein der\nLeser"),
        ((line(EIN), line(VER, HYPHEN), line(EIN)), "ein\nVerein\n"),
        ((line("a"), line("im", VER, HYPHEN)), "a\nim Ver-"),
        ((line("im", VER, HYPHEN), line("A ij")), "im Ver-\nA ij"),
        ((line(VER, HYPHEN), *map(line, "abcd")), "Verein\na\nb\nc\nd"),
        ((line(string("Ver", FIRST)), line(string("ein", SECOND))), "Ver\nein"),
    ],
)
def test_halves_of_a_word_are_paired(lines: tuple[str, ...], read_as: str) -> None:
    assert text(*lines) == read_as


REFERENCES = '<ElementRef REF="{}"/><UnorderedGroup><ElementRef REF="{}"/></UnorderedGroup>'


@pytest.mark.parametrize(
    ("before", "attributes", "order"),
    [
        (
            f"<ReadingOrder><OrderedGroup>{REFERENCES.format('c', 'a')}</OrderedGroup></ReadingOrder>",
            "",
            "cab",
        ),
        (
            f"<ReadingOrder><OrderedGroup>{REFERENCES.format('c a', 'no')}</OrderedGroup></ReadingOrder>",
            "",
            "cab",
        ),
        ("", {"c": "a", "a": "b"}, "cab"),
        ("", {"a": "c", "c": "b"}, "acb"),
        ("", {"a": "b", "b": "a"}, "cab"),
        ("", {"a": "elsewhere", "b": "b"}, "acb"),
        ("", {}, "abc"),
    ],
)
def test_blocks_come_in_the_order_that_is_stated(before: str, attributes: dict[str, str], order: str) -> None:
    following = {name: f'IDNEXT="{attributes[name]}"' if name in attributes else "" for name in "abc"}
    found = read(page(*(block(name, name, following[name]) for name in "abc")), before)
    assert "".join(found.pages[0].split()) == order


def test_a_block_within_another_may_stand_apart_in_the_order() -> None:
    order = '<ReadingOrder><ElementRef REF="in"/><ElementRef REF="out"/></ReadingOrder>'
    composed = f'<ComposedBlock ID="out">{block("first", "first")}{block("in", "inner")}</ComposedBlock>'
    assert read(page(composed), order).pages[0] == "inner\nfirst"


def test_margins_at_head_and_foot_and_tagged_blocks_are_page_furniture() -> None:
    margins = (
        f"<TopMargin>{block('t', 'Of Boats')}</TopMargin><BottomMargin>{block('f', 'C 2')}</BottomMargin>"
    )
    side = f"<LeftMargin>{block('l', 'a note')}</LeftMargin>"
    whole = f"<Page>{margins}{side}<PrintSpace>{block('p', 'text')}</PrintSpace></Page>"
    assert read(whole).pages[0].split() == ["a", "note", "text"]
    assert read(f"<Page>{margins}</Page>").pages[0] == "Of Boats\nC 2"
    tags = '<Tags><OtherTag ID="n" LABEL="NumberingZone"/><OtherTag ID="m" LABEL="MainZone"/></Tags>'
    blocks = block("n", "- 17 -", 'TAGREFS="x n"'), block("m", "text", 'TAGREFS="m"')
    headed = margins.replace(line("C", "2"), line("xvii."))
    assert list(read(f"<Page>{headed}{block('p', 'text')}</Page>").labels) == ["xvii"]
    found = read(page(*blocks), tags)
    assert (list(found.pages), list(found.labels)) == (["text"], ["17"])
