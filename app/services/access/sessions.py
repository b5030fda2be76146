"""Sessions of people in browsers: a key is sent once, and then a random token replaces it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_urlsafe
from uuid import UUID, uuid4

from app.services.access.keys import Caller, Keys, NoValidKey
from app.stores.postgres.connections import Database
from app.stores.postgres.keys import SessionStore, StoredSession, key_hash

LASTING = timedelta(hours=12)
"""Maximum duration of a session."""

_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session whose key is still valid."""

    id: UUID
    caller: Caller
    created_at: datetime
    expires_at: datetime


class Sessions(SessionStore):
    """The sessions of the service. A session has the scopes of its key, and ends with the key."""

    def __init__(self, database: Database, keys: Keys) -> None:
        super().__init__(database)
        self._keys = keys

    async def begin(self, key: str) -> str:
        """Begin a session with a key, and return its token, which is not stored; raises `NoValidKey`."""
        if await self._keys.caller_of(key) is None:
            raise NoValidKey
        token = token_urlsafe(_TOKEN_BYTES)
        await self.insert(uuid4(), key_hash(token), key_hash(key), LASTING)
        return token

    async def find(self, token: str) -> OpenSession | None:
        """Return the session of a token; None if the session is unknown or over, or its key is not valid."""
        session = await self.read(key_hash(token))
        return None if session is None else await self._open(session)

    async def list_open(self) -> Sequence[OpenSession]:
        """Return the newest sessions whose keys are valid, newest first."""
        found = [await self._open(session) for session in await self.list_sessions()]
        return [session for session in found if session is not None]

    async def _open(self, session: StoredSession) -> OpenSession | None:
        caller = await self._keys.caller_of_hash(session.key_hash)
        if caller is None:
            return None
        return OpenSession(session.id, caller, session.created_at, session.expires_at)
