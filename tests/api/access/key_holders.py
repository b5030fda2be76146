"""An application that asks for keys, and one key of every kind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fastapi import FastAPI

from app.services.access.keys import Keys
from app.settings import Settings
from app.stores.postgres.connections import open_database
from app.stores.postgres.keys import SCOPES, Scope
from tests.api.conftest import started
from tests.factories import ACTOR
from tests.secret_search import ADMIN_KEY


def with_keys(database_url: str, redis_url: str) -> Settings:
    """Settings of a service that asks for keys, beside one in its environment."""
    return Settings(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        BOOKPRINT_AUTH="keys",
        BOOKPRINT_ADMIN_KEY=ADMIN_KEY,
        # Tests send thousands of keys that open nothing.
        BOOKPRINT_ATTEMPTS_PER_MINUTE=1_000_000,
    )


@dataclass(frozen=True, slots=True)
class Holders:
    """An application, a valid key of each scope, and keys that open nothing."""

    app: FastAPI
    valid: dict[Scope, str]
    invalid: dict[str, str | None]


@asynccontextmanager
async def holders(database_url: str, redis_url: str) -> AsyncIterator[Holders]:
    """The application with an empty catalogue, and its keys."""
    async with started(with_keys(database_url, redis_url)) as app:
        keys: Keys = app.state.services.keys
        valid = {scope: (await keys.create(scope, [scope], actor=ACTOR)).text for scope in SCOPES}
        revoked = await keys.create("revoked", ["admin"], actor=ACTOR)
        await keys.revoke(revoked.key.id, actor=ACTOR)
        expired = await keys.create("expired", ["admin"], datetime.now(UTC) + timedelta(days=1), actor=ACTOR)
        await expire(database_url, expired.text)
        rotated = await keys.create("rotated", ["admin"], actor=ACTOR)
        await keys.rotate(rotated.key.id, actor=ACTOR)
        good = valid["admin"]
        yield Holders(
            app,
            valid,
            {
                "missing": None,
                "empty": "",
                "unknown": f"bp_{'A' * 43}",
                "altered": good[:-1] + ("A" if good[-1] != "A" else "B"),
                "shortened": good[:-1],
                "revoked": revoked.text,
                "expired": expired.text,
                "rotated": rotated.text,
                "admin key altered": ADMIN_KEY[:-1] + "x",
                "no text": "\xff" * 40,
            },
        )


async def expire(database_url: str, key: str) -> None:
    """Let a key's time be over."""
    from app.stores.postgres.keys import key_hash

    async with open_database(database_url, 1) as database, database.transaction() as connection:
        await connection.execute(
            "UPDATE keys SET expires_at = now() - interval '1 second' WHERE hash = $1", key_hash(key)
        )
