"""Both clients against a running service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookprint_client import AsyncClient, Client, NoService, Refused, calls
from tests.api.library import prose, scanned
from tests.api.service_process import Server
from tests.prescribed_server import BUSY, Answer, Prescribed


def test_a_library_is_posted_searched_changed_and_deleted(service: Server, tmp_path: Path) -> None:
    text = prose(61)
    file = tmp_path / "emma.txt"
    file.write_text(scanned(text, 2))
    with Client(service.url) as client:
        book = client.send(calls.post_book({"text": text, "title": "Emma"}))
        copy = client.send(calls.post_file(file, {"title": "Emma, scanned"}))
        assert (copy["created"], copy["format"], copy["title"]) == (True, "txt", "Emma, scanned")
        assert client.send(calls.post_file(file))["created"] is False
        [near] = client.items(calls.near_duplicates(book["id"]))
        assert near["id"] == copy["id"]
        assert {each["id"] for each in client.items(calls.look_up_file(file, k=5, limit=1))} == {
            book["id"],
            copy["id"],
        }
        changed = client.send(calls.change_metadata(book["id"], {"year": 1815}, if_version=1))
        assert (changed["year"], changed["version"]) == (1815, 2)
        with pytest.raises(Refused) as refused:
            client.send(calls.change_metadata(book["id"], {"year": 1816}, if_version=1))
        assert refused.value.http_status == 412
        assert client.send(calls.list_relations(book["id"]))["items"] == []
        assert client.send(calls.cluster_of_book(book["id"]))["size"] == 1
        decided = client.send(calls.decide(book["id"], copy["id"], {"kind": "SAME_TEXT"}))
        assert (decided["kind"], decided["confidence"]) == ("SAME_TEXT", 1)
        [member] = [
            each for each in client.items(calls.cluster_of_book(book["id"])) if each["book_id"] != book["id"]
        ]
        assert member["book_id"] == copy["id"]
        cluster_id = client.send(calls.cluster_of_book(book["id"]))["id"]
        windows = [
            page["text"] for page in client.items(calls.read_master_copy(cluster_id, first=1, limit=5))
        ]
        assert len(windows) > 5
        assert text.endswith("".join(windows)) or scanned(text, 2).endswith("".join(windows))
        client.send(calls.withdraw_decision(book["id"], copy["id"]))
        for each in (book, copy):
            client.send(calls.delete_book(each["id"]))
        done = client.items(calls.list_audit(object_id=book["id"], limit=2))
        assert [(entry["action"], entry["object"]["id"]) for entry in done] == [
            ("book.deleted", book["id"]),
            ("decision.withdrawn", book["id"]),
            ("decision.made", book["id"]),
            ("book.changed", book["id"]),
            ("book.created", book["id"]),
        ]
        assert list(client.items(calls.list_books(title="emma"))) == []
        assert list(client.items(calls.list_books(digest=f"md5-text:{'0' * 32}"))) == []


def test_similar_books_are_asked_for(service: Server) -> None:
    with Client(service.url) as client:
        books = [client.send(calls.post_book({"text": prose(seed), "title": str(seed)})) for seed in range(3)]
        found = client.send(calls.similar_books(books[0]["id"]))
        assert {item["id"] for item in found["items"]} == {books[1]["id"], books[2]["id"]}
        assert client.send(calls.similar_books(books[0]["id"], k=1))["items"] == found["items"][:1]
        copy = client.send(calls.post_book({"text": prose(0), "external_id": "copy"}))
        [item] = client.send(calls.similar_books(books[0]["id"], k=1, copies=True))["items"]
        assert (item["id"], item["similarity"]) == (copy["id"], 1)


def test_books_posted_in_bulk_come_back_page_by_page(service: Server) -> None:
    books = [{"text": f"bulk number {n}", "title": f"Bulk {n}"} for n in range(210)] + [{"title": "none"}]
    with Client(service.url) as client:
        lines = [line for call in calls.post_books(books) for line in client.send(call)]
        assert [line["status"] for line in lines] == [201] * 210 + [422]
        listed = [each["id"] for each in client.items(calls.list_books(title="bulk", limit=100))]
        assert listed == sorted(line["id"] for line in lines[:-1])


async def test_the_client_for_asyncio_does_the_same(service: Server, tmp_path: Path) -> None:
    file = tmp_path / "emma.txt"
    file.write_text(prose(62))
    async with AsyncClient(service.url) as client:
        book = await client.send(calls.post_file(file, {"title": "Asynchronous"}))
        assert book["created"]
        titles = [each["title"] async for each in client.items(calls.list_books(title="asynchronous"))]
        assert titles == ["Asynchronous"]
        with pytest.raises(Refused, match="No book has the id"):
            await client.send(calls.read_book("01890a5d-ac96-774b-bcce-b302099a8057"))


@pytest.fixture
def lost(prescribed: Prescribed) -> Prescribed:
    def hang_up(body: dict[str, object]) -> Answer:
        raise ConnectionError

    prescribed.answer = hang_up
    return prescribed


def test_a_call_that_must_not_be_done_twice_is_not_repeated(lost: Prescribed) -> None:
    once: calls.Call[Any] = calls.Call("POST", "/v1/webhooks", content=b"{}", repeatable=False)
    with Client(lost.url, patience=5) as client, pytest.raises(NoService, match="may have been done"):
        client.send(once)
    assert len(lost.bodies) == 1


def test_a_file_is_sent_whole_on_every_try(prescribed: Prescribed, tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_bytes(b"x" * 100_000)
    prescribed.read = lambda data: {"characters": data.count(b"x" * 1000)}
    answers: Iterator[Answer] = iter([BUSY, (200, {}, {})])
    prescribed.answer = lambda body: next(answers)
    with Client(prescribed.url) as client:
        client.send(calls.post_file(file))
    assert prescribed.bodies == [{"characters": 100}] * 2
