"""OpenITI mARkdown: pages that tags end, lines without marks, and what the header says."""

import pytest

from bookprint_core.errors import UnsupportedFormat
from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

HEADER = """######OpenITI#


#META# 000.BookURI\t:: #0700.Mallah.Nahr
#META# 010.AuthorNAME\t:: \u0645\u0644\u0627\u062d \u0627\u0644\u0646\u0647\u0631
#META# 020.BookTITLE\t:: \u0643\u062a\u0627\u0628 \u0627\u0644\u0646\u0647\u0631
#META# 020.BookTITLESUB\t:: NODATA
#META# 041.EdNUMBER\t:: 1430 \u0647\u0640 - 2009 \u0645
#META# 045.EdYEAR\t:: NODATA
#META# 049.EdISBN\t:: NODATA
#META#Header#End#

"""


def read(body: str, header: str = HEADER) -> Extraction:
    return read_book(Source.of_bytes((header + body).encode(), "0700Mallah.Nahr.Made1-ara1"))


def test_pages_end_at_their_tags() -> None:
    book = read(
        "# PageV00P000\n### | \u0628\u0627\u0628\n"
        "# \u0645\u0644\u0627\u062d\n~~\u0646\u0647\u0631 PageV01P005\n"
        "# ms0001 \u0642\u0627\u0631\u0628\n# PageV00P000\n\n# PageV01P007\n# \u0636\u0628\u0627\u0628\n"
    )
    assert (book.format, book.paginated) == ("openiti", True)
    assert list(book.pages) == [
        "\u0628\u0627\u0628\n\u0645\u0644\u0627\u062d\n\u0646\u0647\u0631",
        "\u0642\u0627\u0631\u0628",
        "",
        "\u0636\u0628\u0627\u0628",
    ]
    assert list(book.labels) == ["5", None, "7", None]


def test_pages_of_several_volumes_have_its_number() -> None:
    book = read("# a\nPageV01P120\n# b\nPageV02P001\n")
    assert (list(book.pages), list(book.labels)) == (["a", "b"], ["1:120", "2:1"])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("### |EDITOR|", ""),
        ("### $BIO_MAN$ one", "one"),
        ("# one %~% two", "one  two"),
        ("# % one % % two %", "one   two"),
        ("one ms12 two msA1234 three", "one  two  three"),
        ("# @QB@ one @QE@ two", "one  two"),
        ("# 5 % of CE1200", "5  of CE1200"),
    ],
)
def test_lines_lose_their_marks(line: str, text: str) -> None:
    assert read(f"# word\n{line}\n").pages[0].partition("\n")[2] == text


def test_what_is_no_text_behind_the_mark_is_refused() -> None:
    with pytest.raises(UnsupportedFormat):
        read_book(Source.of_bytes(b"######OpenITI#\n" + b"\xff" * 2_000, "book"))


def test_a_text_without_tags_of_pages_has_none() -> None:
    book = read("# one\n~~two\n")
    assert (list(book.pages), book.paginated) == (["one\ntwo"], False)
