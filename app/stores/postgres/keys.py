"""API keys in Postgres: hashes, scopes, limits and expiry; and sessions of people who sent a key.

Keys and tokens of sessions are never stored, only their hashes.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, get_args
from uuid import UUID

import asyncpg

from app.stores.postgres.audit import Actor, actor_values, insert_entries
from app.stores.postgres.connections import SQL, Database, Row
from app.stores.postgres.rows import columns, parameters
from app.stores.postgres.schema import keys, sessions
from bookprint_core.errors import BookprintError


class UnknownKey(BookprintError):
    """No API key has this id, or it cannot be changed any more."""

    problem = "unknown-key"
    status = 404
    title = "No such key"
    remedy = "Use the id of a key that the list shows."
    field = "id"
    tells_remedy = True

    def __init__(self, key_id: UUID | str) -> None:
        super().__init__(f"No valid key has the id {key_id}. List the keys with: bookprint keys list")


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """The limits of a key; None: no limit of this kind."""

    requests_per_minute: int | None = None
    lookups_per_minute: int | None = None
    bytes_per_minute: int | None = None

    def or_else(self, defaults: "KeyLimits") -> "KeyLimits":
        """Return these limits, with the defaults in place of None."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return KeyLimits(
            **{name: getattr(defaults, name) if own is None else own for name, own in values.items()}
        )


NO_LIMITS = KeyLimits()


Scope = Literal["read", "ingest", "decide", "admin"]


SCOPES: tuple[Scope, ...] = get_args(Scope)


KEY_PREFIX = "bp_"
"""Prefix by which people and secret scanners recognise a key."""


_INCLUDED: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "ingest": frozenset({"ingest", "read"}),
    "decide": frozenset({"decide", "read"}),
    "admin": frozenset(SCOPES),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, identified by its key."""

    key_id: UUID | None  # None: the admin key of the environment
    name: str
    scopes: tuple[Scope, ...]
    limits: KeyLimits = NO_LIMITS  # including the defaults of the settings
    collection: str | None = None  # the only collection it writes to; None: all

    def may(self, scope: Scope) -> bool:
        """Return whether one of the scopes is this one or includes it."""
        return any(scope in _INCLUDED[each] for each in self.scopes)


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key; the key itself is shown once and never stored."""

    id: UUID
    name: str
    scopes: tuple[Scope, ...]
    limits: KeyLimits  # its own limits; None: the default of the settings
    collection: str | None  # the only collection it writes to; None: all
    created_at: datetime
    expires_at: datetime | None  # None: never
    revoked_at: datetime | None


def key_hash(key: str) -> bytes:
    """Return the 32 bytes under which a key is stored and looked up: its SHA-256.

    Only passwords need a slow hash, because all of them can be tried. A key has 256 random bits.
    """
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


_LIMITS = [each.name for each in fields(KeyLimits)]
_WRITTEN = columns(keys, without=["created_at", "revoked_at"])
_COLUMNS = ", ".join(columns(keys, without=["hash"]))
_VALID = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"

_INSERT = SQL(f"""
    WITH made AS (
        INSERT INTO keys ({", ".join(_WRITTEN)}) VALUES ({parameters(keys, _WRITTEN)})
        RETURNING {_COLUMNS}
    ),
    audited AS ({insert_entries("key.created", "made")})
    SELECT {_COLUMNS} FROM made
""")
_LIST = SQL(f"SELECT {_COLUMNS} FROM keys ORDER BY created_at, id")
_READ_CALLERS = SQL(
    f"SELECT id, name, scopes, {', '.join(_LIMITS)}, collection, hash FROM keys WHERE {_VALID}"
)
_READ_ANY_VALID = SQL(f"SELECT id FROM keys WHERE {_VALID} LIMIT 1")
_UPDATE_REVOKED = SQL(f"""
    WITH revoked AS (
        UPDATE keys SET revoked_at = now() WHERE id = $id AND revoked_at IS NULL RETURNING {_COLUMNS}
    ),
    audited AS ({insert_entries("key.revoked", "revoked")})
    SELECT {_COLUMNS} FROM revoked
    UNION ALL SELECT {_COLUMNS} FROM keys WHERE id = $id AND NOT EXISTS (SELECT FROM revoked)
""")
_UPDATE_HASH = SQL(f"""
    WITH rotated AS (
        UPDATE keys SET hash = $hash WHERE id = $id AND {_VALID} RETURNING {_COLUMNS}
    ),
    audited AS ({insert_entries("key.rotated", "rotated")})
    SELECT {_COLUMNS} FROM rotated
""")


class KeyStore:
    """API keys in Postgres. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        key_id: UUID,
        name: str,
        scopes: Sequence[Scope],
        key_hash: bytes,
        expires_at: datetime | None,
        limits: KeyLimits = NO_LIMITS,
        collection: str | None = None,
        *,
        actor: Actor,
    ) -> Key:
        [row] = await self._database.rows(
            _INSERT,
            id=key_id,
            name=name,
            scopes=list(scopes),
            hash=key_hash,
            expires_at=expires_at,
            **asdict(limits),
            collection=collection,
            **actor_values(actor),
        )
        return _key(row)

    async def list_keys(self) -> list[Key]:
        """Return all keys, including revoked and expired keys, oldest first."""
        return [_key(row) for row in await self._database.rows(_LIST)]

    async def read_callers(self) -> dict[bytes, Caller]:
        """Return the callers of all valid keys, by the hash of the key."""
        return {
            bytes(row["hash"]): Caller(
                row["id"], row["name"], tuple(row["scopes"]), _limits(row), row["collection"]
            )
            for row in await self._database.rows(_READ_CALLERS)
        }

    async def read_any_valid(self) -> bool:
        """Return whether any key is valid; False if the table of keys does not exist yet."""
        try:
            return bool(await self._database.rows(_READ_ANY_VALID))
        except asyncpg.UndefinedTableError:
            return False

    async def update_revoked(self, key_id: UUID, *, actor: Actor) -> Key:
        """Revoke a key; raises `UnknownKey`."""
        return _known(await self._database.rows(_UPDATE_REVOKED, id=key_id, **actor_values(actor)), key_id)

    async def update_hash(self, key_id: UUID, key_hash: bytes, *, actor: Actor) -> Key:
        """Replace the hash of a valid key; raises `UnknownKey`, also for a revoked or expired key."""
        values = {"id": key_id, "hash": key_hash} | actor_values(actor)
        return _known(await self._database.rows(_UPDATE_HASH, **values), key_id)


def _known(found: Sequence[Row], key_id: UUID) -> Key:
    if not found:
        raise UnknownKey(key_id)
    return _key(found[0])


def _limits(row: Row) -> KeyLimits:
    return KeyLimits(**{name: row[name] for name in _LIMITS})


def _key(row: Row) -> Key:
    values: dict[str, Any] = {name: value for name, value in row.items() if name not in _LIMITS}
    return Key(**values | {"scopes": tuple(row["scopes"]), "limits": _limits(row)})


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session of a person in the web pages; it ends with its key."""

    id: UUID
    key_hash: bytes  # SHA-256 of the key
    created_at: datetime
    expires_at: datetime


_SESSION = ", ".join(columns(sessions, without=["hash"]))

MOST_OF_A_KEY = 20
"""Maximum number of sessions of a key at once; a new session ends the oldest."""

MOST_LISTED = 1_000
"""Maximum number of sessions in the list, newest first."""

_INSERT_SESSION = SQL(f"""
    WITH older AS (
        SELECT id FROM sessions WHERE key_hash = $key_hash AND expires_at > now()
        ORDER BY created_at DESC, id OFFSET {MOST_OF_A_KEY - 1}
    ),
    ended AS (DELETE FROM sessions WHERE expires_at <= now() OR id IN (SELECT id FROM older))
    INSERT INTO sessions (id, hash, key_hash, expires_at)
    VALUES ($id, $hash, $key_hash, now() + $lasting::interval)
""")
_READ_SESSION = SQL(f"SELECT {_SESSION} FROM sessions WHERE hash = $hash AND expires_at > now()")
_LIST_SESSIONS = SQL(
    f"""SELECT {_SESSION} FROM sessions WHERE expires_at > now()
    ORDER BY created_at DESC, id LIMIT {MOST_LISTED}"""
)
_DELETE_SESSION = SQL("DELETE FROM sessions WHERE id = $id RETURNING id")


class SessionStore:
    """Sessions in Postgres. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, session_id: UUID, token_hash: bytes, key_hash: bytes, lasting: timedelta) -> None:
        """Store a session. Delete expired sessions, and the oldest sessions of a key that has too many."""
        await self._database.rows(
            _INSERT_SESSION, id=session_id, hash=token_hash, key_hash=key_hash, lasting=lasting
        )

    async def read(self, token_hash: bytes) -> StoredSession | None:
        """Return the session of a token; None if it does not exist or has expired."""
        found = await self._database.rows(_READ_SESSION, hash=token_hash)
        return StoredSession(**found[0]) if found else None

    async def list_sessions(self) -> Sequence[StoredSession]:
        """Return the sessions that have not expired, newest first, at most `MOST_LISTED`."""
        return [StoredSession(**row) for row in await self._database.rows(_LIST_SESSIONS)]

    async def delete(self, session_id: UUID) -> bool:
        """End a session; return False if no session has this id."""
        return bool(await self._database.rows(_DELETE_SESSION, id=session_id))
