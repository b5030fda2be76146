"""Books found by name: through the index of keys, however frequent a key is, after an upgrade too."""

import json
import random
import string
from uuid import UUID, uuid4

import pytest

from app.stores.postgres import names as name_statements
from app.stores.postgres.connections import Database
from app.stores.postgres.names import CandidateSearch, NameQueries
from bookprint_core.model import Metadata
from bookprint_core.text.names import (
    KeyCondition,
    exact_key,
    folded,
    name_keys,
    typed_keys,
    word_key,
    year_key,
)


@pytest.fixture
def names(database: Database) -> NameQueries:
    return NameQueries(database)


async def insert(database: Database, *books: Metadata) -> list[UUID]:
    """Books that have nothing but their metadata."""
    ids = [uuid4() for _ in books]
    async with database.session() as connection:
        await connection.executemany(
            """
            INSERT INTO books (id, content_key, title, folded_title, authors, year, name_keys, word_count,
                character_count)
            VALUES ($1, $2, $3, lower($3), $4, $5, $6, 1, 1)
            """,
            [
                (book_id, book_id.bytes, book.title, list(book.authors), book.year, name_keys(book))
                for book_id, book in zip(ids, books, strict=True)
            ],
        )
    return ids


def mistyped(title: str, rng: random.Random) -> str:
    """The title after two errors: a letter put in, left out or changed, or two swapped."""
    while True:
        typed = list(title)
        for _ in range(2):
            place, letter = rng.randrange(len(typed) + 1), rng.choice(string.ascii_lowercase)
            swapped = typed[place : place + 2][::-1]
            replaced, new = rng.choice([(0, [letter]), (1, []), (1, [letter]), (2, swapped)])
            typed[place : place + replaced] = new
        if folded("".join(typed)) not in ("", folded(title)):
            return "".join(typed)


async def found(names: NameQueries, *conditions: KeyCondition) -> list[UUID]:
    [books] = await names.list_candidates([CandidateSearch(conditions)])
    return [book.id for book in books]


async def test_a_probe_wants_one_of_some_keys_and_all_of_others(
    database: Database, names: NameQueries
) -> None:
    emma, other, poems = await insert(
        database, Metadata("Emma", year=1816), Metadata("Emma", year=1900), Metadata("Poems", year=1816)
    )

    assert set(await found(names, KeyCondition([exact_key("EMMA!")]))) == {emma, other}
    assert await found(names, KeyCondition([exact_key("Emma")], [year_key(1816)])) == [emma]
    assert set(
        await found(names, KeyCondition([exact_key("Emma"), exact_key("poems")], [year_key(1816)]))
    ) == {
        emma,
        poems,
    }
    assert await found(names) == []


async def test_a_frequent_key_costs_no_more_than_forty_books(database: Database, names: NameQueries) -> None:
    await insert(database, *(Metadata("Annual report", year=1000 + year) for year in range(300)))

    assert len(await found(names, KeyCondition([exact_key("Annual report")]))) == 40
    assert len(await found(names, KeyCondition([word_key("report")], [word_key("annual")]))) == 40
    assert len(await found(names, KeyCondition([exact_key("Annual report")], [year_key(1299)]))) == 1


@pytest.mark.parametrize(
    "title", ["Lydia", "Candide", "The Ferry", "Middlemarch", "Ferry at Dawn", "異邦人の手"]
)
async def test_a_title_typed_with_two_errors_is_found(
    database: Database, names: NameQueries, title: str
) -> None:
    [book] = await insert(database, Metadata(title))
    rng = random.Random(5)

    for _ in range(100):
        typed = mistyped(title, rng)
        conditions = [KeyCondition(keys) for keys in typed_keys(typed)]
        assert await found(names, *conditions) == [book], typed


async def test_postgres_knows_the_frequent_words(database: Database, names: NameQueries) -> None:
    assert word_key("history") not in await names.read_counts()
    await insert(database, *(Metadata(f"History of {word}") for word in ("art", "bees", "cats", "dogs")))
    async with database.session() as connection:
        await connection.execute("ANALYZE books")

    counts = await names.read_counts()

    assert counts[word_key("history")] == 4
    assert counts.get(word_key("bees"), 0) <= 1


async def test_every_arm_of_the_search_goes_through_an_index(database: Database) -> None:
    text = name_statements._LIST_CANDIDATES.text
    async with database.connection() as connection:
        await connection.execute(f"PREPARE search AS {text}")
        values = ", ".join(["NULL"] * 7)
        plan = json.loads(await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE search({values})"))

    written = json.dumps(plan)
    assert "Seq Scan" not in written
    assert {"ix_books_name_keys", "ix_books_identifiers", "pk_books"} <= {
        part.split('"')[0] for part in written.split('"Index Name": "')[1:]
    }
