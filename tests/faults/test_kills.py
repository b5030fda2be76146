"""Books posted while every part of the service is killed again and again: none is lost, none doubled."""

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from app.embedded import running_servers
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import open_client
from app.synthesis.library import synthetic_library
from bookprint_core.index.records import ENTRIES_PER_SEGMENT
from bookprint_core.index.tables import POSTINGS
from tests.factories import BANDS
from tests.faults.killable_service import READY_SECONDS, Service, answered, serving
from tests.index_buckets import sizes_of
from tests.waiting import until

SEED = 2024
BOOKS = 80
CLIENTS = 8
VICTIMS = ("api", "worker", "postgres", "valkey")
KILLS_OF_EACH = 2
PAUSE = 0.6  # seconds between two posts of a client, so that the kills are spread over many posts


@dataclass
class Progress:
    """The answers that the clients have seen so far."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # external id or text -> book id
    hexes: dict[str, str] = field(default_factory=dict)  # book id -> fingerprint
    in_flight: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # a post was sent
    answered_lookups: int = 0
    wrong: list[str] = field(default_factory=list)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """`bookprint serve` in a process of its own."""
    with serving(tmp_path) as service:
        service.wait_until("ready")
        yield service


def books() -> list[dict[str, object]]:
    """Half of them with an external id, half with their content alone."""
    library = synthetic_library(SEED, works=BOOKS, copies=(0, 0), characters=(6000, 6000))
    return [
        {"text": book.text, "title": book.title} | ({"external_id": f"ext-{i}"} if i % 2 else {})
        for i, book in enumerate(library)
    ]


def name_of(book: dict[str, object]) -> str:
    return str(book.get("external_id") or book["text"])


async def post_all(client: httpx.AsyncClient, queue: list[dict[str, object]], progress: Progress) -> None:
    """One client: posts until the queue is empty, and each book until it is acknowledged."""
    while queue:
        book = queue.pop()
        progress.in_flight += 1
        progress.moved.set()
        body = (await answered(client, "POST", "/v1/books", json=book)).raise_for_status().json()
        progress.in_flight -= 1
        progress.acknowledged[name_of(book)] = body["id"]
        progress.hexes[body["id"]] = body["fingerprint"]["hex"]
        await asyncio.sleep(PAUSE)


async def look_up_throughout(client: httpx.AsyncClient, progress: Progress, done: asyncio.Event) -> None:
    """Ask for acknowledged books all the while; every answer must name the book asked for."""
    chance = random.Random(SEED)
    while not done.is_set():
        await asyncio.sleep(0.02)
        if not progress.hexes:
            continue
        book_id, hexadecimal = chance.choice(sorted(progress.hexes.items()))
        question = {"fingerprint": {"recipe": "gap-simhash128-v1", "hex": hexadecimal}}
        try:
            answer = await client.post("/v1/lookups?d=7", json=question)
        except httpx.TransportError:
            continue
        if answer.status_code == 503:
            continue
        if answer.status_code != 200:
            progress.wrong.append(f"{answer.status_code} {answer.text}")
        elif book_id not in {item["id"] for item in answer.json()["items"]}:
            progress.wrong.append(f"book {book_id} was acknowledged and not found")
        progress.answered_lookups += 1


async def kill_parts(service: Service, progress: Progress) -> list[tuple[str, int, int]]:
    """Kill each part several times, in a shuffled order, spread over the posts."""
    victims = [name for name in VICTIMS for _ in range(KILLS_OF_EACH)]
    random.Random(SEED).shuffle(victims)
    kills = []
    for number, name in enumerate(victims):
        due = BOOKS * (number + 1) // (len(victims) + 2)
        await service.part(name)
        while len(progress.acknowledged) < due or not progress.in_flight:
            progress.moved.clear()
            await progress.moved.wait()
        kills.append((name, len(progress.acknowledged), progress.in_flight))
        await service.kill(name)
    return kills


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_no_acknowledged_book_is_lost_or_doubled_by_kills(service: Service) -> None:
    servers = running_servers(service.data_dir)
    assert servers is not None
    engine = sa.create_engine(servers.database_url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SHOW fsync")) == "on"
        assert connection.scalar(sa.text("SHOW synchronous_commit")) == "on"
        # The index takes each segment of ids for full, so it grows with every post.
        connection.execute(sa.text(f"ALTER SEQUENCE entry_ids INCREMENT {ENTRIES_PER_SEGMENT}"))
        connection.commit()

    wanted = books()
    queue = wanted[::-1]
    progress = Progress()
    done = asyncio.Event()
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        lookups = asyncio.create_task(look_up_throughout(client, progress, done))
        killing = asyncio.create_task(kill_parts(service, progress))
        await asyncio.gather(*(post_all(client, queue, progress) for _ in range(CLIENTS)))
        kills = await killing
        await wait_until_clean(service.data_dir)
        answered = progress.answered_lookups
        async with asyncio.timeout(READY_SECONDS):
            while progress.answered_lookups == answered:  # noqa: ASYNC110 - lookups are refused no longer
                await asyncio.sleep(0.1)
        done.set()
        await lookups

        assert len(kills) == KILLS_OF_EACH * len(VICTIMS)
        assert all(answered and unanswered for _, answered, unanswered in kills)
        assert progress.wrong == []
        assert progress.answered_lookups > 100

        assert len(progress.acknowledged) == BOOKS
        listed = [item["id"] for item in (await client.get("/v1/books?limit=1000")).json()["items"]]
        assert sorted(listed) == sorted(set(progress.acknowledged.values()))
        assert len(listed) == BOOKS
        for book_id, hexadecimal in progress.hexes.items():
            question = {"fingerprint": {"recipe": "gap-simhash128-v1", "hex": hexadecimal}}
            answer = (await client.post("/v1/lookups?d=0", json=question)).json()
            assert [item["id"] for item in answer["items"]].count(book_id) == 1

    async with open_client(servers.redis_url) as redis:
        assert min(await sizes_of(BandIndex(redis, BANDS), POSTINGS)) > 8 * POSTINGS.least


async def wait_until_clean(data_dir: Path) -> None:
    """Until `bookprint verify` finds nothing to complain of."""

    async def clean() -> bool:
        command = [sys.executable, "-m", "app.cli", "verify", "--data-dir", str(data_dir)]
        outcome = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        return outcome.returncode == 0

    await until(clean)
