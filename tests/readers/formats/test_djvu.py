"""DjVuXML."""

import pytest

from bookprint_readers.recognition import read_page_file
from bookprint_readers.source import Source

DOCTYPE = '<!DOCTYPE DjVuXML PUBLIC "-//W3C//DTD DjVuXML 1.1//EN" "pubtext/DjVuXML-s.dtd">'


def source(*pages: str) -> Source:
    objects = "".join(
        f'<OBJECT><PARAM name="PAGE" value="x_{number:04}.djvu"/>{page}</OBJECT><MAP name="x"/>'
        for number, page in enumerate(pages)
    )
    return Source.of_bytes(
        f'<?xml version="1.0"?>\n{DOCTYPE}<DjVuXML><HEAD>x</HEAD><BODY>{objects}</BODY></DjVuXML>'.encode(),
        "x_djvu.xml",
    )


def hidden(text: str) -> str:
    return f"<HIDDENTEXT><PAGECOLUMN><REGION><PARAGRAPH>{text}</PARAGRAPH></REGION></PAGECOLUMN></HIDDENTEXT>"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (hidden("<LINE>a line</LINE><LINE>another</LINE>"), "a line\nanother"),
        ("<HIDDENTEXT>a page\nof lines<!-- x --></HIDDENTEXT>", "a page\nof lines"),
        ("<HIDDENTEXT><WORD>words</WORD><WORD>alone</WORD></HIDDENTEXT>", "words alone"),
        (
            hidden(
                "<LINE><WORD>\n<CHARACTER>a</CHARACTER>\n<CHARACTER>b</CHARACTER></WORD><WORD>c</WORD></LINE>"
            ),
            "ab c",
        ),
        (hidden("<LINE><WORD>a</WORD></LINE>") * 2, "a\na"),
    ],
    ids=["lines", "a page", "words", "characters", "columns"],
)
def test_text_is_read_down_to_whatever_it_is_divided_into(page: str, text: str) -> None:
    assert list(read_page_file(source(page)).pages) == [text]
