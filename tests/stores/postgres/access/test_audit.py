"""The audit log on real Postgres: one entry with each write, both or neither, and none is ever changed."""

import ast
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import numpy as np
import pytest

from app.services.access.audit import Audit
from app.services.books import new_book_id
from app.services.pairs.decisions import Decisions
from app.stores.postgres.audit import ACTIONS, Action, Actor, AuditEntry, AuditFilter, AuditStore
from app.stores.postgres.books import BookStore
from app.stores.postgres.bulk import BulkStore
from app.stores.postgres.connections import Database
from app.stores.postgres.keys import KeyStore, UnknownKey
from app.stores.postgres.pairs.decisions import DecisionStore, NewDecision
from app.stores.postgres.webhooks import UnknownWebhook, WebhookStore
from bookprint_core.errors import NoDecision
from bookprint_core.model import Metadata, NewBook
from tests.factories import ACTOR, a_sketch, new_content

ROOT = Path(__file__).parents[4]
RNG = np.random.default_rng(14)
WRITER = Actor("key", "harvester", uuid4(), "203.0.113.7")
TABLES = ("books", "decisions", "past_decisions", "keys", "webhooks")
ANY = AuditFilter()


@dataclass(frozen=True, slots=True)
class AuditedStores:
    """Stores, and a thing of each kind that can be written."""

    database: Database
    books: BookStore
    bulk: BulkStore
    decisions: DecisionStore
    keys: KeyStore
    webhooks: WebhookStore
    older: UUID
    younger: UUID
    key: UUID
    webhook: UUID

    async def post(self) -> None:
        await self.books.insert(new_book_id(), Metadata(), new_content(a_sketch(RNG)), actor=WRITER)

    async def load(self) -> None:
        books = {new_book_id(): NewBook(Metadata(), new_content(a_sketch(RNG)))}
        await self.bulk.insert(books, actor=WRITER)

    async def rename(self) -> None:
        await self.books.update_metadata(self.older, {"title": "Another"}, None, actor=WRITER)

    async def label_pages(self) -> None:
        labelled = replace(new_content(a_sketch(RNG, bytes(16))), page_labels=("i", "ii", "1"))
        await self.books.update_content(self.younger, labelled, None, actor=WRITER)

    async def replace(self) -> None:
        await self.books.update_content(self.older, new_content(a_sketch(RNG)), None, actor=WRITER)

    async def delete(self) -> None:
        await self.books.delete(self.older, None, actor=WRITER)

    async def decide(self) -> None:
        await self.decisions.insert([NewDecision(self.younger, self.older, "rejected")], actor=WRITER)

    async def propose(self) -> None:
        await self.decisions.insert([NewDecision(self.younger, self.older, "unsure")], actor=WRITER)

    async def withdraw(self) -> None:
        await self.decisions.insert([NewDecision(self.younger, self.older, "withdrawn")], actor=WRITER)

    async def make_key(self) -> None:
        await self.keys.insert(uuid4(), "a", ["read"], RNG.bytes(32), None, actor=WRITER)

    async def revoke_key(self) -> None:
        await self.keys.update_revoked(self.key, actor=WRITER)

    async def rotate_key(self) -> None:
        await self.keys.update_hash(self.key, RNG.bytes(32), actor=WRITER)

    async def register(self) -> None:
        await self.webhooks.insert(uuid4(), "https://93.184.215.14/", None, "whsec_x", actor=WRITER)

    async def unregister(self) -> None:
        await self.webhooks.delete(self.webhook, actor=WRITER)

    async def rotate_secret(self) -> None:
        await self.webhooks.update_secret(self.webhook, "whsec_y", timedelta(days=1), actor=WRITER)


Write = Callable[[AuditedStores], Awaitable[None]]
WRITES: list[tuple[Action, Write]] = [
    ("book.created", AuditedStores.post),
    ("book.created", AuditedStores.load),
    ("book.changed", AuditedStores.rename),
    ("book.changed", AuditedStores.label_pages),
    ("book.content_replaced", AuditedStores.replace),
    ("book.deleted", AuditedStores.delete),
    ("decision.made", AuditedStores.decide),
    ("decision.proposed", AuditedStores.propose),
    ("decision.withdrawn", AuditedStores.withdraw),
    ("key.created", AuditedStores.make_key),
    ("key.revoked", AuditedStores.revoke_key),
    ("key.rotated", AuditedStores.rotate_key),
    ("webhook.created", AuditedStores.register),
    ("webhook.deleted", AuditedStores.unregister),
    ("webhook.rotated", AuditedStores.rotate_secret),
]
EACH_WRITE = pytest.mark.parametrize(("action", "write"), WRITES, ids=[write.__name__ for _, write in WRITES])


@pytest.fixture
async def library(database: Database) -> AuditedStores:
    books, decisions = BookStore(database), DecisionStore(database)
    keys, webhooks = KeyStore(database), WebhookStore(database)
    older, younger = sorted((new_book_id(), new_book_id()))
    webhook = uuid4()
    await books.insert(older, Metadata(), new_content(a_sketch(RNG)), actor=ACTOR)
    await books.insert(younger, Metadata(), new_content(a_sketch(RNG, bytes(16))), actor=ACTOR)
    await decisions.insert([NewDecision(older, younger, "kind", "SAME_TEXT")], actor=ACTOR)
    key = await keys.insert(uuid4(), "a", ["read"], RNG.bytes(32), None, actor=ACTOR)
    await webhooks.insert(webhook, "https://93.184.215.14/", None, "whsec_x", actor=ACTOR)
    return AuditedStores(
        database, books, BulkStore(database), decisions, keys, webhooks, older, younger, key.id, webhook
    )


@pytest.fixture
def log(database: Database) -> AuditStore:
    return AuditStore(database)


async def written(log: AuditStore) -> list[AuditEntry]:
    """The entries of the write that is tested, the newest first."""
    return [entry for entry in await log.list_entries(ANY, None, 1_000) if entry.actor != ACTOR]


async def rows_of(database: Database, *tables: str) -> list[str]:
    async with database.session() as connection:
        return [str(await connection.fetch(f"SELECT * FROM {table} ORDER BY 1")) for table in tables]


@asynccontextmanager
async def altered(database: Database, alter: str, undo: str) -> AsyncIterator[None]:
    """The database with another schema, until the block ends."""
    async with database.session() as connection:
        await connection.execute(alter)
        try:
            yield
        finally:
            await connection.execute(undo)


async def test_every_action_is_tested() -> None:
    assert {action for action, _ in WRITES} == set(ACTIONS)


@EACH_WRITE
async def test_a_write_leaves_one_entry(
    library: AuditedStores, log: AuditStore, action: Action, write: Write
) -> None:
    await write(library)

    [entry] = await written(log)
    assert (entry.actor, entry.action) == (WRITER, action)
    known = {"book": {library.older, library.younger}, "key": {library.key}, "webhook": {library.webhook}}
    if entry.object_kind == "decision":
        assert (entry.object_id, entry.other_id) == (library.older, library.younger)
    else:
        assert entry.other_id is None
        assert (entry.object_id in known[entry.object_kind]) != action.endswith(".created")


async def test_a_write_that_fails_after_its_entry_takes_it_along(library: AuditedStores) -> None:
    function = (
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'made to fail'; END $$"
    )
    triggers = [
        f"CREATE CONSTRAINT TRIGGER fail AFTER INSERT OR UPDATE OR DELETE ON {table} "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()"
        for table in TABLES
    ]
    before = await rows_of(library.database, *TABLES, "audit", "unnumbered_changes")
    async with altered(library.database, "; ".join([function, *triggers]), "DROP FUNCTION fail CASCADE"):
        for action, write in WRITES:
            with pytest.raises(asyncpg.RaiseError, match="made to fail"):
                await write(library)
            after = await rows_of(library.database, *TABLES, "audit", "unnumbered_changes")
            assert after == before, (action, write)


async def test_an_entry_that_fails_after_its_write_takes_it_along(library: AuditedStores) -> None:
    before = await rows_of(library.database, *TABLES, "unnumbered_changes")
    constraint = "ALTER TABLE audit ADD CONSTRAINT fail CHECK (name <> 'harvester')"
    async with altered(library.database, constraint, "ALTER TABLE audit DROP CONSTRAINT fail"):
        for action, write in WRITES:
            with pytest.raises(asyncpg.CheckViolationError):
                await write(library)
            assert await rows_of(library.database, *TABLES, "unnumbered_changes") == before, (action, write)


async def test_what_changes_nothing_leaves_no_entry(library: AuditedStores, log: AuditStore) -> None:
    same = new_content(a_sketch(RNG, bytes(16)))
    await library.revoke_key()
    await library.withdraw()
    done = await written(log)
    await library.revoke_key()
    with pytest.raises(UnknownKey):
        await library.rotate_key()
    with pytest.raises(NoDecision):
        await library.withdraw()
    await library.books.insert(new_book_id(), Metadata(), same, actor=WRITER)
    await library.bulk.insert({new_book_id(): NewBook(Metadata(), same)}, actor=WRITER)
    await library.books.update_content(library.younger, same, None, actor=WRITER)
    await library.books.update_metadata(library.older, {}, None, actor=WRITER)
    with pytest.raises(UnknownWebhook):
        await library.webhooks.delete(uuid4(), actor=WRITER)

    assert await written(log) == done


async def test_entries_are_found_by_what_they_say(library: AuditedStores, log: AuditStore) -> None:
    for write in (
        AuditedStores.rotate_key,
        AuditedStores.rename,
        AuditedStores.decide,
        AuditedStores.post,
        AuditedStores.delete,
    ):
        await write(library)

    async def found(wanted: AuditFilter) -> list[AuditEntry]:
        return await log.list_entries(wanted, None, 1_000)

    entries = await found(ANY)
    assert [entry.sequence for entry in entries] == sorted((e.sequence for e in entries), reverse=True)
    middle = entries[len(entries) // 2].at
    for wanted, holds in [
        (AuditFilter(key_id=WRITER.key_id), lambda entry: entry.actor == WRITER),
        (AuditFilter(action="key.rotated"), lambda entry: entry.action == "key.rotated"),
        (
            AuditFilter(object_id=library.younger),
            lambda entry: library.younger in {entry.object_id, entry.other_id},
        ),
        (AuditFilter(since=middle), lambda entry: entry.at >= middle),
        (AuditFilter(until=middle), lambda entry: entry.at < middle),
        (
            AuditFilter(key_id=WRITER.key_id, action="book.created", until=middle),
            lambda entry: entry.actor == WRITER and entry.action == "book.created" and entry.at < middle,
        ),
    ]:
        assert await found(wanted) == [entry for entry in entries if holds(entry)]
    assert await log.list_entries(ANY, entries[3].sequence, 2) == entries[4:6]


@pytest.mark.parametrize(
    "statement", ["UPDATE audit SET name = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"]
)
async def test_entries_are_neither_changed_nor_deleted(
    library: AuditedStores, log: AuditStore, statement: str
) -> None:
    before = await log.list_entries(ANY, None, 100)
    with pytest.raises(asyncpg.RaiseError, match="neither changed nor deleted"):
        async with library.database.session() as connection:
            await connection.execute(statement)

    assert await log.list_entries(ANY, None, 100) == before


async def test_only_what_is_older_than_the_days_kept_is_deleted(
    library: AuditedStores, log: AuditStore
) -> None:
    entries = await log.list_entries(ANY, None, 100)
    async with library.database.transaction() as connection:
        await connection.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        await connection.execute(
            "UPDATE audit SET at = now() - interval '31 days' WHERE sequence <= $1", entries[-2].sequence
        )
        await connection.execute("ALTER TABLE audit ENABLE TRIGGER USER")

    decisions = Decisions(library.database)
    assert await Audit(library.database, decisions, None).sweep() == 0
    assert await Audit(library.database, decisions, 32).sweep() == 0
    assert await Audit(library.database, decisions, 30).sweep() == 2
    assert await log.list_entries(ANY, None, 100) == entries[:-2]
    # The age that a deletion has named ends with its transaction.
    with pytest.raises(asyncpg.RaiseError):
        async with library.database.session() as connection:
            await connection.execute("DELETE FROM audit")


def test_no_statement_writes_without_an_entry() -> None:
    """Of the tables that are audited; what the service does by itself has no actor."""
    by_itself = {
        "entries._UPDATE_INDEXED",
        *(f"webhooks._UPDATE_{what}" for what in ("CLAIMED", "DELIVERED", "UNCLAIMED", "DISABLED")),
    }
    told_of_all_at_once = {"bulk._INSERT"}
    write = re.compile(rf"(INSERT INTO|UPDATE|DELETE FROM) ({'|'.join(TABLES)})\b")
    silent = {
        name
        for name, statement in _statements()
        if write.search(statement) and "insert_entries(" not in statement
    }
    told_beside = {f"decisions._{what}" for what in ("INSERT_PAST", "END")}
    assert silent == by_itself | told_of_all_at_once | told_beside


def _statements() -> Iterator[tuple[str, str]]:
    """The source of every statement to Postgres, by the module and the name that it is given."""
    for source in (ROOT / "app" / "stores" / "postgres").rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Assign(targets=[ast.Name(name)], value=ast.Call(ast.Name("SQL"))):
                    yield f"{source.stem}.{name}", ast.get_source_segment(text, node) or ""
                case ast.Return(value=ast.Call(ast.Name("SQL"))):
                    yield f"{source.stem}.{node.lineno}", ast.get_source_segment(text, node) or ""
