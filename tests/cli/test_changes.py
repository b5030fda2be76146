"""`bookprint changes` against a service in a process of its own."""

import asyncio
import json
import subprocess
import sys

import httpx

from app.settings import Settings
from app.wiring import open_services
from tests.api.library import prose
from tests.api.service_process import serving


def printed(url: str, *options: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "app.cli", "changes", "--url", url, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


async def complete_index(database_url: str, redis_url: str) -> None:
    async with open_services(Settings(database_url=database_url, redis_url=redis_url)) as services:
        await services.upkeep.catch_up()


def test_changes_are_printed_from_a_cursor_on(database_url: str, redis_url: str) -> None:
    asyncio.run(complete_index(database_url, redis_url))
    with serving(database_url, redis_url) as server:
        for seed in range(3):
            httpx.post(f"{server.url}/v1/books", json={"text": prose(seed, 60)}).raise_for_status()

        items = printed(server.url)

        assert items == httpx.get(f"{server.url}/v1/changes").json()["items"]
        assert len(items) == 3
        assert printed(server.url, "--after", str(items[0]["cursor"])) == items[1:]
        assert printed(server.url, "--after", "now") == []
