"""`bookprint changes` against a running service."""

import json

import httpx

from tests.api.library import prose
from tests.cli.command_line import Service, bookprint

COLLECTION = "told of"


def printed(service: Service, *options: str) -> list[dict[str, object]]:
    done = bookprint("changes", "--collection", COLLECTION, "--url", service.url, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_changes_are_printed_from_a_cursor_on(service: Service) -> None:
    for seed in range(3):
        book = {"text": prose(700 + seed, 60), "collection": COLLECTION}
        httpx.post(f"{service.url}/v1/books", json=book, timeout=60).raise_for_status()

    items = printed(service)

    answer = httpx.get(f"{service.url}/v1/changes", params={"collection": COLLECTION}, timeout=60)
    assert items == answer.json()["items"]
    assert [item["type"] for item in items] == ["book.created"] * 3
    assert printed(service, "--after", str(items[0]["cursor"])) == items[1:]
    assert printed(service, "--after", "now") == []
