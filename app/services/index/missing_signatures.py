"""Signatures of books that were stored without, computed from the texts that are kept."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from app.core.model import Content
from app.core.recipe import DIGESTS, VECTORS, folded_name
from app.core.signatures.digests import digests
from app.core.signatures.sketch import fingerprint, sample
from app.core.text.normal_form import normalise
from app.core.vectors import book_vector
from app.services.index.contents import Progress
from app.services.signing import read_vector_weights
from app.stores.postgres.contents import MissingSignatureStore, StoredText

_COMPUTED_AT_ONCE = 32
"""Texts that are held at a time."""

ByRecipe = Mapping[str, bytes]


class MissingSignatures:
    """Computes the signatures of some recipes that books lack."""

    def __init__(
        self,
        missing: MissingSignatureStore,
        recipes: Sequence[str],
        signatures_of: Callable[[Content], ByRecipe],
    ) -> None:
        """`signatures_of` a content has the last of the recipes, folded or not, wherever it has any."""
        self._missing = missing
        self._recipes = recipes
        self._signatures_of = signatures_of

    async def compute(self, progress: Progress) -> int:
        """Give the signatures to every book that has a text and lacks them; returns how many got them.

        After an interruption the rest gets them when it runs again. Books whose text has none are tried each
        time.
        """
        last = self._recipes[-1]
        total = await self._missing.count(last)
        seen = computed = after = 0
        while texts := await self._missing.list_texts(last, after, _COMPUTED_AT_ONCE):
            # The kernels let go of the interpreter's lock.
            found = await asyncio.gather(*(asyncio.to_thread(self._computed, text) for text in texts))
            for recipe in self._recipes:
                signed = [
                    (text.entry_id, signatures[recipe])
                    for text, signatures in zip(texts, found, strict=True)
                    if recipe in signatures
                ]
                await self._missing.insert(recipe, signed)
            seen, after = seen + len(texts), texts[-1].entry_id
            computed += sum(map(bool, found))
            progress(seen, max(seen, total))
        return computed

    def _computed(self, text: StoredText) -> ByRecipe:
        return self._signatures_of(text.content())


def missing_fingerprints(missing: MissingSignatureStore, recipe: str) -> MissingSignatures:
    """Computes the fingerprints of a recipe that books lack."""

    def fingerprint_of(content: Content) -> ByRecipe:
        made = fingerprint(content, recipe)
        return {} if made is None else {made.recipe: made.bits}

    return MissingSignatures(missing, (folded_name(recipe), recipe), fingerprint_of)


def missing_samples(missing: MissingSignatureStore, recipe: str) -> MissingSignatures:
    """Computes the samples of a recipe that books lack."""

    def sample_of(content: Content) -> ByRecipe:
        made = sample(normalise(content), recipe)
        return {} if made is None else {recipe: made.packed()}

    return MissingSignatures(missing, (recipe,), sample_of)


def missing_digests(missing: MissingSignatureStore) -> MissingSignatures:
    """Computes the digests that books lack."""
    return MissingSignatures(
        missing,
        tuple(reversed(DIGESTS)),
        lambda content: {digest.recipe: digest.value for digest in digests(content.text)},
    )


def missing_vectors(missing: MissingSignatureStore) -> MissingSignatures:
    """Computes the vectors that books lack."""
    return MissingSignatures(missing, (VECTORS,), _vector_of)


def _vector_of(content: Content) -> ByRecipe:
    vector = book_vector(normalise(content), read_vector_weights())
    return {} if vector is None else {VECTORS: vector.tobytes()}
