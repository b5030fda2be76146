"""Books posted and related while workers or Postgres are killed or Redis is flushed.

In the end every relation is there, once, and relations and clusters are the same as without the fault.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
import redis
import sqlalchemy as sa
from httpx import AsyncClient, TransportError

from app.embedded import Servers, running_servers
from app.settings import Settings
from tests.api.conftest import asking, started
from tests.api.library import prose, scanned
from tests.faults.serving import Service, serving
from tests.relating import pages_of, run_jobs

SEED = 2024
WORKS = 4
CLIENTS = 3
WORKERS = 2
FAULTS = 2
PAUSE = 0.1  # seconds between two posts of a client

Json = dict[str, Any]


def library() -> list[Json]:
    """Works with copies of every kind, in a shuffled order."""
    texts = [prose(SEED + work, 3600) for work in range(WORKS)]
    books = []
    for work, text in enumerate(texts):
        pages = pages_of(text)
        together = f"{text} {texts[(work + 1) % WORKS]}"
        forms = {
            "original": pages,
            "scan": pages_of(scanned(text, 1)),
            "bad scan": pages_of(scanned(text, 2, 0.05)),
            "reset": pages_of(scanned(text, 3), 210),
            "part": pages[3:9],
            "both": pages_of(scanned(together, 4)),
        }
        books += [{"external_id": f"{work} {form}", "pages": told} for form, told in forms.items()]
    random.Random(SEED).shuffle(books)
    return books


BOOKS = library()


@dataclass(frozen=True)
class Outcome:
    """All relations between books, and the clusters, told by external ids."""

    relations: dict[tuple[str, str], Json]
    indirect: dict[str, set[str]]  # of each book, those that another one stands for
    clusters: dict[str, set[frozenset[str]]]


async def outcome(client: AsyncClient) -> Outcome:
    """What the service tells, once nothing is pending."""
    listed = (await client.get("/v1/books?limit=1000")).json()["items"]
    names = {book["id"]: book["external_id"] for book in listed}
    assert sorted(names.values()) == sorted(book["external_id"] for book in BOOKS)
    for book_id in names:
        answer = (await client.get(f"/v1/books/{book_id}/relations?wait=60", timeout=70)).json()
        assert (answer["pending"], answer["failed"]) == (0, [])
    direct: dict[str, list[str]] = {}
    indirect = {}
    for book_id, name in names.items():
        answer = (await client.get(f"/v1/books/{book_id}/relations")).json()
        direct[name] = [names[item["book_id"]] for item in answer["items"] if not item["via"]]
        assert len(direct[name]) == len(set(direct[name]))
        indirect[name] = {names[item["book_id"]] for item in answer["items"] if item["via"]}
    relations = {}
    for (one_id, one), (other_id, other) in combinations(sorted(names.items(), key=lambda it: it[1]), 2):
        assert (one in direct[other]) == (other in direct[one])
        if one in direct[other]:
            told = (await client.get(f"/v1/books/{one_id}/relations/{other_id}")).json()
            assert told.pop("book_id") == other_id
            relations[one, other] = told
    found = {by: await clusters(client, names, by) for by in ("same_text", "related")}
    return Outcome(relations, indirect, found)


async def clusters(client: AsyncClient, names: dict[str, str], by: str) -> set[frozenset[str]]:
    found = {}
    for book_id in names:
        answer = (await client.get(f"/v1/books/{book_id}/cluster?by={by}")).json()
        members = [item["book_id"] for item in answer["items"]]
        assert answer["id"] == f"{by}-{min(members)}"
        found[book_id] = frozenset(members)
    assert all(found[member] == members for members in found.values() for member in members)
    return {frozenset(names[member] for member in members) for members in found.values()}


@pytest.fixture
async def expected(database_url: str, redis_url: str) -> Outcome:
    """What comes out where nothing fails: one book after the other, and each job once."""
    async with (
        started(Settings(database_url=database_url, redis_url=redis_url)) as app,
        asking(app) as client,
    ):
        for book in BOOKS:
            assert (await client.post("/v1/books", json=book)).status_code == 201
        await run_jobs(app.state.house)
        return await outcome(client)


class Workers:
    """Worker processes of a service; what is killed is started again."""

    def __init__(self, servers: Servers) -> None:
        self._environment = os.environ | {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
        }
        self._processes = [self._start() for _ in range(WORKERS)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "tests.faults.worker"], env=self._environment)

    def send(self, number: int) -> None:
        """Send each of them a signal."""
        for process in self._processes:
            process.send_signal(number)

    def kill(self) -> None:
        """Kill them all and start others."""
        self.send(signal.SIGKILL)
        for process in self._processes:
            process.wait()
        self._processes = [self._start() for _ in self._processes]

    def end(self) -> None:
        """Stop them for good."""
        self.send(signal.SIGKILL)
        for process in self._processes:
            process.wait()


@dataclass(frozen=True)
class Scene:
    """A service with its workers, and its servers."""

    service: Service
    workers: Workers
    servers: Servers


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One service for the tests of this module, each of which leaves it without books."""
    folder = tmp_path_factory.mktemp("relations")
    with serving(["-m", "app.cli", "serve", "--workers", "0"], folder) as service:
        service.wait_until("live")
        servers = running_servers(service.data_dir)
        assert servers is not None
        workers = Workers(servers)
        try:
            service.wait_until("ready")
            yield Scene(service, workers, servers)
        finally:
            workers.end()


async def post_all(client: AsyncClient, books: list[Json]) -> None:
    """Several clients post these books, each until it is acknowledged."""
    queue = list(books)

    async def post() -> None:
        while queue:
            book = queue.pop()
            while not await acknowledged(client, book):  # noqa: ASYNC110 - it is asked again
                await asyncio.sleep(PAUSE)

    await asyncio.gather(*(post() for _ in range(CLIENTS)))


async def acknowledged(client: AsyncClient, book: Json) -> bool:
    try:
        answer = await client.post("/v1/books", json=book)
    except TransportError:
        return False
    assert answer.status_code in (200, 201, 503), answer.text
    return answer.status_code != 503


class Queue:
    """The jobs that relate books, as Postgres has them."""

    def __init__(self, database_url: str) -> None:
        self._engine = sa.create_engine(database_url, poolclass=sa.NullPool)
        self._gone: set[int] = set()

    def running(self) -> set[int]:
        """The living workers that are in mid-job."""
        statement = sa.text(
            "SELECT worker_id FROM procrastinate_jobs WHERE task_name = 'relate' AND status = 'doing'"
        )
        with self._engine.connect() as connection:
            return {row[0] for row in connection.execute(statement)} - self._gone

    def forget(self, workers: set[int]) -> None:
        """Count these workers as dead."""
        self._gone |= workers


async def kill_workers(scene: Scene, queue: Queue) -> None:
    """Kill all workers when one of them at least is in mid-job."""
    while True:
        scene.workers.send(signal.SIGSTOP)
        if victims := await asyncio.to_thread(queue.running):
            break
        scene.workers.send(signal.SIGCONT)
        await asyncio.sleep(0.02)
    await asyncio.to_thread(scene.workers.kill)
    queue.forget(victims)


async def kill_postgres(scene: Scene, queue: Queue) -> None:
    while not await asyncio.to_thread(queue.running):  # noqa: ASYNC110 - it happens in other processes
        await asyncio.sleep(0.01)
    (await scene.service.part("postgres")).kill()


async def flush_redis(scene: Scene, queue: Queue) -> None:
    while not await asyncio.to_thread(queue.running):  # noqa: ASYNC110 - it happens in other processes
        await asyncio.sleep(0.01)
    with redis.Redis.from_url(scene.servers.redis_url) as client:
        client.flushall()


@pytest.mark.faults
@pytest.mark.parametrize("fault", [kill_workers, kill_postgres, flush_redis])
async def test_relations_are_the_same_as_without_the_fault(
    scene: Scene, expected: Outcome, fault: Callable[[Scene, Queue], Awaitable[None]]
) -> None:
    queue = Queue(scene.servers.database_url)
    async with AsyncClient(base_url=scene.service.url, timeout=15) as client:
        for part in range(FAULTS):
            async with asyncio.timeout(30):
                await asyncio.gather(post_all(client, BOOKS[part::FAULTS]), fault(scene, queue))
        found = await outcome(client)
        for book in (await client.get("/v1/books?limit=1000")).json()["items"]:
            assert (await client.delete(book["links"]["self"])).status_code == 204
    assert found.relations.keys() == expected.relations.keys()
    assert found == expected
