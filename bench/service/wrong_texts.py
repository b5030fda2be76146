"""Texts under the records of other books: how many the report of conflicts finds, and whose they are."""

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import orjson

from app.core.text.catalogue_values import ean_digit
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import await_jobs, post, running

SEED = 8
_WORKS = 40
_SWAPPED = 10
"""Pairs of works of which two records have each other's text."""

_LONGEST = 600_000
"""Characters of a book, so that the measurement takes a few minutes."""

_AGREES = 0.5
"""The least containment of two books of one work whose texts agree beyond doubt."""

Pairs = set[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the library."""

    book: CorpusBook  # whose text it has
    work: str  # that its metadata name
    title: str
    isbn: str

    @property
    def wrong(self) -> bool:
        """Whether it has the text of another work."""
        return self.book.work != self.work


def run(out_dir: Path) -> Section:
    """Forty works twice with one title and ISBN each, some with texts of others; and the corpus as it is."""
    folder = corpus_folder()
    books = {book.id: book for book in corpus_books(folder) if len(book.text) <= _LONGEST}
    copies = {
        books[pair.a].work: (books[pair.a], books[pair.b])
        for pair in corpus_pairs(folder)
        if pair.relation == "same_work" and pair.containment >= _AGREES and {pair.a, pair.b} <= books.keys()
    }
    records = planted(list(copies.values())[:_WORKS])
    whole = [Record(book, book.work, book.title, "") for book in books.values() if book.title]
    return Section(
        title="Texts under the records of other books",
        command="python -m bench wrong_texts",
        tables=[
            Table(
                [
                    *("errors", "by", "in truth", "reported", "precision", "recall"),
                    *("wrong texts that are named", "named right"),
                ],
                [*_rows("planted", records, ("isbn", "title")), *_rows("of the corpus", whole, ("title",))],
            )
        ],
        notes=[
            f"Planted: {_SWAPPED} pairs of records have each other's text, seed {SEED}. Of the corpus: books "
            "of one title that are different works, as its labels say."
        ],
    )


def planted(works: Sequence[tuple[CorpusBook, CorpusBook]], seed: int = SEED) -> list[Record]:
    """Two records of each work, of which the second ones of ten pairs of works have each other's text."""
    rng = random.Random(seed)
    order = rng.sample(range(len(works)), 2 * min(_SWAPPED, len(works) // 2))
    swapped = dict(zip(order[::2], order[1::2], strict=True))
    swapped |= {other: one for one, other in swapped.items()}
    records = []
    for number, (one, other) in enumerate(works):
        isbn = f"978{number:09d}"
        record = Record(one, one.work, one.title or one.id, isbn + ean_digit(isbn))
        records += [record, replace(record, book=works[swapped[number]][1] if number in swapped else other)]
    return records


def in_truth(records: Mapping[str, Record], by: str) -> Pairs:
    """The pairs of records that share an ISBN or a title, and have texts of different works."""
    groups: dict[str, list[str]] = defaultdict(list)
    for book_id, record in records.items():
        groups[record.isbn if by == "isbn" else record.title.casefold()].append(book_id)
    return {
        frozenset(pair)
        for group in groups.values()
        for pair in combinations(group, 2)
        if records[pair[0]].book.work != records[pair[1]].book.work
    }


def _rows(errors: str, records: Sequence[Record], sorts: Sequence[str]) -> Iterator[list[Cell]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "data", "--workers", "2") as service,
        service.client() as client,
    ):
        by_id = {post(client, _body(record))["id"]: record for record in records}
        await_jobs(client)
        for by in sorts:
            found = list(_reported(client, by))
            truth = in_truth(by_id, by)
            reported = {frozenset(book["id"] for book in item["books"]) for item in found}
            right = len(truth & reported)
            wrong = {each["id"]: each["text_under"] for item in found for each in item["books"]}
            wrong = {book_id: copy for book_id, copy in wrong.items() if by_id[book_id].wrong}
            named = [(by_id[book_id], by_id[copy["id"]]) for book_id, copy in wrong.items() if copy]
            yield [
                *(errors, by, len(truth), len(reported)),
                right / len(reported) if reported else None,
                right / len(truth) if truth else None,
                f"{len(named)} of {len(wrong)}",
                sum(one.book.work == other.work for one, other in named),
            ]


def _body(record: Record) -> bytes:
    text: dict[str, Any] = {"pages": record.book.pages} if record.book.pages else {"text": record.book.text}
    authors = [record.book.author] if record.book.author and not record.wrong else []
    identifiers = [f"isbn:{record.isbn}"] if record.isbn else []
    return orjson.dumps(text | {"title": record.title, "authors": authors, "identifiers": identifiers})


def _reported(client: httpx.Client, by: str) -> Iterator[dict[str, Any]]:
    parameters = {"by": by, "limit": "100"}
    while True:
        answer = client.get("/v1/conflicts", params=parameters)
        answer.raise_for_status()
        page = answer.json()
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        parameters["cursor"] = page["next_cursor"]
