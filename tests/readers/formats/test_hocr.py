"""hOCR."""

from bookprint_core.model import Metadata
from bookprint_readers.formats import hocr
from bookprint_readers.source import Source

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


APART = {
    "<span class='ocr_line'>lines\n without words</span><span class=ocr_line>two": "lines without words\ntwo",
    "<p><span class='ocrx_word'>no</span> <span class='ocrx_word'>lines</span></p><p>bel": "no lines\nbel",
    "<p class='ocr_line'><bdi class='ocrx_word'>Zu</bdi>-</p>\n<p class='ocr_line'>hause": "Zu-\nhause",
    "<div class='ocr_header' title='x'/><span class='ocr_line'>text</span>": "text",
    "<span class='ocr_header'>HEAD</span>text<span class='ocr_caption'>1</span>more": "HEAD\ntext\n1\nmore",
    "<span class='ocrx_word'><ins>right</ins><del>wrong</del></span><script>x</script>": "right",
    "<bdi class='ocr_pageno'>7</bdi><span class='ocr_line'>a &amp; b &lt; &unknown;": "7\na & b < &unknown;",
}


def test_lines_and_words_may_be_missing_and_text_may_stand_outside() -> None:
    for page, text in APART.items():
        assert pages(page) == [text]


def test_metadata_stands_in_content_or_value() -> None:
    assert hocr.read(document("")).metadata == Metadata(
        title="Emma", authors=("Austen, Jane",), year=1815, language="en", identifiers=("nbn:de:bsz:180",)
    )
