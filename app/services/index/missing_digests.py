"""Digests of books that were stored without, computed from the texts that are kept."""

import asyncio

from app.core.recipe import DIGESTS, MD5_TEXT
from app.core.signatures.digests import digests
from app.services.index.comparison import Progress
from app.stores.postgres.texts import MissingSignatureStore, StoredText

_COMPUTED_AT_ONCE = 32
"""Texts that are held at a time."""


class MissingDigests:
    """Computes the digests that books lack."""

    def __init__(self, missing: MissingSignatureStore) -> None:
        self._missing = missing

    async def compute(self, progress: Progress) -> int:
        """Give digests to every book that has a text and none; returns how many got them.

        After an interruption the rest gets them when it runs again.
        """
        total = await self._missing.count(MD5_TEXT)
        computed = after = 0
        while texts := await self._missing.list_texts(MD5_TEXT, after, _COMPUTED_AT_ONCE):
            values = await asyncio.to_thread(_values, texts)
            # The MD5 comes last: a book that has it has the other, too.
            for recipe in reversed(DIGESTS):
                await self._missing.insert(recipe, values[recipe])
            computed, after = computed + len(texts), texts[-1].entry_id
            progress(computed, max(computed, total))
        return computed


def _values(texts: list[StoredText]) -> dict[str, list[tuple[int, bytes]]]:
    """The digests of each recipe, each with its entry."""
    values: dict[str, list[tuple[int, bytes]]] = {recipe: [] for recipe in DIGESTS}
    for text in texts:
        for digest in digests(text.content().text):
            values[digest.recipe].append((text.entry_id, digest.value))
    return values
