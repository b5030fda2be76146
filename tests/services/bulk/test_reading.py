"""What the reading processes make of a book."""

import json
from pathlib import Path

import pytest

from app.cli.posting import book_body
from app.services.books import Outcome
from app.services.bulk.ingest import Prepare
from app.services.signing import Extras
from bookprint_core.errors import Refusal
from bookprint_core.model import NewBook, Submission
from bookprint_core.recipe import DEFAULT_FINGERPRINT
from bookprint_core.signatures.digests import digests
from bookprint_corpus import sketches
from bookprint_readers.files import find, unread_books
from bookprint_readers.reading import Sign, read_book
from bookprint_readers.unread import Unread, UnreadLine
from tests.api.library import prose


def line(**fields: object) -> UnreadLine:
    return UnreadLine("books.jsonl", "line 1", 0, json.dumps(fields).encode())


def silence(question: object) -> None:
    raise AssertionError(f"nothing should be asked, but {question} was")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"title": "x" * 10_001}, "title"),
        ({"language": "x" * 36}, "language"),
        ({"identifiers": ["no scheme"]}, "identifiers.0"),
        ({"id": ""}, "external_id"),
        ({"year": 1 << 40}, "year"),
        ({"title": "nul\0"}, "title"),
    ],
)
def test_metadata_that_http_refuses_is_refused(fields: dict[str, object], reason: str) -> None:
    refused = read_book(line(text="a book", **fields), silence)
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith(f"{reason}: ")


def test_page_labels_and_digests_go_with_the_book_wherever_it_goes(tmp_path: Path) -> None:
    book = line(pages=["one " * 50, "", "two " * 50], page_labels=["xii", None, "1"])
    expected = ("xii", None, "1")
    posted = read_book(book, silence)
    assert isinstance(posted, Submission)
    assert book_body(posted)["page_labels"] == list(expected)
    stored = Prepare(Extras(text=True))(book, lambda question: None)
    assert isinstance(stored, NewBook)
    assert stored.content.page_labels == expected
    signed = Sign(DEFAULT_FINGERPRINT)(book, silence)
    assert isinstance(signed, NewBook)
    table = tmp_path / "signatures.parquet"
    with sketches.written(table) as writer:
        writer.add("here", signed.metadata, signed.content.sketch, signed.content.page_labels, pages=False)
        writer.add("there", signed.metadata, signed.content.sketch, pages=False)
    labelled, unlabelled = (read_book(each, silence) for each in unread_books(find([table]), {}))
    assert isinstance(labelled, Submission)
    assert isinstance(unlabelled, Submission)
    assert (labelled.page_labels, unlabelled.page_labels) == (expected, ())
    assert book_body(labelled)["page_labels"] == list(expected)
    assert labelled.sketch is not None
    assert labelled.sketch.digests == signed.content.sketch.digests != ()


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (["1"], "1 labels came with 2 pages"),
        (["1", "x" * 33], "1 to 32 characters"),
        (["1", 2], "must be a string"),
        ("1", "must be a list"),
    ],
)
def test_page_labels_that_http_refuses_are_refused(labels: object, reason: str) -> None:
    refused = read_book(line(pages=["one", "two"], page_labels=labels), silence)
    assert isinstance(refused, Refusal)
    assert reason in refused.reason
    assert isinstance(read_book(line(text="one\ftwo", page_labels=["1", "2"]), silence), Refusal)


def test_a_book_that_is_known_is_not_signed() -> None:
    there = Outcome("already there")
    assert Prepare(Extras(text=True))(line(text="a book"), lambda question: there) is there


@pytest.mark.parametrize("wanted", [True, False])
def test_a_new_book_is_prepared_with_what_is_asked_for(wanted: bool) -> None:
    pytest.importorskip("iscc_lib")
    text = prose(1)
    prepare = Prepare(Extras(text=wanted, iscc=wanted, digests=wanted, vector=wanted))
    book = prepare(line(text=text), lambda question: None)
    assert isinstance(book, NewBook)
    content = book.content
    extras = (content.compressed_text, content.iscc, content.vector)
    assert [extra is not None for extra in extras] == [wanted] * 3
    assert content.sketch.digests == (digests(text) if wanted else ())
    assert content.sketch.word_count == len(text.split())


def test_what_no_reader_may_raise_ends_nothing() -> None:
    class Odd(Unread):
        def read(self) -> Submission:
            raise ZeroDivisionError("odd")

    refused = read_book(Odd("a", "", 0), silence)
    assert isinstance(refused, Refusal)
    assert "ZeroDivisionError: odd" in refused.reason
