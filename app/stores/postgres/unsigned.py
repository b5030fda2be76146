"""Books without a fingerprint of some recipe, and the texts from which it can be computed."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.core.model import Content, Fingerprint
from app.stores.postgres.errors import postgres_outages
from app.stores.postgres.queries import Queries, Query
from app.stores.postgres.tables import books, signatures, texts
from app.stores.postgres.texts import decompress


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


class MissingFingerprints:
    """Entries that lack the fingerprint of a recipe."""

    def __init__(self, engine: AsyncEngine, queries: Queries) -> None:
        self._engine = engine
        self._queries = queries

    async def count(self, recipe: str) -> int:
        """How many of them have a text. Those too short for a fingerprint will always be among them."""
        with postgres_outages():
            [row] = await self._queries.rows(_COUNT, recipe=recipe)
        return int(row["count"])

    async def count_textless(self, recipe: str) -> int:
        """How many of them have no text."""
        with postgres_outages():
            async with self._engine.connect() as connection:
                return await count_textless(connection, recipe)

    async def texts(self, recipe: str, after: int, limit: int) -> list[StoredText]:
        """Texts of up to `limit` of them behind the entry `after`, by ascending entry id."""
        with postgres_outages():
            rows = await self._queries.rows(_TEXTS, recipe=recipe, after=after, most=limit)
        return [StoredText(row["entry_id"], row["page_count"], row["codec"], row["data"]) for row in rows]

    async def sign(self, recipe: str, fingerprints: Sequence[tuple[int, Fingerprint]]) -> None:
        """Store fingerprints of the recipe, each with its entry; entries that have left are passed over."""
        values = {
            "recipe": recipe,
            "entry_ids": [entry_id for entry_id, _ in fingerprints],
            "bits": [fingerprint.bits for _, fingerprint in fingerprints],
        }
        if fingerprints:
            with postgres_outages():
                async with self._engine.begin() as connection:
                    await connection.execute(_SIGN, values)


async def count_textless(connection: AsyncConnection, recipe: str) -> int:
    """How many entries have neither a text nor a fingerprint of the recipe."""
    return await connection.scalar(_COUNT_TEXTLESS, {"recipe": recipe}) or 0


_LACKING = ~sa.exists().where(
    signatures.c.entry_id == books.c.entry_id,
    signatures.c.recipe == sa.bindparam("recipe", type_=sa.Text),
).correlate(books)
_KEPT = sa.exists().where(texts.c.entry_id == books.c.entry_id).correlate(books)
_COUNT = Query(sa.select(sa.func.count().label("count")).select_from(books).where(_KEPT, _LACKING))
_COUNT_TEXTLESS = sa.select(sa.func.count()).select_from(books).where(~_KEPT, _LACKING)
_TEXTS = Query(
    sa.select(books.c.entry_id, books.c.page_count, texts.c.codec, texts.c.data)
    .join(texts, texts.c.entry_id == books.c.entry_id)
    .where(_LACKING, books.c.entry_id > sa.bindparam("after", type_=sa.BigInteger))
    .order_by(books.c.entry_id)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
# The lock keeps each book from leaving between the look and the insert.
_SIGN = sa.text(
    "INSERT INTO signatures (entry_id, recipe, data)"
    " SELECT books.entry_id, CAST(:recipe AS text), signed.bits"
    " FROM unnest(CAST(:entry_ids AS bigint[]), CAST(:bits AS bytea[])) AS signed (entry_id, bits)"
    " JOIN books ON books.entry_id = signed.entry_id FOR KEY SHARE OF books"
    " ON CONFLICT DO NOTHING"
)
