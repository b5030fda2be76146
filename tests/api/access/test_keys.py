"""Keys over their life: made, cached, revoked, rotated; and what happens while Postgres is away."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from fastapi import FastAPI

from app.main import create_app
from app.services.access.keys import Keys, UnknownKey
from app.settings import Settings
from app.stores.postgres.connections import Database
from bookprint_core.errors import InvalidInput
from tests.api.access.key_holders import expire, with_keys
from tests.api.conftest import asking, started
from tests.factories import ACTOR
from tests.secret_search import ADMIN_KEY

NOWHERE = "127.0.0.1:9"


@pytest.fixture
def keys(emptied_database: Database) -> Keys:
    return Keys(emptied_database, None)


async def test_a_key_has_256_random_bits_and_is_not_stored(keys: Keys, module_database: Database) -> None:
    first, second = (
        await keys.create("a", ["read"], actor=ACTOR),
        await keys.create("a", ["read"], actor=ACTOR),
    )
    async with module_database.session() as session:
        stored = str(await session.fetch("SELECT * FROM keys"))

    assert first.text.startswith("bp_")
    assert len(first.text) == len("bp_") + 43  # 32 bytes in base64url
    assert first.text != second.text
    assert first.text not in stored


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
async def test_a_name_that_cannot_be_is_refused(keys: Keys, name: str) -> None:
    with pytest.raises(InvalidInput):
        await keys.create(name, ["read"], actor=ACTOR)


async def test_a_key_that_would_have_expired_is_refused(keys: Keys) -> None:
    with pytest.raises(InvalidInput):
        await keys.create("late", ["read"], datetime.now(UTC), actor=ACTOR)


async def test_ended_keys_stay_ended(keys: Keys, module_database_url: str) -> None:
    revoked, expired = (
        await keys.create("revoked", ["read"], actor=ACTOR),
        await keys.create("expired", ["read"], actor=ACTOR),
    )
    first = await keys.revoke(revoked.key.id, actor=ACTOR)
    await expire(module_database_url, expired.text)

    assert await keys.revoke(revoked.key.id, actor=ACTOR) == first
    for ended in (revoked, expired):
        with pytest.raises(UnknownKey):
            await keys.rotate(ended.key.id, actor=ACTOR)
    with pytest.raises(UnknownKey):
        await keys.revoke(uuid4(), actor=ACTOR)
    assert not await keys.any_valid()


async def test_rotation_keeps_the_id(keys: Keys) -> None:
    old = await keys.create("a", ["decide"], actor=ACTOR)
    new = await keys.rotate(old.key.id, actor=ACTOR)

    assert new.key == old.key
    assert await keys.caller_of(old.text) is None
    caller = await keys.caller_of(new.text)
    assert caller is not None
    assert (caller.key_id, caller.scopes) == (old.key.id, ("decide",))


async def test_without_postgres_nobody_comes_in_but_the_administrator() -> None:
    settings = with_keys(f"postgresql://{NOWHERE}/none", f"redis://{NOWHERE}")
    app = create_app(settings)
    async with app.router.lifespan_context(app), asking(app) as client:
        refused = await client.get("/metrics", headers={"X-API-Key": "bp_any"})
        admitted = await client.get("/metrics", headers={"X-API-Key": ADMIN_KEY})

    assert (refused.status_code, admitted.status_code) == (503, 200)


async def test_the_application_asks_for_keys_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.delenv("BOOKPRINT_AUTH")
    urls = {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}

    async def status(app: FastAPI) -> int:
        async with asking(app) as client:
            return (await client.get("/v1/books")).status_code

    async with started(Settings(**urls)) as app:
        assert await status(app) == 401
    async with started(Settings(**urls, BOOKPRINT_AUTH="off")) as app:
        assert await status(app) == 200


async def test_a_revoked_key_stops_within_two_seconds_in_all_processes(
    keys: Keys, module_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    monkeypatch.setattr("app.services.access.keys.time.monotonic", lambda: seconds)
    elsewhere = Keys(module_database, None)
    made = await keys.create("a", ["read"], actor=ACTOR)
    for process in (keys, elsewhere):
        assert await process.caller_of(made.text) is not None
    await keys.revoke(made.key.id, actor=ACTOR)
    seconds = 1.99
    for process in (keys, elsewhere):
        assert await process.caller_of(made.text) is None


@pytest.mark.parametrize("key", ["too-short", "x" * 31, "abcdefg" * 9, "with blanks " * 5, "ü" * 40])
def test_an_admin_key_that_could_be_guessed_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="32 or more ASCII characters") as caught:
        Settings(BOOKPRINT_ADMIN_KEY=key)

    assert key not in str(caught.value)


def test_the_admin_key_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{ADMIN_KEY}\n")
    settings = Settings(BOOKPRINT_ADMIN_KEY_FILE=tmp_path / "key")

    assert settings.bootstrap_key == ADMIN_KEY
    assert ADMIN_KEY not in repr(Settings(BOOKPRINT_ADMIN_KEY=ADMIN_KEY))
    with pytest.raises(ValueError, match="cannot be read"):
        Settings(BOOKPRINT_ADMIN_KEY_FILE=tmp_path / "none")
    with pytest.raises(ValueError, match="not both"):
        Settings(BOOKPRINT_ADMIN_KEY=ADMIN_KEY, BOOKPRINT_ADMIN_KEY_FILE=tmp_path / "key")
