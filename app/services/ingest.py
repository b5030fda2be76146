"""Taking books in: compute, store durably, then write the band index.

A post is acknowledged once Postgres has it. If the band index cannot be written, the book is `pending`:
lookups compare it straight from Postgres, and the job that the same transaction deferred indexes it later.
"""

import asyncio
from uuid import UUID

import structlog

from app.core.errors import InvalidInput, Unavailable
from app.core.model import Content, Entry, Sketch, Submission, require_same_recipe
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES
from app.core.sketch import signature_key, sketch
from app.core.text import content_key
from app.services.ids import new_book_id
from app.stores.band_index import BandIndex
from app.stores.catalogue import Catalogue, NewContent, Stored
from app.stores.texts import compress

log = structlog.get_logger()

INDEX_SECONDS = 2.0
"""How long a post waits for Redis before it is acknowledged as pending."""


class Ingest:
    """The way of a book into the catalogue and the band index."""

    def __init__(self, catalogue: Catalogue, index: BandIndex, keep_texts: bool) -> None:
        self._catalogue = catalogue
        self._index = index
        self._keep_texts = keep_texts

    async def post(self, submission: Submission) -> Stored:
        """Store a book; the same book again is found instead of stored twice."""
        content = await self._prepare(submission.content, submission.sketch)
        stored = await self._catalogue.add(new_book_id(), submission.metadata, content)
        return await self._indexed(stored, content.sketch)

    async def replace_content(
        self, book_id: UUID, content: Content | None, signatures: Sketch | None, if_version: int | None
    ) -> Stored:
        """Give a book new content; its old entry leaves the index."""
        prepared = await self._prepare(content, signatures)
        stored = await self._catalogue.replace_content(book_id, prepared, if_version)
        if stored.replaced is not None:
            await self._forget(stored.replaced)
        return await self._indexed(stored, prepared.sketch)

    async def delete(self, book_id: UUID, if_version: int | None) -> None:
        """Forget a book; from the commit on no lookup finds it."""
        brief = await self._catalogue.delete(book_id, if_version)
        await self._forget(brief.entry)

    async def _prepare(self, content: Content | None, signatures: Sketch | None) -> NewContent:
        if content is not None:
            # Side by side: hashing, compressing and the kernels all let go of the interpreter's lock.
            computed, key, text = await asyncio.gather(
                asyncio.to_thread(sketch, content),
                asyncio.to_thread(content_key, content),
                asyncio.to_thread(self._compressed, content),
            )
            return NewContent(key, computed, text)
        if signatures is None:
            raise InvalidInput("A book needs one of text, pages or signatures.", "text")
        _require_default_recipes(signatures)
        return NewContent(await asyncio.to_thread(signature_key, signatures), signatures, None)

    def _compressed(self, content: Content) -> bytes | None:
        return compress(content.text) if self._keep_texts else None

    async def _indexed(self, stored: Stored, signatures: Sketch) -> Stored:
        if not stored.created:
            return stored
        entry = signatures.to_entry(stored.book.entry_id)
        try:
            async with asyncio.timeout(INDEX_SECONDS):
                await self._index.add([entry])
                await self._catalogue.mark_indexed(entry.entry_id, stored.job_id)
        except (Unavailable, TimeoutError) as exc:
            log.warning("book is pending", book_id=str(stored.book.id), reason=str(exc) or "timeout")
            return stored
        return stored.as_indexed()

    async def _forget(self, entry: Entry) -> None:
        # What cannot be removed now is a ghost: lookups skip it, the next reconciliation sweeps it.
        try:
            async with asyncio.timeout(INDEX_SECONDS):
                await self._index.remove([entry])
        except (Unavailable, TimeoutError) as exc:
            log.warning(
                "stale entry stays in the index", entry_id=entry.entry_id, reason=str(exc) or "timeout"
            )


def _require_default_recipes(signatures: Sketch) -> None:
    """Raise RecipeMismatch for signatures that no lookup would ever compare."""
    if signatures.fingerprint is not None:
        require_same_recipe(signatures.fingerprint.recipe, DEFAULT_FINGERPRINT)
    if signatures.minhash is not None:
        require_same_recipe(signatures.minhash.recipe, DEFAULT_MINHASH)
    if signatures.pages is not None:
        require_same_recipe(signatures.pages.recipe, DEFAULT_PAGES)
