"""Single queries on connections of the driver, on real Postgres."""

import asyncio
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa

from app.stores.postgres.queries import Queries, Query

ECHO = Query(
    sa.text(
        "SELECT CAST(:number AS bigint) AS number, CAST(:word AS text) AS word, CAST(:id AS uuid) AS id, "
        "CAST(:data AS bytea) AS data"
    ).columns()
)
COUNT = Query(sa.text("SELECT count(*) AS n FROM unnest(CAST(:numbers AS bigint[]))").columns())
SERIES = Query(sa.text("SELECT i AS n FROM generate_series(1, CAST(:most AS bigint)) AS i").columns())
DIVIDE = Query(sa.text("SELECT 1 / CAST(:number AS bigint) AS n").columns())
SLEEP = Query(sa.text("SELECT pg_sleep(CAST(:seconds AS float8))").columns())
SLOW_SERIES = Query(
    sa.text(
        "SELECT i AS n, repeat('x', 9000) AS filler, pg_sleep(CAST(:seconds AS float8)) "
        "FROM generate_series(1, CAST(:most AS bigint)) AS i"
    ).columns()
)
SERVER = Query(sa.text("SELECT pg_backend_pid() AS pid").columns())


async def test_values_come_back_as_they_were_sent(queries: Queries) -> None:
    sent = {"number": -(2**62), "word": "naïve, „%s“ 書", "id": UUID(int=7), "data": b"\0\xff'"}
    assert await queries.rows(ECHO, **sent) == [sent]
    nothing = dict.fromkeys(sent)
    assert await queries.rows(ECHO, **nothing) == [nothing]


async def test_questions_and_answers_larger_than_any_buffer_go_through(queries: Queries) -> None:
    numbers = list(range(10**12, 10**12 + 500_000))
    assert await queries.rows(COUNT, numbers=numbers) == [{"n": 500_000}]
    rows = await queries.rows(SERIES, most=300_000)
    assert [row["n"] for row in rows] == list(range(1, 300_001))


async def test_a_query_that_fails_leaves_the_next_ones_alone(queries: Queries) -> None:
    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            await queries.rows(DIVIDE, number=0)
        assert await queries.rows(DIVIDE, number=1) == [{"n": 1}]


async def test_one_who_gives_up_does_not_leave_an_answer_to_the_next(queries: Queries) -> None:
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await queries.rows(SLEEP, seconds=5.0)
        assert await queries.rows(DIVIDE, number=1) == [{"n": 1}]


async def kill(server: object, database_url: str) -> None:
    """End this server process of Postgres, and wait until it is gone."""
    address = sa.make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with await psycopg.AsyncConnection.connect(address) as other:
        await other.execute("SELECT pg_terminate_backend(%s, 5000)", [server])


async def test_a_lost_connection_is_made_anew(queries: Queries, database_url: str) -> None:
    [server] = await queries.rows(SERVER)
    await kill(server["pid"], database_url)
    [now] = await queries.rows(SERVER)
    assert now["pid"] != server["pid"]


async def test_an_answer_that_comes_in_pieces_is_waited_for(queries: Queries) -> None:
    for seconds in (0.0, 0.005):
        rows = await queries.rows(SLOW_SERIES, most=40, seconds=seconds)
        assert [row["n"] for row in rows] == list(range(1, 41))


async def test_a_server_that_dies_during_a_query_is_noticed(queries: Queries, database_url: str) -> None:
    [server] = await queries.rows(SERVER)
    asking = asyncio.create_task(queries.rows(SLEEP, seconds=20.0))
    await asyncio.sleep(0.1)
    await kill(server["pid"], database_url)
    with pytest.raises(psycopg.OperationalError):
        await asking
    assert await queries.rows(DIVIDE, number=1) == [{"n": 1}]
