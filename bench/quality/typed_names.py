"""Titles that were typed with two errors: whether reconciliation finds the book, and what that costs."""

import asyncio
import csv
import gzip
import io
import os
import random
import tempfile
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import sqlalchemy as sa

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import MarcRecord
from app.catalog.reconciliation import BookDescription, key_conditions
from app.catalog.scoring import ranked, scored
from app.core.model import Metadata
from app.core.text.names import folded, surname
from app.embedded import EmbeddedServers
from app.stores.postgres.connections import open_database, upgrade
from app.stores.postgres.names import CandidateSearch, DescribedBook, NameQueries
from app.stores.postgres.rows import metadata_values
from app.stores.postgres.schema import books
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import CannotMeasure, Cell, Section, Table

SEED = 9
LIBRARY = 100_000
_TRIALS = 4
"""Times that each title is typed."""

_AT_ONCE = 100
_SHORT = 10
_PUBLIC = Path(__file__).parents[1] / "public" / "books.csv.gz"


@dataclass(frozen=True, slots=True)
class Typed:
    """A query, and the folded title that is meant; None: that of no book."""

    kind: str
    description: BookDescription
    meant: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered to a query."""

    first: bool  # the book that is meant comes first, or one of the same title
    listed: bool
    match: bool  # some book is called a match
    right_match: bool
    read: int  # candidates


def run(out_dir: Path) -> Section:
    """The titles of the corpus and of the records among 100,000, and titles of no book; two minutes."""
    known, others = list(_known()), list(_public())
    library = [*known, *others[::2]]
    held = {surname(author) for book in library for author in book.authors}
    strange = [book for book in others[1::2] if book.authors and surname(book.authors[0]) not in held]
    library += _made(LIBRARY - len(library), [book.title or "" for book in library])
    queries = [*_typed(known), *_strangers(strange)]
    answers, seconds, indexed = asyncio.run(_ask(library, queries))
    by_kind: dict[str, list[Answered]] = defaultdict(list)
    for query, answer in zip(queries, answers, strict=True):
        by_kind[query.kind].append(answer)
    return Section(
        title="Typed names",
        command="python -m bench typed_names",
        tables=[
            Table(
                ["titles", "queries", "first", "in the list", "matches", "wrong matches", "candidates read"],
                [_row(kind, by_kind[kind]) for kind in sorted(by_kind)],
            ),
            Table(
                ["books", "ms of a query", "MB of the index"],
                [[len(library), 1000 * seconds / len(queries), indexed / 2**20]],
            ),
        ],
        notes=[
            "Two random errors: a letter put in, left out, changed, or swapped with the next one, "
            f"seed {SEED}. A short title has {_SHORT} letters at most. A stranger is a book whose author has "
            "no book in the library. Most titles of the library are made of the words of the others."
        ],
    )


def mistyped(title: str, letters: str, rng: random.Random) -> str:
    """The title after two random errors; never the same when it is folded."""
    while True:
        typed = list(title)
        for _ in range(2):
            place = rng.randrange(len(typed) + 1)
            match rng.randrange(4):
                case 0:
                    typed.insert(place, rng.choice(letters))
                case 1:
                    del typed[place : place + 1]
                case 2:
                    typed[place : place + 1] = rng.choice(letters)
                case _:
                    typed[place : place + 2] = reversed(typed[place : place + 2])
        if folded("".join(typed)) not in ("", folded(title)):
            return "".join(typed)


def _row(kind: str, answers: Sequence[Answered]) -> list[Cell]:
    return [
        kind,
        len(answers),
        sum(answer.first for answer in answers) / len(answers),
        sum(answer.listed for answer in answers) / len(answers),
        sum(answer.match for answer in answers),
        sum(answer.match and not answer.right_match for answer in answers),
        max(answer.read for answer in answers),
    ]


def _known() -> Iterator[Metadata]:
    """The books of the corpus and of the records, those with one folded title once."""
    folder = Path(os.environ.get("BOOKPRINT_CATALOGS", "")) / "marc"
    if not os.environ.get("BOOKPRINT_CATALOGS") or not folder.is_dir():
        raise CannotMeasure("Set BOOKPRINT_CATALOGS to a folder that holds the folder marc.")
    found = [
        Metadata(title=book.title, authors=(book.author,), year=book.year)
        for book in corpus_books(corpus_folder())
    ]
    for path in sorted(folder.rglob("*.*")):
        data = path.read_bytes()
        records = forms.records(io.BytesIO(data), forms.format_of(data[:1_000]))
        found += [metadata_of(each.record) for each in records if isinstance(each.record, MarcRecord)]
    yield from {folded(book.title): book for book in found if book.title and folded(book.title)}.values()


def _public() -> Iterator[Metadata]:
    with gzip.open(_PUBLIC, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if folded(row["title"]):
                yield Metadata(title=row["title"], authors=(row["author"],) if row["author"] else ())


def _made(count: int, titles: Sequence[str]) -> Iterator[Metadata]:
    """Titles as long as the others, of their words."""
    rng = random.Random(SEED)
    words = [title.split() for title in titles if title.isascii()]
    for _ in range(count):
        yield Metadata(title=" ".join(rng.choice(rng.choice(words)) for _ in rng.choice(words)))


def _typed(known: Sequence[Metadata]) -> Iterator[Typed]:
    rng = random.Random(SEED)
    letters = _letters_of_scripts(book.title or "" for book in known)
    for book in known:
        title = book.title or ""
        length = len(folded(title).replace(" ", ""))
        kind = "short" if length <= _SHORT else "long"
        kind = (
            f"{kind}, {'Latin' if _script(title) == 'LATIN' else 'other scripts'}"
            if length > 3
            else "of 1 to 3 letters"
        )
        for _ in range(_TRIALS):
            typed = mistyped(title, letters[_script(title)], rng)
            yield Typed(kind, BookDescription(titles=(typed,)), folded(title))
            if book.authors:
                described = BookDescription(titles=(typed,), authors=book.authors)
                yield Typed(f"{kind}, with author", described, folded(title))


def _strangers(books: Iterable[Metadata]) -> Iterator[Typed]:
    for book in books:
        yield Typed("strangers", BookDescription(titles=(book.title or "",)), None)
        described = BookDescription(titles=(book.title or "",), authors=book.authors)
        yield Typed("strangers, with author", described, None)


def _letters_of_scripts(titles: Iterable[str]) -> Mapping[str, str]:
    letters: dict[str, set[str]] = defaultdict(set)
    for title in titles:
        letters[_script(title)] |= {letter for letter in title.lower() if letter.isalpha()}
    return {script: "".join(sorted(some)) for script, some in letters.items()}


def _script(title: str) -> str:
    letter = next((letter for letter in title if letter.isalpha()), "a")
    return unicodedata.name(letter, "LATIN").partition(" ")[0].partition("-")[0]


async def _ask(library: Sequence[Metadata], queries: Sequence[Typed]) -> tuple[list[Answered], float, int]:
    """The answers, the seconds that they took, and the bytes of the index of keys."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder)) as servers:
        await asyncio.to_thread(_load, servers.database_url, library)
        async with open_database(servers.database_url, 2) as database:
            names = NameQueries(database)
            counts = await names.read_counts()
            answers: list[Answered] = []
            started = time.perf_counter()
            for start in range(0, len(queries), _AT_ONCE):
                some = queries[start : start + _AT_ONCE]
                searches = [CandidateSearch(key_conditions(query.description, counts)) for query in some]
                found = await names.list_candidates(searches)
                answers += [_judged(query, books) for query, books in zip(some, found, strict=True)]
            seconds = time.perf_counter() - started
            async with database.session() as connection:
                size = await connection.fetchval("SELECT pg_relation_size('ix_books_name_keys')")
    return answers, seconds, size


def _judged(query: Typed, found: Sequence[DescribedBook]) -> Answered:
    candidates = ranked(
        [scored(query.description, book.id, book.metadata, book.page_count, None) for book in found]
    )
    right = [folded(candidate.metadata.title or "") == query.meant for candidate in candidates]
    match = bool(candidates) and candidates[0].match
    return Answered(right[:1] == [True], any(right), match, match and right[0], len(found))


def _load(database_url: str, library: Sequence[Metadata]) -> None:
    upgrade(database_url)
    engine = sa.create_engine(database_url)
    with engine.begin() as connection:
        for start in range(0, len(library), 5_000):
            connection.execute(
                sa.insert(books),
                [
                    metadata_values(book)
                    | {"id": UUID(int=number), "content_key": number.to_bytes(8, "big")}
                    | {"word_count": 1, "character_count": 1}
                    for number, book in enumerate(library[start : start + 5_000], start)
                ],
            )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE books"))
    engine.dispose()
