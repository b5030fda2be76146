"""API keys as values: what a key allows, and the hash under which it is known."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal, get_args
from uuid import UUID

from app.core.limits import NO_LIMITS, KeyLimits

Scope = Literal["read", "ingest", "decide", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)

KEY_PREFIX = "bp_"
"""So that people, and programs that look for leaked secrets, know a key when they see one."""

_INCLUDED: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "ingest": frozenset({"ingest", "read"}),
    "decide": frozenset({"decide", "read"}),
    "admin": frozenset(SCOPES),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request it is, by the key that came with it."""

    key_id: UUID | None  # None: the admin key of the environment
    name: str
    scopes: tuple[Scope, ...]
    limits: KeyLimits = NO_LIMITS  # those of the settings, too

    def may(self, scope: Scope) -> bool:
        """Whether one of the scopes is this one or includes it."""
        return any(scope in _INCLUDED[each] for each in self.scopes)


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key; the key itself is shown once and never stored."""

    id: UUID
    name: str
    scopes: tuple[Scope, ...]
    limits: KeyLimits  # of its own; where it has none those of the settings count
    created_at: datetime
    expires_at: datetime | None  # None: never
    revoked_at: datetime | None


def key_hash(key: str) -> bytes:
    """The 32 bytes under which a key is stored and looked up: its SHA-256.

    A slow hash guards passwords, of which there are few enough to try them all. A key has 256 random bits.
    """
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
