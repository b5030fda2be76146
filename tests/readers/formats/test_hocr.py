"""hOCR."""

import time

import pytest

from app.core.model import Metadata
from app.readers.formats import hocr
from app.readers.source import Source

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/>
<meta name="ocr-system" content="tesseract 5"/>
<meta name='ocr-capabilities' content='ocr_page ocr_line ocrx_word'/>
<meta name="DC.title" content="Emma"/><meta name='DC.creator' value='Austen, Jane'/>
<meta name="DC.date" content="[1815]"/>
<meta name="DC.identifier" content="urn:nbn:de:bsz:180"/><meta name="ocr-langs" content="en"/>
</head><body>"""


def document(*pages: str) -> Source:
    return source(
        HEAD
        + "".join(f"<div class='ocr_page' title='ppageno 0'>{page}</div>\n" for page in pages)
        + "</body></html>"
    )


def source(text: "str | bytes") -> Source:
    return Source.of_bytes(text if isinstance(text, bytes) else text.encode(), "book.hocr")


def pages(*found: str) -> list[str]:
    return list(hocr.read(document(*found)).pages)


def test_words_are_parted_by_spaces_and_lines_by_line_breaks_as_they_stand() -> None:
    page = """<p class="ocr_par"><span class="ocr_line"><span class="ocrx_word">It</span>
        <span class="ocrx_word"><strong>was</strong></span><span class="ocrx_word"> a </span></span>
        <span class="ocr_line"><span class="ocrx_word">hap-</span></span><span
        class="ocr_line"><span class="ocrx_word">py day&shy;</span></span></p>"""
    book = hocr.read(document(page))
    assert (book.format, book.paginated, book.printed_lines) == ("hocr", True, True)
    assert list(book.pages) == ["It was a\nhap-\npy day\xad"]


def test_blank_pages_count() -> None:
    assert pages("<span class='ocr_line'>one</span>", "", "<span class='ocr_line'>three</span>") == [
        "one",
        "",
        "three",
    ]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<span class='ocr_line'>lines\n  without words</span><span class=ocr_line>two</span>",
            "lines without words\ntwo",
        ),
        (
            "<p><span class='ocrx_word'>no</span> <span class='ocrx_word'>lines</span></p><p>below",
            "no lines\nbelow",
        ),
        (
            "<p class='ocr_line'><bdi class='ocrx_word'>Zu</bdi>-</p>\n<p class='ocr_line'>hause</p>",
            "Zu-\nhause",
        ),
        ("<div class='ocr_header' title='x'/><span class='ocr_line'>text</span>", "text"),
        (
            "<span class='ocr_header'>HEAD</span>text<span class='ocr_caption'>Fig. 1</span>more",
            "HEAD\ntext\nFig. 1\nmore",
        ),
        (
            "<bdi class='ocr_word'><bdi class='xocr_word'>old</bdi></bdi><bdi class='ocr_word'>words</bdi>",
            "old words",
        ),
        ("<span class='ocrx_word'><ins>right</ins><del>wrong</del></span><script>x</script>", "right"),
        (
            "<bdi class='ocr_pageno'>7</bdi><span class='ocr_line'>a &amp; b &lt; c &unknown; &#x17f;</span>",
            "7\na & b < c &unknown; ſ",
        ),
    ],
    ids=[
        "no words",
        "no lines",
        "hyphen outside",
        "empty header",
        "apart",
        "tesseract 3.0",
        "alternatives",
        "entities",
    ],
)
def test_lines_and_words_may_be_missing_and_text_may_stand_outside(page: str, text: str) -> None:
    assert pages(page) == [text]


def test_characters_of_a_word_stay_together_however_they_are_indented() -> None:
    characters = "\n  ".join(
        f"<span class='ocrx_cinfo' title='x_bboxes 1 2 3 4'>{letter}</span>" for letter in "word"
    )
    words = f"<span class='ocrx_word'>\n  {characters}\n</span><span class='ocrx_word'>{characters}</span>"
    assert pages(f"<span class='ocr_line'>{words}</span>") == ["word word"]


def test_elements_that_are_not_closed_do_not_join_pages() -> None:
    data = "<div class='ocr_page'><p><span class='ocr_line'>one<div title='a > b' class=\"x ocr_page\"><p>two"
    assert list(hocr.read(source(data)).pages) == ["one", "two"]


def test_text_that_speaks_of_pages_begins_none() -> None:
    assert pages(
        "<span class='ocr_line'>the class ocr_page ocr_page</span><span class='ocr_pageno'>1</span>"
    ) == ["the class ocr_page ocr_page\n1"]


def test_lines_without_a_page_are_one_page() -> None:
    assert list(
        hocr.read(
            source("<html><head><title>x</title></head><body><span class='ocr_line'>one</span></body>")
        ).pages
    ) == ["one"]


def test_metadata_stands_in_content_or_value() -> None:
    assert hocr.read(document("")).metadata == Metadata(
        title="Emma", authors=("Austen, Jane",), year=1815, language="en", identifiers=("nbn:de:bsz:180",)
    )


@pytest.mark.parametrize(
    ("data", "is_hocr"),
    [
        (HEAD.encode(), True),
        (b"<div class='ocr_page'>", True),
        (b"<SPAN CLASS=ocrx_word>", True),
        ("\ufeff<div class='ocr_page'>".encode("utf-16"), True),
        (b"<html><p>The class ocr_page is hOCR's.</p>", False),
        (b"ocr_page", False),
    ],
)
def test_hocr_is_known_by_its_classes_and_its_meta_elements(data: bytes, is_hocr: bool) -> None:
    assert hocr.recognises(data) is is_hocr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1250", "cp1252"])
def test_the_encoding_is_marked_declared_or_found(encoding: str) -> None:
    declared = f"<meta charset='{encoding}'>" if encoding in {"iso-8859-1", "cp1250"} else ""
    data = f"{declared}<div class='ocr_page'><span class='ocr_line'>Grüße</span></div>".encode(encoding)
    book = hocr.read(source(data))
    assert list(book.pages) == ["Grüße"]
    assert not book.warnings


@pytest.mark.parametrize("declared", [b"zlib", b"idna", b"utf-16", b"unknown", b"\xff"])
def test_a_declaration_that_cannot_be_right_is_passed_over(declared: bytes) -> None:
    data = b"<meta charset='" + declared + b"'><div class='ocr_page'>" + "Grüße".encode() + b"</div>"
    assert "Gr" in hocr.read(source(data)).pages[0]


def test_bytes_that_are_damaged_are_told() -> None:
    data = HEAD.encode() + b"<div class='ocr_page'>Gr\xff\xfee</div>"
    assert hocr.read(source(data)).warnings


def test_pages_that_lie_across_the_parts_of_a_stream_are_whole() -> None:
    word = "<span class='ocrx_word' title='bbox 0 0 1 1'>word</span> "
    found = pages(*[f"<span class='ocr_line'>{word * n}</span>" for n in range(1, 400)])
    assert found == [" ".join(["word"] * n) for n in range(1, 400)]


@pytest.mark.parametrize(
    "part",
    [
        "<div>",
        "<span class='ocrx_word'>a ",
        pytest.param("<i id=%d><p>a ", marks=pytest.mark.slow),
        pytest.param("</i><i id='%d'/><p>a ", marks=pytest.mark.slow),
        "ocr_p ",
        "<",
        "<p class='",
        ">\n ",
    ],
)
def test_what_is_repeated_very_often_takes_no_endless_time_or_memory(part: str) -> None:
    begun = time.process_time()
    (text,) = pages("".join(part.replace("%d", str(number)) for number in range(100_000)))
    assert text.count("a") == 100_000 * part.count("a ")
    assert time.process_time() - begun < 10


def test_the_name_of_the_class_may_stand_in_a_text_very_often() -> None:
    assert len(pages("ocr_page " * 100_000)) == 1
