"""Sessions in Postgres: the hashes of their tokens, and of the keys with which people have signed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.stores.postgres.connections import SQL, Database
from app.stores.postgres.rows import columns
from app.stores.postgres.schema import sessions


@dataclass(frozen=True, slots=True)
class StoredSession:
    """Somebody who has signed in to the pages; it ends with the key."""

    id: UUID
    key_hash: bytes  # SHA-256 of the key
    created_at: datetime
    expires_at: datetime


_COLUMNS = ", ".join(columns(sessions, without=["hash"]))

MOST_OF_A_KEY = 20
"""Sessions of a key at once; a new one ends the oldest."""

MOST_LISTED = 1_000
"""Sessions that are listed, the newest."""

_INSERT = SQL(f"""
    WITH older AS (
        SELECT id FROM sessions WHERE key_hash = $key_hash AND expires_at > now()
        ORDER BY created_at DESC, id OFFSET {MOST_OF_A_KEY - 1}
    ),
    ended AS (DELETE FROM sessions WHERE expires_at <= now() OR id IN (SELECT id FROM older))
    INSERT INTO sessions (id, hash, key_hash, expires_at)
    VALUES ($id, $hash, $key_hash, now() + $lasting::interval)
""")
_READ = SQL(f"SELECT {_COLUMNS} FROM sessions WHERE hash = $hash AND expires_at > now()")
_LIST = SQL(
    f"""SELECT {_COLUMNS} FROM sessions WHERE expires_at > now()
    ORDER BY created_at DESC, id LIMIT {MOST_LISTED}"""
)
_DELETE = SQL("DELETE FROM sessions WHERE id = $id RETURNING id")


class SessionStore:
    """Sessions in Postgres. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, session_id: UUID, token_hash: bytes, key_hash: bytes, lasting: timedelta) -> None:
        """Store a session. Forget those that have expired, and the oldest of a key that has too many."""
        await self._database.rows(_INSERT, id=session_id, hash=token_hash, key_hash=key_hash, lasting=lasting)

    async def read(self, token_hash: bytes) -> StoredSession | None:
        """The session of a token; None: there is none, or it has expired."""
        found = await self._database.rows(_READ, hash=token_hash)
        return StoredSession(**found[0]) if found else None

    async def list_sessions(self) -> Sequence[StoredSession]:
        """Those that have not expired, the newest first, up to a bound."""
        return [StoredSession(**row) for row in await self._database.rows(_LIST)]

    async def delete(self, session_id: UUID) -> bool:
        """End a session; False: there is none of this id."""
        return bool(await self._database.rows(_DELETE, id=session_id))
