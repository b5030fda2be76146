"""`bookprint serve --processes 2`: what all processes know together, and what no request notices."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from uuid import uuid4

import httpx
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.library import prose
from tests.cli.command_line import Serve, serving
from tests.embedded.programs import is_named
from tests.waiting import eventually

pytestmark = pytest.mark.slow

PAUSE = 0.02  # seconds between two requests of a client


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with serving(tmp_path_factory.mktemp("pair") / "data", "--processes", "2") as service:
        yield service


def apis(service: Serve) -> list[psutil.Process]:
    return [process for process in service.family() if is_named(process, "api 1", "api 2")]


def counted(service: Serve, name: str) -> float:
    families = text_string_to_metric_families(httpx.get(f"{service.url}/metrics", timeout=60).text)
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


class Load:
    """Clients that look a book up and post others, each on a connection that is kept."""

    def __init__(self, url: str, looked_up: str) -> None:
        self._url, self._looked_up = url, looked_up
        self._over = threading.Event()
        self.answers = 0
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        clients = [self._look_up, self._look_up, self._post]
        self._threads = [threading.Thread(target=client, args=(n,)) for n, client in enumerate(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _look_up(self, _: int) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            while not self._over.wait(PAUSE):
                self._note(lambda: client.get(self._looked_up), 200)

    def _post(self, number: int) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as client:
            for count in range(10**6):
                if self._over.wait(PAUSE):
                    break
                body = {"text": f"{number} {count} {uuid4()} {prose(2)}"}
                if answer := self._note(lambda body=body: client.post("/v1/books", json=body), 201):  # type: ignore[misc]
                    self.acknowledged.append(answer.json()["links"]["self"])

    def _note(self, ask: Callable[[], httpx.Response], expected: int) -> httpx.Response | None:
        try:
            answer = ask()
        except httpx.TransportError as error:
            self.failures.append(repr(error))
            return None
        if answer.status_code != expected:
            self.failures.append(answer.text)
            return None
        self.answers += 1
        return answer


def posted(service: Serve, text: str) -> dict[str, dict[str, str]]:
    answer = httpx.post(f"{service.url}/v1/books", json={"text": text}, timeout=60)
    assert answer.status_code in (200, 201)
    return dict(answer.json())


def test_the_metrics_are_those_of_the_whole_service(pair: Serve) -> None:
    before = counted(pair, "bookprint_lookups_total")
    for _ in range(20):
        httpx.post(f"{pair.url}/v1/lookups?d=7", json={"text": prose(1)}, timeout=60).raise_for_status()
    assert {counted(pair, "bookprint_lookups_total") for _ in range(6)} == {before + 20}


def test_they_are_replaced_and_no_request_fails(pair: Serve) -> None:
    book = posted(pair, prose(1))
    counts = counted(pair, "bookprint_books_posted_total")
    with Load(pair.url, book["links"]["near_duplicates"]) as load:
        assert eventually(lambda: load.answers > 20)
        old = {each.pid for each in apis(pair)}
        pair.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: len(new := {each.pid for each in apis(pair)}) == 2 and not new & old)
        answered = load.answers
        assert eventually(lambda: load.answers > answered + 20)
    assert load.failures == []
    with httpx.Client(base_url=pair.url, timeout=60) as client:
        assert {client.get(book).status_code for book in load.acknowledged} == {200}
    # What those counted that are gone is still told.
    assert counted(pair, "bookprint_books_posted_total") == counts + len(load.acknowledged)


def test_of_a_killed_one_only_what_it_was_at_work_on_is_lost(pair: Serve) -> None:
    book = posted(pair, prose(1))
    with Load(pair.url, book["links"]["near_duplicates"]) as load:
        assert eventually(lambda: load.answers > 20)
        killed = apis(pair)[0].pid
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: len(pids := {each.pid for each in apis(pair)}) == 2 and killed not in pids)
        answered = load.answers
        assert eventually(lambda: load.answers > answered + 20)
    assert len(load.failures) <= 3  # one for each client
    assert all(
        re.search("disconnected|reset|closed|ReadError|RemoteProtocol", each) for each in load.failures
    )
    with httpx.Client(base_url=pair.url, timeout=60) as client:
        assert {client.get(book).status_code for book in load.acknowledged} == {200}


def test_workers_of_serve_give_way_to_the_api(pair: Serve) -> None:
    def give_way() -> bool:
        workers = [process for process in pair.family() if is_named(process, "worker 1")]
        with suppress(psutil.NoSuchProcess):  # a connection's, that has the name for a moment
            return {process.nice() for process in workers} == {psutil.Process().nice() + 5}
        return False

    assert eventually(give_way)
    delivery = [
        process for process in pair.family() if is_named(process, "delivery")
    ]  # which mends the index
    for urgent in (*apis(pair), *delivery):
        assert urgent.nice() == psutil.Process().nice()
    assert delivery
