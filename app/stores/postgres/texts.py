"""Texts, kept compressed beside the books so that a later recipe can be computed from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import zstandard

from app.core.model import Content
from app.stores.postgres.connections import SQL, Connection, Database, rows

CODEC = "zstd"
"""Name of the compression that new texts get; stored with each text."""

_LACKING = """
    NOT EXISTS (SELECT FROM signatures WHERE entry_id = books.entry_id AND recipe = $recipe)
"""
_HAS_TEXT = "EXISTS (SELECT FROM texts WHERE entry_id = books.entry_id)"
_COUNT = SQL(f"SELECT count(*) FROM books WHERE {_HAS_TEXT} AND {_LACKING}")
_COUNT_TEXTLESS = SQL(f"SELECT count(*) FROM books WHERE NOT {_HAS_TEXT} AND {_LACKING}")
_LIST = SQL(f"""
    SELECT books.entry_id, books.page_count, texts.codec, texts.data
    FROM books JOIN texts ON texts.entry_id = books.entry_id
    WHERE {_LACKING} AND books.entry_id > $after
    ORDER BY books.entry_id LIMIT $limit
""")
_READ = SQL("""
    SELECT books.id, books.entry_id, books.page_count, texts.codec, texts.data
    FROM books JOIN texts ON texts.entry_id = books.entry_id
    WHERE books.id = ANY($book_ids::uuid[])
""")
# The lock keeps each book from leaving between the look and the insert.
_INSERT = SQL("""
    INSERT INTO signatures (entry_id, recipe, data)
    SELECT books.entry_id, $recipe, computed.data
    FROM unnest($entry_ids::bigint[], $data::bytea[]) AS computed (entry_id, data)
    JOIN books ON books.entry_id = computed.entry_id FOR KEY SHARE OF books
    ON CONFLICT DO NOTHING
""")


def compress(text: str) -> bytes:
    """The text as it is stored."""
    return zstandard.ZstdCompressor(level=1).compress(text.encode())


def decompress(data: bytes, codec: str) -> str:
    """The text back from how it is stored."""
    if codec != CODEC:
        raise ValueError(f"A text was stored with the unknown codec {codec!r}; this version knows {CODEC!r}.")
    return zstandard.ZstdDecompressor().decompress(data).decode()


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of an entry, as it is kept."""

    entry_id: int
    page_count: int | None
    codec: str
    data: bytes

    def content(self) -> Content:
        """The content of the book."""
        return Content(decompress(self.data, self.codec), self.page_count)


class TextStore:
    """The texts of books."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, book_ids: Sequence[UUID]) -> dict[UUID, StoredText]:
        """The texts of those of the books that have one, by their ids."""
        rows = await self._database.rows(_READ, book_ids=list(book_ids))
        return {row.pop("id"): StoredText(**row) for row in map(dict, rows)}


class MissingSignatureStore:
    """Entries that lack the signature of a recipe, and the texts from which it can be computed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, recipe: str) -> int:
        """The number of them with a text. Those too short for the signature will always be among them."""
        async with self._database.transaction() as connection:
            [row] = await rows(connection, _COUNT, recipe=recipe)
        return int(row["count"])

    async def count_textless(self, recipe: str) -> int:
        """The number of them without a text."""
        async with self._database.transaction() as connection:
            return await count_textless(connection, recipe)

    async def list_texts(self, recipe: str, after: int, limit: int) -> list[StoredText]:
        """Texts of up to `limit` of them behind the entry `after`, by ascending entry id."""
        async with self._database.transaction() as connection:
            texts = await rows(connection, _LIST, recipe=recipe, after=after, limit=limit)
        return [StoredText(**row) for row in texts]

    async def insert(self, recipe: str, signatures: Sequence[tuple[int, bytes]]) -> None:
        """Store the bytes of signatures of the recipe, each with its entry; deleted ones are passed over."""
        entry_ids, data = [entry_id for entry_id, _ in signatures], [value for _, value in signatures]
        async with self._database.transaction() as connection:
            await rows(connection, _INSERT, recipe=recipe, entry_ids=entry_ids, data=data)


async def count_textless(connection: Connection, recipe: str) -> int:
    """The number of entries with neither a text nor a signature of the recipe."""
    [row] = await rows(connection, _COUNT_TEXTLESS, recipe=recipe)
    return int(row["count"])
