"""`bookprint master-copy` against a running service."""

import json

import httpx
import pytest

from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint
from tests.paged_books import pages_of

TEXT = prose(911, 3000)


@pytest.fixture(scope="module")
def ids(service: Service) -> list[str]:
    """Three scans of one text, related."""
    posted = [
        httpx.post(
            f"{service.url}/v1/books", json={"pages": pages_of(scanned(TEXT, seed))}, timeout=60
        ).json()
        for seed in (1, 2, 3)
    ]
    service.relate()
    return [book["id"] for book in posted]


def test_the_text_is_printed_page_by_page_and_the_copies_are_told(service: Service, ids: list[str]) -> None:
    done = bookprint("master-copy", ids[1], "--url", service.url)
    assert done.returncode == 0, done.stderr
    words = zip(done.stdout.replace("\f", " ").split(), TEXT.split(), strict=True)
    assert sum(word != true for word, true in words) < 100
    assert done.stdout.count("\f") == 9
    assert "3 copies have voted" in done.stderr
    lines = bookprint(
        "master-copy", f"same_text-{ids[0]}", "--url", service.url, "--json"
    ).stdout.splitlines()
    assert "\f".join(json.loads(line)["text"] for line in lines) == done.stdout
