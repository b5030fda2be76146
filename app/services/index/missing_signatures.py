"""Computing signatures from stored texts: missing signatures, and signatures of outdated recipes."""

import asyncio
from collections.abc import Callable, Sequence

from app.services.index.contents import Progress
from app.services.signing import read_vector_weights
from app.stores.postgres.connections import Database
from app.stores.postgres.contents import StoredText, UnsignedBooks
from app.stores.postgres.rows import SignatureRow, signature_row, signature_values
from bookprint_core.model import Content
from bookprint_core.recipe import MD5_TEXT, VECTORS
from bookprint_core.signatures.digests import digests
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.normal_form import normalise
from bookprint_core.vectors import book_vector

_COMPUTED_AT_ONCE = 32
"""Number of texts in memory at a time."""


class MissingSignatures(UnsignedBooks):
    """Service that computes signatures of stored books."""

    def __init__(
        self,
        database: Database,
        lacking: str | None,
        signatures_of: Callable[[Content], Sequence[SignatureRow]],
    ) -> None:
        super().__init__(database, lacking)
        self._signatures_of = signatures_of

    async def are_missing(self) -> bool:
        """Return whether a book must be signed; faster than counting these books."""
        return bool(await self.list_texts(0, 1))

    async def compute(self, progress: Progress) -> int:
        """Sign every book whose text is stored; return the number of signed books.

        After an interruption, the next run signs the remaining books. Each run tries books with too short
        texts again.
        """
        total, _ = await self.count()
        seen = computed = after = 0
        while texts := await self.list_texts(after, _COMPUTED_AT_ONCE):
            # The kernels release the interpreter's lock.
            found = await asyncio.gather(*(asyncio.to_thread(self._computed, text) for text in texts))
            signed = {text.entry_id: rows for text, rows in zip(texts, found, strict=True)}
            await self.sign(signed)
            seen, after = seen + len(texts), texts[-1].entry_id
            computed += sum(map(bool, found))
            progress(seen, max(seen, total))
        return computed

    def _computed(self, text: StoredText) -> Sequence[SignatureRow]:
        return self._signatures_of(text.content())


def missing_digests(database: Database) -> MissingSignatures:
    """Return the computation of missing digests."""
    return MissingSignatures(
        database,
        MD5_TEXT,
        lambda content: [signature_row(each.recipe, each.value) for each in digests(content.text)],
    )


def missing_vectors(database: Database) -> MissingSignatures:
    """Return the computation of missing vectors."""
    return MissingSignatures(database, VECTORS, _vector_of)


def outdated_signatures(database: Database) -> MissingSignatures:
    """Return the computation that replaces signatures of recipes that this version does not use."""
    return MissingSignatures(database, None, lambda content: signature_values(sketch(content)))


def _vector_of(content: Content) -> Sequence[SignatureRow]:
    vector = book_vector(normalise(content), read_vector_weights())
    return [] if vector is None else [signature_row(VECTORS, vector.tobytes())]
