"""Cursors: where the next page of a list begins, in a string that only its own query takes back.

A cursor is base64url of 8 bytes that identify the query and the bytes of a place in its answer.
"""

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import Struct
from uuid import UUID

from app.core.errors import InvalidInput
from app.core.matching.conflicts import ConflictPlace
from app.services.lookups import Position

_DIGEST_BYTES = 8
_PLACE = Struct(">BQ")
_CONFLICT = Struct(">q16s16s")
_NUMBER = Struct(">q")


class Cursors:
    """The cursors of the query that these values make up."""

    def __init__(self, *query: object) -> None:
        self._query = query

    def at_place(self, place: Position | None) -> str | None:
        """The cursor that goes on behind a place; None where nothing follows."""
        return None if place is None else self._write(_PLACE.pack(place.distance, place.entry_id))

    def place(self, cursor: str | None) -> Position | None:
        """The place to go on from; raises InvalidInput for a cursor of another query."""
        if cursor is None:
            return None
        distance, entry_id = _PLACE.unpack(self._read(cursor, _PLACE.size))
        return Position(distance, entry_id)

    def at_book(self, book_id: UUID) -> str:
        """The cursor that goes on behind a book."""
        return self._write(book_id.bytes)

    def book(self, cursor: str | None) -> UUID | None:
        """The book to go on from; raises InvalidInput for a cursor of another query."""
        return None if cursor is None else UUID(bytes=self._read(cursor, 16))

    def at_conflict(self, place: ConflictPlace | None) -> str | None:
        """The cursor that goes on behind a conflict; None where nothing follows."""
        if place is None:
            return None
        return self._write(_CONFLICT.pack(place.key, place.left.bytes, place.right.bytes))

    def conflict(self, cursor: str | None) -> ConflictPlace | None:
        """The conflict to go on from; raises InvalidInput for a cursor of another query."""
        if cursor is None:
            return None
        key, left, right = _CONFLICT.unpack(self._read(cursor, _CONFLICT.size))
        return ConflictPlace(key, UUID(bytes=left), UUID(bytes=right))

    def at_number(self, number: int) -> str:
        """The cursor that goes on behind the item with a number."""
        return self._write(_NUMBER.pack(number))

    def number(self, cursor: str | None) -> int | None:
        """The number to go on from; raises InvalidInput for a cursor of another query."""
        return None if cursor is None else int(_NUMBER.unpack(self._read(cursor, _NUMBER.size))[0])

    @property
    def _digest(self) -> bytes:
        return blake2b(repr(self._query).encode(), digest_size=_DIGEST_BYTES).digest()

    def _write(self, place: bytes) -> str:
        return urlsafe_b64encode(self._digest + place).rstrip(b"=").decode()

    def _read(self, cursor: str, size: int) -> bytes:
        try:
            data = b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except ValueError:
            data = b""
        if len(data) != _DIGEST_BYTES + size or data[:_DIGEST_BYTES] != self._digest:
            raise InvalidInput(
                "This cursor belongs to another query. Send the next_cursor of the page before with "
                "all other parameters and the body unchanged, or leave it out to begin anew.",
                field="cursor",
            )
        return data[_DIGEST_BYTES:]
