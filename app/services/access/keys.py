"""API keys: creating, rotating and revoking them, and finding the caller of a request."""

import asyncio
import hmac
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from secrets import token_urlsafe
from uuid import UUID, uuid4

from app.stores.postgres.audit import Actor
from app.stores.postgres.connections import Database
from app.stores.postgres.keys import (
    KEY_PREFIX,
    NO_LIMITS as NO_LIMITS,
    SCOPES as SCOPES,
    Caller as Caller,
    Key,
    KeyLimits,
    KeyStore,
    Scope as Scope,
    UnknownKey as UnknownKey,
    key_hash,
)
from bookprint_core.errors import BookprintError, InvalidInput
from bookprint_core.metadata import FIELD


class NoValidKey(BookprintError):
    """The API key of the request is missing, unknown, revoked or expired."""

    status = 401
    title = "No valid key"
    remedy = "Send a key as Authorization: Bearer bp_… or as X-API-Key; bookprint keys create makes a key."
    field = "Authorization"

    def __init__(self) -> None:
        super().__init__("This request needs a valid API key.")


class ScopeMissing(BookprintError):
    """The API key of the request is valid, but lacks the scope of the operation."""

    status = 403
    title = "The key lacks a scope"
    remedy = "Send a key with this scope; bookprint keys list shows the scopes of each key."
    field = "Authorization"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This request needs a key with the scope {scope}.")
        self.scope = scope


ADMINISTRATOR = Caller(None, "BOOKPRINT_ADMIN_KEY", ("admin",))
"""The caller with the admin key of the environment."""

ANYONE = Caller(None, "anyone", ("admin",))
"""The caller if no key is required."""

_KEY_BYTES = 32
_LONGEST_NAME = 200

_TRUSTED_SECONDS = 1.0
"""Maximum seconds for which a revoked key still counts as valid."""

_NEW_SECONDS = 0.05
"""Maximum seconds for which a new key is unknown. Wrong keys cause no more frequent queries."""


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key and its text, which is shown only once."""

    key: Key
    text: str


class Keys(KeyStore):
    """The keys of the service. `admin_key` is valid beside the stored keys, and has no limits.

    The `defaults` are the limits of keys without their own limits.
    """

    def __init__(self, database: Database, admin_key: str | None, defaults: KeyLimits = NO_LIMITS) -> None:
        super().__init__(database)
        self._defaults = defaults
        self._admin_hash = None if admin_key is None else key_hash(admin_key)
        self._valid: Mapping[bytes, Caller] = {}
        self._read_at = -math.inf  # of `time.monotonic`
        self._reading = asyncio.Lock()

    async def create(
        self,
        name: str,
        scopes: Sequence[Scope],
        expires_at: datetime | None = None,
        limits: KeyLimits = NO_LIMITS,
        collection: str | None = None,
        *,
        actor: Actor,
    ) -> ShownKey:
        """Create a key; with a `collection` it writes only to that collection.

        Raises `InvalidInput` for an invalid name, scope, time or collection.
        """
        shown = name.strip()
        if not shown or len(shown) > _LONGEST_NAME or not shown.isprintable():
            raise InvalidInput(f"A key needs a name of 1 to {_LONGEST_NAME} printable characters.", "name")
        if not scopes:
            raise InvalidInput("A key needs at least one scope.", "scope")
        if expires_at is not None and expires_at <= datetime.now(UTC):
            raise InvalidInput("The key would have expired already. Name a time in the future.", "expires")
        if collection is not None and "admin" in scopes:
            raise InvalidInput("A key with the scope admin cannot be bound to a collection.", "scope")
        text = _new_key()
        key = await self.insert(
            uuid4(),
            shown,
            list(dict.fromkeys(scopes)),
            key_hash(text),
            expires_at,
            limits,
            FIELD["collection"].checked(collection),
            actor=actor,
        )
        return ShownKey(key, text)

    async def get(self, key_id: UUID) -> Key:
        """Return the key with this id; raises `UnknownKey`."""
        for key in await self.list_keys():
            if key.id == key_id:
                return key
        raise UnknownKey(key_id)

    async def revoke(self, key_id: UUID, *, actor: Actor) -> Key:
        """Revoke a key, within 2 seconds in every process; raises `UnknownKey`."""
        return await self.update_revoked(key_id, actor=actor)

    async def rotate(self, key_id: UUID, *, actor: Actor) -> ShownKey:
        """Replace the text of a key; the old text ends within 2 seconds. Raises `UnknownKey`."""
        text = _new_key()
        return ShownKey(await self.update_hash(key_id, key_hash(text), actor=actor), text)

    async def any_valid(self) -> bool:
        """Return whether any valid key exists."""
        return self._admin_hash is not None or await self.read_any_valid()

    async def caller_of(self, text: str | None) -> Caller | None:
        """Return the caller with this key; None if it is missing, unknown, revoked or expired.

        Only the hashes of valid keys are in memory. The time of a refusal therefore does not show its reason,
        and a guessed key has an unrelated hash.
        """
        return await self.caller_of_hash(key_hash(text or ""))

    async def caller_of_hash(self, sent: bytes) -> Caller | None:
        """Return the caller whose key has this hash; None as for `caller_of`."""
        if self._admin_hash is not None and hmac.compare_digest(sent, self._admin_hash):
            return ADMINISTRATOR
        caller = (await self._valid_since(_TRUSTED_SECONDS)).get(sent)
        return (await self._valid_since(_NEW_SECONDS)).get(sent) if caller is None else caller

    async def _valid_since(self, seconds: float) -> Mapping[bytes, Caller]:
        """Return the valid keys, read at most `seconds` ago."""
        if time.monotonic() - self._read_at > seconds:
            async with self._reading:
                asked = time.monotonic()
                if asked - self._read_at > seconds:
                    stored = await self.read_callers()
                    self._valid = {
                        key: replace(caller, limits=caller.limits.or_else(self._defaults))
                        for key, caller in stored.items()
                    }
                    self._read_at = asked
        return self._valid


def _new_key() -> str:
    return KEY_PREFIX + token_urlsafe(_KEY_BYTES)
