"""Single statements on the pool, on real Postgres."""

import asyncio
import socket
from uuid import UUID

import asyncpg
import pytest

from app.cli.serve import _share_out_connections
from app.embedded.postgres import SETTINGS
from app.settings import SHARE, Settings
from app.stores.postgres import connections
from app.stores.postgres.connections import SQL, Database, open_database, rows
from bookprint_core.errors import Busy, Unavailable
from tests.waiting import until
from workers.queue_worker import QUEUE_CONNECTIONS

ECHO = SQL("SELECT $number::bigint AS number, $word::text AS word, $id::uuid AS id, $data::bytea AS data")
COUNT = SQL("SELECT count(*) AS n FROM unnest($numbers::bigint[])")
SERIES = SQL("SELECT i AS n FROM generate_series(1, $most::bigint) AS i")
DIVIDE = SQL("SELECT 1 / $number::bigint AS n")
SLEEP = SQL("SELECT pg_sleep($seconds)")
SERVER = SQL("SELECT pg_backend_pid() AS pid")


async def divides(database: Database) -> bool:
    [row] = await database.rows(DIVIDE, number=1)
    return bool(row["n"] == 1)


async def test_values_come_back_as_they_were_sent(database: Database) -> None:
    sent = {"number": -(2**62), "word": "naïve, „%s“ 書", "id": UUID(int=7), "data": b"\0\xff'"}
    assert [dict(row) for row in await database.rows(ECHO, **sent)] == [sent]
    nothing = dict.fromkeys(sent)
    assert [dict(row) for row in await database.rows(ECHO, **nothing)] == [nothing]


async def test_questions_and_answers_larger_than_any_buffer_go_through(database: Database) -> None:
    numbers = list(range(10**12, 10**12 + 500_000))
    [row] = await database.rows(COUNT, numbers=numbers)
    assert row["n"] == 500_000
    rows = await database.rows(SERIES, most=300_000)
    assert [row["n"] for row in rows] == list(range(1, 300_001))


async def test_one_who_gives_up_does_not_leave_an_answer_to_the_next(database: Database) -> None:
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):  # short on purpose: the caller gives up
                await database.rows(SLEEP, seconds=5.0)
        assert await divides(database)


async def kill(server: int, database_url: str, state: str) -> None:
    """End this server process of Postgres when it is in this state, and wait until it is gone."""
    other = await asyncpg.connect(database_url.replace("+psycopg", ""))
    try:
        async with asyncio.timeout(60):
            while await other.fetchval("SELECT state FROM pg_stat_activity WHERE pid = $1", server) != state:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert await other.fetchval("SELECT pg_terminate_backend($1, 60000)", server)
    finally:
        await other.close()


async def test_a_lost_connection_is_made_anew(database: Database, module_database_url: str) -> None:
    [server] = await database.rows(SERVER)
    await kill(server["pid"], module_database_url, "idle")
    [now] = await database.rows(SERVER)
    assert now["pid"] != server["pid"]


async def test_a_server_that_dies_during_a_query_is_noticed(
    database: Database, module_database_url: str
) -> None:
    [server] = await database.rows(SERVER)
    asking = asyncio.create_task(database.rows(SLEEP, seconds=120.0))
    await kill(server["pid"], module_database_url, "active")
    with pytest.raises(Unavailable):
        await asking
    assert await divides(database)


async def test_busy_connections_raise_unavailable(
    module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_database(module_database_url, 1) as database:
        async with database.connection():
            monkeypatch.setattr("app.stores.postgres.connections._STATEMENT_WAIT", 0.1)
            with pytest.raises(Busy, match="no connection to it was free"):
                await database.rows(DIVIDE, number=1)
        monkeypatch.undo()
        assert await divides(database)


async def test_a_statement_passes_its_connection_on_unless_another_waits_or_it_has_rested_for_long(
    module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_database(module_database_url, 1) as database:
        [[first], [second]] = await asyncio.gather(database.rows(SERVER), database.rows(SERVER))
        [third] = await database.rows(SERVER)
        assert first == second == third
        monkeypatch.setattr(connections, "_KEPT_SECONDS", 0.0)
        [fresh] = await database.rows(SERVER)
        assert fresh != third


async def test_a_statement_that_is_not_answered_ends_as_busy_and_leaves_the_next_alone(
    module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_STATEMENT_SECONDS", 0.5)
    async with open_database(module_database_url, 1) as database:
        with pytest.raises(Busy, match="not answered in time"):
            await database.rows(SLEEP, seconds=600.0)
        assert await divides(database)


async def test_what_others_keep_locked_is_waited_for_with_a_bound_and_no_lock_is_kept_for_ever(
    module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_for, settings = "idle_in_transaction_session_timeout", connections._TRANSACTION_SETTINGS
    assert settings.keys() >= {"lock_timeout", kept_for}
    monkeypatch.setattr(connections, "_TRANSACTION_SETTINGS", settings | {"lock_timeout": "100ms"})
    lock = SQL("SELECT pg_advisory_xact_lock(71)")
    # of no pool, because the server ends it
    still = await asyncpg.connect(module_database_url.replace("+psycopg", ""))
    try:
        async with open_database(module_database_url, 1) as database:
            await still.execute("BEGIN")
            await still.execute(lock.text)
            with pytest.raises(Busy):
                async with database.transaction() as waiting:
                    await rows(waiting, lock)
            await still.execute(f"SET {kept_for} = '100ms'")
            # The holder does nothing more, so the server frees the lock.
            async with asyncio.timeout(60), database.connection() as other:
                await rows(other, SQL("SELECT pg_advisory_lock(71)"))
    finally:
        still.terminate()


async def test_a_server_that_takes_no_connection_is_not_called_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_STATEMENT_WAIT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://bookprint@127.0.0.1:{silent.getsockname()[1]}/bookprint"
        async with open_database(url, 1) as database:
            with pytest.raises(Unavailable, match="accepted no connection") as told:
                await database.rows(DIVIDE, number=1)
    assert not isinstance(told.value, Busy)


def test_all_processes_together_stay_below_what_the_embedded_server_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 128)
    most = int(SETTINGS["max_connections"]) - 3  # for superusers
    workers = Settings().workers
    for processes in (1, 8):
        _, each = _share_out_connections(most, processes, workers)[SHARE].split()
        pools = 2 * (processes + workers + 1)  # a command such as `bookprint verify` beside the service
        assert pools * int(each) + 2 * QUEUE_CONNECTIONS * workers <= most


async def test_a_statement_that_ends_after_the_close_returns_its_connection(module_database_url: str) -> None:
    other = await asyncpg.connect(module_database_url.replace("+psycopg", "", 1))
    await other.execute("SELECT pg_advisory_lock(1)")
    async with asyncio.timeout(120), open_database(module_database_url, 1) as database:
        running = asyncio.create_task(database.rows(SQL("SELECT pg_advisory_lock(1)::text")))
        await until(lambda: other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        closing = asyncio.create_task(other.close())  # begins when the database has closed
    await asyncio.gather(running, closing)
