"""ABBYY FineReader XML."""

import pytest

from bookprint_readers.formats import ocr_xml
from bookprint_readers.recognition import read_page_file
from bookprint_readers.source import Source

NAMESPACE = "http://www.abbyy.com/FineReader_xml/FineReader%s-schema-v1.xml"


def document(*pages: str, version: int = 10) -> Source:
    return source(f'<document xmlns="{NAMESPACE % version}" version="1.0">{"".join(pages)}</document>')


def source(text: str) -> Source:
    return Source.of_bytes(text.encode(), "book.xml")


def page(*lines: str) -> str:
    text = "".join(f"<line baseline='1'><formatting lang='x'>{line}</formatting></line>" for line in lines)
    block = f"<block blockType='Text'><region><rect l='1'/></region><text><par>{text}</par></text></block>"
    return f"<page width='1' height='1'>{block}</page>"


def characters(text: str, space: str = " ") -> str:
    return "\n".join(
        f"<charParams l='1' wordStart='true'>{space if c == ' ' else c}</charParams>" for c in text
    )


@pytest.mark.parametrize("version", [6, 8, 9, 10])
def test_characters_make_words_lines_and_pages_in_every_version(version: int) -> None:
    book = ocr_xml.read_abbyy(
        document(
            page(characters("Es war ein"), characters("Mor¬"), characters("gen")), page(), version=version
        )
    )
    assert (book.format, book.paginated, book.printed_lines) == ("abbyy", True, True)
    assert list(book.pages) == ["Es war ein\nMor¬\ngen", ""]


@pytest.mark.parametrize("space", [" ", "\n      ", "\t", "\u00a0", ""])
def test_any_white_space_in_a_character_is_a_space(space: str) -> None:
    assert list(ocr_xml.read_abbyy(document(page(characters("two words", space)))).pages) == ["two words"]


def test_a_page_may_be_the_whole_document_and_need_no_namespace() -> None:
    book = read_page_file(source(page(characters("one"))))
    assert (book.format, list(book.pages)) == ("abbyy", ["one"])


def test_documents_of_others_are_not_taken_for_finereaders() -> None:
    assert not ocr_xml.is_abbyy(b"<document><page>text</page></document>")
    assert ocr_xml.is_abbyy(f"<document xmlns='{NAMESPACE % 6}'>".encode())
    assert ocr_xml.is_abbyy(f"<document xmlns='{NAMESPACE % 6}'>".encode("utf-16"))
