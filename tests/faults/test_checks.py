"""Lists are checked and decisions made while parts of the service are killed.

Every row has an answer or an error, and no acknowledged decision is lost.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.library import prose
from tests.faults.killable_service import Service, answered, serving

Json = dict[str, Any]

BOOKS, ROWS = 6, 300
VICTIMS = ("postgres", "valkey", "api", "worker")
ROUNDS = 4
"""Decisions of a person on each pair."""

KILLS = 4
"""Kills of API processes alone, while two people decide."""

PAUSE = 1.5  # seconds from one kill to the next
PACE = 0.02  # seconds between the rows of a request, which so lasts as long as several kills


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("checks")) as service:
        service.wait_until("ready")
        yield service


async def post_books(client: httpx.AsyncClient) -> list[Json]:
    posted = []
    for seed in range(BOOKS):
        names = {"title": f"The {prose(seed, 5)}", "external_id": f"own-{seed}"}
        answer = await client.post("/v1/books", json={"text": prose(seed, 2000), **names})
        posted.append(answer.json())
    return posted


def rows_of(books: list[Json]) -> list[tuple[Json, set[str], str | None]]:
    """Rows, the verdicts that are right, and the book that is meant."""
    rows: list[tuple[Json, set[str], str | None]] = []
    for number in range(ROWS):
        book, own = books[number % BOOKS], number % BOOKS
        ways: list[tuple[Json, set[str], str | None]] = [
            ({"text": prose(own, 2000)}, {"have"}, book["id"]),
            ({"identifier": book["identifier"]}, {"have"}, book["id"]),
            ({"external_id": f"own-{own}"}, {"have"}, book["id"]),
            ({"title": f"The {prose(own, 5)}"}, {"perhaps"}, book["id"]),
            ({"text": prose(1000 + number, 500)}, {"no"}, None),
            ({"external_id": f"other-{number}"}, {"no"}, None),
        ]
        rows.append(ways[number // BOOKS % len(ways)])
    return rows


async def check_all(
    client: httpx.AsyncClient, rows: list[tuple[Json, set[str], str | None]], ended: list[str]
) -> dict[int, Json]:
    """Ask for all rows in one request; where its answer breaks off or a row has an error, for the rest."""
    answers: dict[int, Json] = {}
    while waiting := [at for at in range(len(rows)) if at not in answers]:
        lines: list[Json] = []

        async def body(asked: list[int] = waiting) -> AsyncIterator[bytes]:
            for at in asked:
                yield json.dumps(rows[at][0]).encode() + b"\n"
                await asyncio.sleep(PACE)

        headers = {"Content-Type": "application/x-ndjson"}
        try:
            async with client.stream("POST", "/v1/checks", content=body(), headers=headers) as answer:
                if answer.status_code != 200:
                    assert answer.status_code == 503, await answer.aread()
                    ended.append("refused")
                    await asyncio.sleep(0.3)
                    continue
                async for line in answer.aiter_lines():
                    lines.append(json.loads(line))
        except httpx.TransportError:
            ended.append("broken off")
            await asyncio.sleep(0.2)
        else:
            assert len(lines) == len(waiting)
            ended.append("whole")
        assert [line["line"] for line in lines] == list(range(1, len(lines) + 1))
        for at, line in zip(waiting, lines, strict=False):
            if "verdict" in line:
                answers[at] = line
            else:
                assert line["status"] == line["problem"]["status"] == 503, line
                assert line["retry_after"] > 0
                ended.append("row refused")
    return answers


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
            body = {"items": items, "all_or_none": bool(number % 2)}
            answer = await answered(client, "POST", "/v1/decisions", json=body)
            assert answer.status_code == 200, answer.text
            found = zip(items, answer.json()["items"], strict=True)
            told |= {item["note"] for item, each in found if each["status"] == 200}
    return told


async def check_list(service: Service, list_file: Path) -> list[Json]:
    """What `bookprint check` says of a list; every row has a line, whatever happened."""
    while True:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", "check", str(list_file), "--url", service.url, "--json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, told = await process.communicate()
        if process.returncode == 0:
            return [json.loads(line) for line in out.splitlines()]
        assert process.returncode in (1, 2), told.decode()
        assert told.strip()


async def kill_parts(service: Service) -> None:
    for name in VICTIMS:
        await asyncio.sleep(PAUSE)
        await service.part(name)
        await service.kill(name)


async def kill_api(service: Service) -> None:
    for _ in range(KILLS):
        await asyncio.sleep(0.4)
        await service.part("api")
        await service.kill("api")


def assert_right(answers: list[Json], rows: list[tuple[Json, set[str], str | None]]) -> None:
    assert len(answers) == len(rows)
    for answer, (row, verdicts, book_id) in zip(answers, rows, strict=True):
        assert answer["verdict"] in verdicts, (row, answer)
        if book_id is not None:
            assert book_id in {item["book_id"] for item in answer["items"]}


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_no_row_of_a_check_and_no_decision_is_lost_by_kills(service: Service, tmp_path: Path) -> None:
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        books = await post_books(client)
        rows = rows_of(books)
        list_file = tmp_path / "list.jsonl"
        list_file.write_text("".join(f"{json.dumps(row)}\n" for row, _, _ in rows), encoding="utf-8")
        pairs = list(combinations([book["id"] for book in books], 2))
        ended: list[str] = []
        killing = asyncio.create_task(kill_parts(service))
        answers, listed, told = await asyncio.gather(
            check_all(client, rows, ended), check_list(service, list_file), decide_all(client, "a", pairs)
        )
        await killing
        await asyncio.to_thread(service.wait_until, "ready")
        assert_right([answers[at] for at in range(len(rows))], rows)
        assert_right(listed, rows)
        # Whether a kill breaks an answer off or refuses rows depends on the moment; it is felt in any case.
        assert {"row refused", "broken off"} & {*ended}
        history = (await client.get("/v1/decisions?limit=1000")).json()["items"]
        assert told <= {item["note"] for item in history}
        assert told


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
            decide_all(client, "b", pairs), decide_all(client, "c", pairs[::-1]), kill_api(service)
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
