"""Signatures that books lack, or that another version computed by other recipes, computed from the texts."""

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
"""Texts that are held at a time."""


class MissingSignatures(UnsignedBooks):
    """Computes signatures of stored books."""

    def __init__(
        self,
        database: Database,
        lacking: str | None,
        signatures_of: Callable[[Content], Sequence[SignatureRow]],
    ) -> None:
        super().__init__(database, lacking)
        self._signatures_of = signatures_of

    async def are_missing(self) -> bool:
        """Whether there is a book to sign; sooner told than how many there are."""
        return bool(await self.list_texts(0, 1))

    async def compute(self, progress: Progress) -> int:
        """Sign every book whose text is kept; returns the number of books that got signatures.

        After an interruption the rest gets them when it runs again. Books whose text is too short are tried
        each time.
        """
        total, _ = await self.count()
        seen = computed = after = 0
        while texts := await self.list_texts(after, _COMPUTED_AT_ONCE):
            # The kernels let go of the interpreter's lock.
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
    """Computes the digests that books lack."""
    return MissingSignatures(
        database,
        MD5_TEXT,
        lambda content: [signature_row(each.recipe, each.value) for each in digests(content.text)],
    )


def missing_vectors(database: Database) -> MissingSignatures:
    """Computes the vectors that books lack."""
    return MissingSignatures(database, VECTORS, _vector_of)


def outdated_signatures(database: Database) -> MissingSignatures:
    """Signs the books anew that another version of Bookprint has signed by other recipes."""
    return MissingSignatures(database, None, lambda content: signature_values(sketch(content)))


def _vector_of(content: Content) -> Sequence[SignatureRow]:
    vector = book_vector(normalise(content), read_vector_weights())
    return [] if vector is None else [signature_row(VECTORS, vector.tobytes())]
