"""Two people decide on the same pairs while API processes are killed: no acknowledged decision is lost."""

import asyncio
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose
from tests.faults.killable_service import Service, serving

BOOKS, ROUNDS, KILLS = 6, 4, 4


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path) as service:
        service.wait_until("ready")
        yield service


async def decide_all(client: httpx.AsyncClient, name: str, pairs: list[tuple[str, str]]) -> set[str]:
    """One person: decides on every pair, three at a time, until each is acknowledged; the notes of all."""
    told = set()
    for number in range(ROUNDS):
        for start in range(0, len(pairs), 3):
            items = [
                {
                    "left": left,
                    "right": right,
                    "kind": "SAME_TEXT",
                    "note": f"{name} {number} {start + place}",
                }
                for place, (left, right) in enumerate(pairs[start : start + 3])
            ]
            while True:
                try:
                    body = {"items": items, "all_or_none": bool(number % 2)}
                    answer = await client.post("/v1/decisions", json=body)
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
                    continue
                if answer.status_code == 200:
                    told |= {
                        item["note"]
                        for item, each in zip(items, answer.json()["items"], strict=True)
                        if each["status"] == 200
                    }
                    break
                assert answer.status_code == 503, answer.text
                await asyncio.sleep(0.1)
    return told


async def kill_api(service: Service) -> None:
    for _ in range(KILLS):
        await asyncio.sleep(0.4)
        await service.part("api")
        await service.kill("api")


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_no_acknowledged_decision_is_lost_by_kills(service: Service) -> None:
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        ids = [
            (await client.post("/v1/books", json={"text": prose(seed, 400)})).json()["id"]
            for seed in range(BOOKS)
        ]
        pairs = list(combinations(ids, 2))
        first, second, _ = await asyncio.gather(
            decide_all(client, "a", pairs), decide_all(client, "b", pairs[::-1]), kill_api(service)
        )
        await asyncio.to_thread(service.wait_until, "ready")
        history = (await client.get("/v1/decisions?limit=1000")).json()["items"]
        assert first | second <= {item["note"] for item in history}
        assert len(first) == len(second) == ROUNDS * len(pairs)
        for left, right in pairs:
            own = [item for item in history[::-1] if {item["left"], item["right"]} == {left, right}]
            assert [item["before"] is None for item in own] == [True] + [False] * (len(own) - 1)
            shown = (await client.get(f"/v1/books/{left}/relations/{right}")).json()
            assert shown["decision"]["kind"] == "SAME_TEXT"
