"""Plain text files."""

import codecs

import pytest

from app.core.errors import UnsupportedFormat
from app.readers.formats import txt
from app.readers.source import Source

TEXT = "Grüße aus Αθήνα.\fZweite Seite."
FRENCH = "Il était une fois un roi qui aimait à dîner tôt, et que sa fille grondait souvent à l'été. " * 20


def source(data: bytes) -> Source:
    return Source.of_bytes(data, "book.txt")


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
    ids=["utf-8", "utf-8 marked", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"],
)
def test_encoding_follows_the_byte_order_mark_and_is_utf8_without(data: bytes) -> None:
    book = txt.read(source(data))
    assert book.pages == TEXT.split("\f")
    assert book.paginated
    assert not book.warnings


def test_a_short_page_may_have_a_few_control_characters() -> None:
    assert txt.read(source(b"a\x01 short page\x02\x03\n")).pages == ["a short page\n"]


def test_a_form_feed_may_end_each_page() -> None:
    assert txt.read(source(b"one\n\f\n\ftwo\n\f")).pages == ["one\n", "\n", "two\n"]
    assert txt.read(source(b"one\n\f")).paginated
    assert txt.read(source(b"one\ftwo\f")).pages == ["one", "two", ""]


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_guessed_with_a_warning(encoding: str) -> None:
    book = txt.read(source(FRENCH.encode(encoding)))
    assert "était" in book.pages[0]
    assert "guessed" in book.warnings[0]


def test_the_guess_looks_where_the_text_is_no_ascii() -> None:
    book = txt.read(source(("plain words\n" * 10_000 + FRENCH).encode("cp1252")))
    assert book.pages[0].endswith(FRENCH)


def test_japanese_in_seven_bits_is_not_taken_for_utf8() -> None:
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 5
    assert txt.read(source(text.encode("iso2022_jp"))).pages == [text]


def test_utf8_with_a_broken_byte_stays_utf8() -> None:
    data = FRENCH.encode()[:-1].rstrip(b".") + b"\xc3"
    book = txt.read(source(data))
    assert book.pages[0].startswith("Il était")
    assert "the first at byte" in book.warnings[0]


def test_control_characters_are_left_out_with_a_warning() -> None:
    book = txt.read(source(b"\0one\x01 " + b"book " * 100 + b"\x1a"))
    assert book.pages[0].startswith("one book")
    assert "3 control characters" in book.warnings[0]


def test_lines_of_dos_and_of_old_macs_end_alike() -> None:
    assert txt.read(source(b"one\r\ntwo\rthree")).pages == ["one\ntwo\nthree"]


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n" + bytes(400), b"\0" * 999, b"\xff" * 999]
)
def test_bytes_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedFormat):
        txt.read(source(data))
