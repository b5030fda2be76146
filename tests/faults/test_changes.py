"""Books posted, changed, deleted and related while everything is killed: no reader misses a change.

A reader that is killed and resumed ends with exactly what the service answers. Webhook receivers that fail at
random get every change.
"""

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.library import prose, scanned
from tests.change_replica import Replica, rounded, state_of
from tests.faults.feed_reader import FeedReader
from tests.faults.killable_service import Service, answered, serving
from tests.receiver import Receiver, receiving
from tests.waiting import until

SEED = 2026
BOOKS = int(os.environ.get("BOOKPRINT_FAULT_BOOKS", "25"))
"""More find faults that are rarer, and take longer: 2,000 some twenty minutes."""

CLIENTS = 6
RECEIVERS = 5
WORDS = 400

Json = dict[str, Any]


def original(work: int) -> str:
    """The text of a work in words of its own: works that share words would all be related."""
    return " ".join(f"{word}{work:x}" for word in prose(work, WORDS).split(" "))


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """`bookprint serve` in a process of its own, which may deliver to this machine."""
    monkeypatch.setenv("BOOKPRINT_WEBHOOK_ALLOW_HOSTS", "127.0.0.1")
    with serving(tmp_path, "--workers", "2") as service:
        service.wait_until("ready")
        yield service


class Library:
    """What clients do with books: three of four are posted as copies of earlier ones."""

    def __init__(self, client: httpx.AsyncClient, books: int) -> None:
        self._client = client
        self._left = list(range(books))[::-1]
        self._chance = random.Random(SEED)
        self.posted: list[str] = []
        self.done = 0

    async def work(self, wait: Callable[[], Awaitable[None]]) -> None:
        """One client: posts the books that are left, and changes one now and then."""
        while self._left:
            number = self._left.pop()
            text = original(number // 4)
            text = text if number % 4 == 0 else scanned(text, number)
            answer = await self.ask("POST", "/v1/books", {"text": text, "external_id": f"{number}"})
            self.posted.append(answer.json()["id"])
            await self._change(number)
            self.done += 1
            await wait()

    async def _change(self, number: int) -> None:
        book = f"/v1/books/{self._chance.choice(self.posted)}"
        match self._chance.randrange(8):
            case 0:
                await self.ask("PATCH", book, {"year": number})
            case 1:
                await self.ask("PUT", f"{book}/content", {"text": scanned(original(number // 4), -number)})
            case 2:
                await self.ask("DELETE", book)
            case 3 | 4:
                items = (await self.ask("GET", f"{book}/relations")).json().get("items", [])
                for item in items[:1]:
                    decision = f"{book}/relations/{item['book_id']}/decision"
                    verdict = self._chance.choice(["rejected", "confirmed", None])
                    if verdict is None:
                        await self.ask("DELETE", decision)
                    else:
                        await self.ask("PUT", decision, {"verdict": verdict})

    async def ask(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        """Send a request until it is answered."""
        return await answered(self._client, method, path, json=body)


async def idle(library: Library) -> None:
    """Wait until no job waits or runs."""
    unfinished = re.compile(r'^bookprint_jobs\{state="(waiting|running)",task="relate"\} (?!0)', re.MULTILINE)
    while True:
        metrics = (await library.ask("GET", "/metrics")).text
        # Without Postgres there are no figures of jobs.
        if "# TYPE bookprint_jobs" in metrics and not unfinished.search(metrics):
            return
        await asyncio.sleep(0.5)


async def kill_parts(service: Service, reader: FeedReader, library: Library, books: int, kills: int) -> None:
    """Kill the parts of the service and the reader by turns, spread over the work."""
    chance = random.Random(SEED)
    for number in range(kills):
        while library.done < books * (number + 1) // (kills + 1):  # noqa: ASYNC110 - it polls the clients
            await asyncio.sleep(0.05)
        await asyncio.sleep(chance.random())
        victim = ("api", "reader", "delivery", "worker", "postgres")[number % 5]
        if victim == "reader":
            reader.kill()
        else:
            await service.kill(victim)


async def all_changes(library: Library) -> list[Json]:
    items: list[Json] = []
    cursor = ""
    while True:
        answer = (await library.ask("GET", f"/v1/changes?limit=1000{cursor}")).json()
        if not answer["items"]:
            return items
        items += answer["items"]
        cursor = f"&after={answer['next_cursor']}"


def cursors(items: list[Json]) -> set[str]:
    return {item["cursor"] for item in items}


def received(receiver: Receiver) -> list[Json]:
    return [message.item for message in receiver.accepted]


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.timeout(1200 + BOOKS)
async def test_no_reader_misses_a_change(service: Service, tmp_path: Path) -> None:
    books, kills = BOOKS, 5 + BOOKS // 40
    chance = random.Random(SEED)
    async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        receivers = [
            await stack.enter_async_context(
                receiving(
                    lambda message: 204 if chance.random() < 0.8 else chance.choice([500, 503, 302, 404])
                )
            )
            for _ in range(RECEIVERS)
        ]
        for receiver in receivers:
            assert (await client.post("/v1/webhooks", json={"url": receiver.url})).status_code == 201
        reader = FeedReader(service.url, tmp_path / "changes.jsonl")
        alive = asyncio.create_task(reader.keep_alive())
        library = Library(client, books)
        killing = asyncio.create_task(kill_parts(service, reader, library, books, kills))

        async def pause() -> None:
            await asyncio.sleep(0.3 if books < 1000 else 0.0)

        await asyncio.gather(*(library.work(pause) for _ in range(CLIENTS)))
        await killing
        await idle(library)

        told = await all_changes(library)
        wanted = cursors(told)
        await until(lambda: cursors(reader.items()) == wanted)
        await until(lambda: all(cursors(received(each)) == wanted for each in receivers))
        alive.cancel()
        reader.kill()

        state = await state_of(client)
        print(f"{len(told)} changes, {reader.starts} starts of the reader, {len(state.relations)} relations")
        assert reader.starts > kills // 5
        assert [item["cursor"] for item in reader.items()] == [item["cursor"] for item in told]
        assert state.relations
        assert rounded(reader.replica()) == state
        for receiver in receivers:
            assert cursors(received(receiver)) == wanted
            replica = Replica()
            for item in sorted(received(receiver), key=lambda item: item["at"]):
                replica.apply(item)
            assert rounded(replica) == state
