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
from typing import Any

import pytest
import redis
import sqlalchemy as sa
from httpx import AsyncClient

from app.embedded import Servers, running_servers
from app.settings import Settings
from app.wiring import open_stores
from tests.api.conftest import asking, started
from tests.api.library import prose, scanned
from tests.factories import pages_of
from tests.faults.killable_service import Service, answered, serving
from tests.open_services import with_stores
from tests.paged_books import run_jobs

SEED = 2024
WORKS = 3
WORKERS = 2
FAULTS = 2

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
        books += [
            {"external_id": f"{work} {form}", "pages": form_pages} for form, form_pages in forms.items()
        ]
    random.Random(SEED).shuffle(books)
    return books


BOOKS = library()


@dataclass(frozen=True)
class Outcome:
    """All relations between books, and the clusters, by external ids."""

    relations: dict[tuple[str, str], Json]  # of the first to the second
    indirect: dict[tuple[str, str], str]  # which book stands for the second
    clusters: dict[str, set[frozenset[str]]]


async def ask(client: AsyncClient, path: str) -> Json:
    """Read an answer, as soon as the service gives one."""
    document: Json = (await answered(client, "GET", path, timeout=70)).raise_for_status().json()
    return document


async def outcome(client: AsyncClient) -> Outcome:
    """The service's answers, once nothing is pending."""
    names = {book["id"]: book["external_id"] for book in (await ask(client, "/v1/books?limit=1000"))["items"]}
    assert sorted(names.values()) == sorted(book["external_id"] for book in BOOKS)
    for book_id in names:
        answer = await ask(client, f"/v1/books/{book_id}/relations?wait=60")
        assert (answer["pending"], answer["failed"]) == (0, [])
    relations, indirect = {}, {}
    for book_id, name in names.items():
        for item in (await ask(client, f"/v1/books/{book_id}/relations"))["items"]:
            pair = name, names[item["book_id"]]
            if item["via"]:
                indirect[pair] = names[item["via"]]
                continue
            assert pair not in relations
            document = await ask(client, f"/v1/books/{book_id}/relations/{item['book_id']}")
            relations[pair] = {field: value for field, value in document.items() if field != "book_id"}
    assert all((right_id, left_id) in relations for left_id, right_id in relations)
    clusters_by = {by: await clusters(client, names, by) for by in ("same_text", "related")}
    return Outcome(relations, indirect, clusters_by)


async def clusters(client: AsyncClient, names: dict[str, str], by: str) -> set[frozenset[str]]:
    groups = {}
    for book_id in names:
        answer = await ask(client, f"/v1/books/{book_id}/cluster?by={by}")
        members = [item["book_id"] for item in answer["items"]]
        assert answer["id"] == f"{by}-{min(members)}"
        groups[book_id] = frozenset(members)
    assert all(groups[member] == members for members in groups.values() for member in members)
    return {frozenset(names[member] for member in members) for members in groups.values()}


@pytest.fixture(scope="module")
def expected(module_database_url: str, module_redis_url: str) -> Outcome:
    """The outcome without a fault: one book after the other, and each job once."""

    async def undisturbed() -> Outcome:
        settings = Settings(database_url=module_database_url, redis_url=module_redis_url)
        async with started(settings) as app, asking(app) as client:
            await post_all(client, BOOKS)
            async with open_stores(settings) as stores:
                await run_jobs(with_stores(app.state.services, stores))
            return await outcome(client)

    return asyncio.run(undisturbed())


class Workers:
    """Worker processes of a service; what is killed is started again."""

    def __init__(self, servers: Servers) -> None:
        self._environment = os.environ | {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
        }
        self._processes = [self._start() for _ in range(WORKERS)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.impatient_worker"], env=self._environment
        )

    def send(self, number: int) -> None:
        """Send each of them a signal."""
        for process in self._processes:
            process.send_signal(number)

    def kill(self) -> None:
        """Kill them all and start others."""
        self.end()
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
    """One service for the tests of this module, each of which first deletes all books."""
    with serving(tmp_path_factory.mktemp("relations"), "--workers", "0") as service:
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
    """Post these books, one after the other, each until it is acknowledged."""
    for book in books:
        (await answered(client, "POST", "/v1/books", json=book)).raise_for_status()


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


async def stop_in_mid_job(scene: Scene, queue: Queue) -> set[int]:
    """Stop all workers at a moment when some, which are returned, are in mid-job."""
    while True:
        scene.workers.send(signal.SIGSTOP)
        if job := await asyncio.to_thread(queue.running):
            return job
        scene.workers.send(signal.SIGCONT)
        await asyncio.sleep(0.02)


async def kill_workers(scene: Scene, queue: Queue) -> None:
    queue.forget(await stop_in_mid_job(scene, queue))
    await asyncio.to_thread(scene.workers.kill)


async def kill_postgres(scene: Scene, queue: Queue) -> None:
    await stop_in_mid_job(scene, queue)
    await scene.service.kill("postgres")
    scene.workers.send(signal.SIGCONT)


async def flush_redis(scene: Scene, queue: Queue) -> None:
    await stop_in_mid_job(scene, queue)
    with redis.Redis.from_url(scene.servers.redis_url) as client:
        client.flushall()
    scene.workers.send(signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("fault", [kill_workers, kill_postgres, flush_redis])
async def test_relations_are_the_same_as_without_the_fault(
    scene: Scene, expected: Outcome, fault: Callable[[Scene, Queue], Awaitable[None]]
) -> None:
    queue = Queue(scene.servers.database_url)
    part = len(BOOKS) // FAULTS
    async with AsyncClient(base_url=scene.service.url, timeout=60) as client:
        for book in (await ask(client, "/v1/books?limit=1000"))["items"]:
            assert (await client.delete(book["links"]["self"])).status_code == 204
        for start in range(0, len(BOOKS), part):
            # Jobs pile up first, so that some are met.
            scene.workers.send(signal.SIGSTOP)
            await post_all(client, BOOKS[start : start + part // 2])
            async with asyncio.timeout(600):
                await asyncio.gather(
                    post_all(client, BOOKS[start + part // 2 : start + part]), fault(scene, queue)
                )
        actual = await outcome(client)
    assert actual.relations.keys() == expected.relations.keys()
    for pair, relation in actual.relations.items():
        assert relation == expected.relations[pair]
    assert actual == expected
