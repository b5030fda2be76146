"""Changing the recipe of a running service from the command line."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random

import httpx
import pytest

from app.synthesis.library import SyntheticBook
from tests.api.library import prose
from tests.cli.command_line import BOOKPRINT, Serve, Service, bookprint, environment, serving

OLD, NEW = "gap-simhash128-v1", "tf-simhash128-v1"


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Serve]:
    with serving(tmp_path / "data") as service:
        yield service


def test_reindex_computes_the_digests_that_sign_prints(
    service: Service, books: list[SyntheticBook], tmp_path: Path
) -> None:
    url, servers = service.url, service.servers
    text = books[0].text
    posted = httpx.post(f"{url}/v1/books", json={"text": text}, timeout=60).json()
    assert posted["digests"] == {}
    file = tmp_path / "book.jsonl"
    file.write_text(json.dumps({"text": text}), encoding="utf-8")
    printed = json.loads(bookprint("sign", file).stdout)["digests"]
    assert list(printed) == ["md5-text", "textprofile-md5-v1"]
    computed = bookprint("reindex", "--digests", **servers)
    assert computed.returncode == 0, computed.stderr
    assert computed.stdout == "1 books have got digests\n"
    assert httpx.get(f"{url}/v1/books/{posted['id']}", timeout=60).json()["digests"] == printed
    for name, digits in printed.items():
        [found] = httpx.get(f"{url}/v1/books", params={"digest": f"{name}:{digits}"}, timeout=60).json()[
            "items"
        ]
        assert found["id"] == posted["id"]
    both = bookprint("reindex", "--digests", "--drop", OLD, **servers)
    assert both.returncode == 2
    assert "--digests" in both.stderr


@pytest.mark.slow
def test_a_change_killed_at_any_moment_is_finished_by_running_it_again(own_service: Serve) -> None:
    posted, over = {}, threading.Event()
    data_dir = ("--data-dir", own_service.data_dir)
    early = {"text": prose(1)}

    def post(client: httpx.Client) -> None:
        for seed in count():
            if over.wait(0.05):  # short on purpose: a pause
                return
            text = " ".join(f"{name} {name} {name}" for name in Random(seed).sample(range(10**9), 400))
            answer = client.post("/v1/books", json={"text": text})
            assert answer.status_code == 201, answer.text
            posted[answer.json()["id"]] = text

    with httpx.Client(base_url=own_service.url, timeout=60) as client:
        before = client.post("/v1/books", json=early).json()
        posted[before["id"]] = early["text"]
        with ThreadPoolExecutor(1) as pool:
            posting = pool.submit(post, client)
            try:
                for seconds in (0.8, 1.4, 2.0):
                    command = [*BOOKPRINT, "reindex", "--recipe", NEW, *map(str, data_dir)]
                    process = subprocess.Popen(
                        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                    )
                    time.sleep(seconds)
                    process.kill()
                    process.wait()
                done = bookprint("reindex", "--recipe", NEW, *data_dir)
                assert "serves" in done.stdout + done.stderr
            finally:
                over.set()
            posting.result()
        for book_id, text in posted.items():
            assert client.get(f"/v1/books/{book_id}").json()["fingerprint"]["recipe"] == NEW
            lookup = client.post("/v1/lookups?d=0", json={"text": text}).json()
            assert book_id in {item["id"] for item in lookup["items"]}
        old = client.post("/v1/lookups?d=0", json={"identifier": before["identifier"]}).json()
        assert old["type"] == "urn:bookprint:problem:recipe-not-indexed"
        file = own_service.data_dir.parent / "book.txt"
        file.write_text(early["text"], encoding="utf-8")
        signatures = json.loads(bookprint("sign", file, "--recipe", NEW).stdout)
        same = client.post("/v1/lookups?d=0", json={"signatures": signatures}).json()
        assert same["items"][0]["id"] == before["id"]
    verdict = bookprint("verify", *data_dir)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    again = bookprint("reindex", "--recipe", NEW, *data_dir)
    assert (again.returncode, "serves already" in again.stderr) == (1, True)
    dropped = bookprint("reindex", "--drop", OLD, *data_dir)
    assert (dropped.returncode, dropped.stdout) == (0, f"{OLD} is not indexed\n"), dropped.stderr
    back = bookprint("reindex", "--recipe", OLD, *data_dir)
    assert re.fullmatch(rf"{OLD} serves: {len(posted):,} books; [\d,]+ signatures computed\n", back.stdout)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    for options in (("--recipe", NEW, "--drop", OLD), ("--allow-missing",)):
        done = bookprint("reindex", *options, "--data-dir", tmp_path)
        assert done.returncode == 2
        assert "--recipe" in done.stderr
