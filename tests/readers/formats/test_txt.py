"""Plain text files."""

import codecs

import pytest
from chardet.output_names import _COMPAT_NAMES
from chardet.registry import REGISTRY

from bookprint_core.errors import UnsupportedFormat
from bookprint_readers.formats import txt
from bookprint_readers.source import Source
from bookprint_readers.syntax import encoding as encodings

TEXT = "Grüße aus Αθήνα.\fZweite Seite."
FRENCH = "Il était une fois un roi qui aimait à dîner tôt, et que sa fille grondait souvent à l'été. " * 20


RUSSIAN = "Паромщик отвязал лодку, и туман над рекой сразу стал светлее. " * 40
GERMAN = "Der Fährmann löste das Boot, und über dem Fluß wurde es hell.\n"


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


def test_a_form_feed_may_end_each_page() -> None:
    assert txt.read(source(b"one\n\f\n\ftwo\n\f")).pages == ["one\n", "\n", "two\n"]
    assert txt.read(source(b"one\n\f")).paginated
    assert txt.read(source(b"one\ftwo\f")).pages == ["one", "two", ""]


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_guessed_with_a_warning(encoding: str) -> None:
    book = txt.read(source(FRENCH.encode(encoding)))
    assert "était" in book.pages[0]
    assert "guessed" in book.warnings[0]


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


def test_every_encoding_that_may_be_guessed_is_known() -> None:
    assert [name for name in (*REGISTRY, *_COMPAT_NAMES.values()) if encodings._codec(name) is None] == []


@pytest.mark.parametrize(
    "text",
    [
        RUSSIAN,
        "Ο βαρκάρης έλυσε τη βάρκα και η ομίχλη φώτισε. " * 9,
        "הסַּפָּן הִתִּיר את הסירה, והערפל מעל הנהר התבהר. " * 9,
        "فك الملاح القارب وصار الضباب فوق النهر أكثر نورا. " * 9,
        "नाविक ने नाव खोली और नदी के ऊपर का कुहासा उजला हो गया। " * 9,
        "પહેલી હોડી નદી પર ધુમ્મસમાં ગઈ. " * 9,
        "คนแจวเรือแก้เชือก หมอกเหนือแม่น้ำก็สว่างขึ้น " * 9,
        "わたしもりがふねをとくと、かわのうえのきりがあかるくなった。\n" * 9,
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_known_in_every_script(text: str, encoding: str) -> None:
    book = txt.read(source(text.encode(encoding)))
    assert book.pages == [text]
    assert book.warnings == [f"The encoding is not stated; {encoding} was guessed."]


@pytest.mark.parametrize(
    ("other", "first", "then"),
    [("cp1252", 40, 40), ("cp1252", 90, 3), ("cp1252", 3, 90), ("cp1251", 20, 20), ("gb18030", 20, 20)],
)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_lines_of_two_encodings_are_read_line_by_line(other: str, first: int, then: int, mark: bytes) -> None:
    line = {"cp1251": RUSSIAN[:63] + "\n", "gb18030": "船夫解開了小船，河上的霧便亮了起來。\n"}.get(
        other, GERMAN
    )
    book = txt.read(source(mark + line.encode() * first + line.encode(other) * then))
    assert book.pages == [line * (first + then)]
    assert book.warnings == [
        f"The lines are in two encodings; {other} was guessed for {then} that are not UTF-8."
    ]
