"""The audit log over HTTP: every operation that writes leaves one entry, every other one leaves none."""

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response

from app.settings import Settings
from app.stores.postgres.keys import Scope
from app.wiring import Services
from tests.api.access.key_holders import ADMIN_KEY, Holders, holders
from tests.api.conftest import asking, started
from tests.api.example_requests import Operation, naming, operations
from tests.api.library import prose
from tests.api.posting import Json

ADDRESS = "203.0.113.7"
SEEDS = count(19_000)


def _new_text() -> Json:
    return {"text": prose(next(SEEDS), 60)}


def _sent(operation: Operation, names: Json) -> Json:
    """What makes each operation do what it is there for."""
    lines = {"Content-Type": "application/x-ndjson"}
    bodies: dict[Operation, Json] = {
        ("POST", "/v1/books"): {"json": _new_text()},
        ("POST", "/v1/books:bulk"): {"content": json.dumps(_new_text()), "headers": lines},
        ("PATCH", "/v1/books/{book_id}"): {"json": {"title": "Another"}},
        ("PUT", "/v1/books/{book_id}/content"): {"json": _new_text()},
        ("PUT", "/v1/books/{book_id}/relations/{other_id}/decision"): {"json": {"kind": "SAME_TEXT"}},
        ("POST", "/v1/decisions"): {
            "json": {"items": [{"left": names["book_id"], "right": names["other_id"], "verdict": "rejected"}]}
        },
        ("POST", "/v1/webhooks"): {"json": {"url": "https://93.184.215.14/changes"}},
        ("POST", "/v1/lookups"): {"json": _new_text()},
        ("POST", "/v1/checks"): {"content": json.dumps(_new_text()), "headers": lines},
        ("POST", "/reconcile"): {"data": {"queries": '{"q0": {"query": "Emma"}}'}},
    }
    return bodies.get(operation, {})


LEAVES: dict[Operation, str | None] = {
    ("POST", "/v1/books"): "book.created",
    ("POST", "/v1/books:bulk"): "book.created",
    ("PATCH", "/v1/books/{book_id}"): "book.changed",
    ("PUT", "/v1/books/{book_id}/content"): "book.content_replaced",
    ("DELETE", "/v1/books/{book_id}"): "book.deleted",
    ("PUT", "/v1/books/{book_id}/relations/{other_id}/decision"): "decision.made",
    ("DELETE", "/v1/books/{book_id}/relations/{other_id}/decision"): "decision.withdrawn",
    ("POST", "/v1/webhooks"): "webhook.created",
    ("DELETE", "/v1/webhooks/{webhook_id}"): "webhook.deleted",
    ("POST", "/v1/webhooks/{webhook_id}/rotate"): "webhook.rotated",
    ("POST", "/v1/decisions"): "decision.made",
    ("POST", "/v1/lookups"): None,
    ("POST", "/v1/checks"): None,
    ("POST", "/reconcile"): None,
}
"""The entry of each operation that is no GET."""

WRITES = [operation for operation, action in LEAVES.items() if action]


@pytest.fixture(scope="module")
async def keys(module_database_url: str, module_redis_url: str) -> AsyncIterator[Holders]:
    async with holders(module_database_url, module_redis_url) as held:
        yield held


@pytest.fixture(scope="module")
async def client(keys: Holders) -> AsyncIterator[AsyncClient]:
    transport = ASGITransport(keys.app, client=(ADDRESS, 4711))
    async with AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
        yield client


async def _ask(client: AsyncClient, operation: Operation, key: str | None, names: Json) -> Response:
    method, path = operation
    sent = _sent(operation, names)
    headers = sent.pop("headers", {}) | ({} if key is None else {"X-API-Key": key})
    return await client.request(method, path.format_map(names), headers=headers, **sent)


async def _prepared(client: AsyncClient) -> Json:
    """Two books with a decision on them, and a webhook: the names in paths."""
    headers = {"X-API-Key": ADMIN_KEY}
    [book, other] = [
        (await client.post("/v1/books", json=_new_text(), headers=headers)).json() for _ in range(2)
    ]
    decision = f"/v1/books/{book['id']}/relations/{other['id']}/decision"
    assert (await client.put(decision, json="rejected", headers=headers)).status_code == 200
    hook = {"url": "https://93.184.215.14/"}
    webhook = (await client.post("/v1/webhooks", json=hook, headers=headers)).json()
    return {
        "book_id": book["id"],
        "other_id": other["id"],
        "webhook_id": webhook["id"],
        "cluster_id": book["cluster"]["id"],
        "number": 0,
        "job_id": 1,
        "kind": "entity",
    }


async def _log(client: AsyncClient, **query: Any) -> list[Json]:
    answer = await client.get("/v1/audit", params={"limit": 1000} | query, headers={"X-API-Key": ADMIN_KEY})
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items


async def test_every_operation_is_known_to_write_or_not() -> None:
    assert set(LEAVES) == {operation for operation in operations() if operation[0] != "GET"}


async def test_every_operation_that_writes_leaves_one_entry(keys: Holders, client: AsyncClient) -> None:
    services: Services = keys.app.state.services
    ids = {key.name: str(key.id) for key in await services.keys.list_keys()}
    for operation in WRITES:
        scope: Scope = operations("keys")[operation]["x-scope"]
        names, key_id = await _prepared(client), ids[scope]
        before = await _log(client, key_id=key_id)
        answer = await _ask(client, operation, keys.valid[scope], names)
        with naming(operation):
            assert answer.is_success, answer.text
            [entry, *others] = await _log(client, key_id=key_id)
            assert others == before
            assert entry["action"] == LEAVES[operation]
            assert entry["actor"] == {"kind": "key", "name": scope, "key_id": key_id, "address": ADDRESS}
            kind = entry["action"].partition(".")[0]
            wanted = {
                "book": [names["book_id"], None],
                "decision": [names["book_id"], names["other_id"]],
                "webhook": [names["webhook_id"], None],
            }[kind]
            if entry["action"].endswith(".created"):
                wanted[0] = answer.json()["id"]
            assert entry["object"] == {"kind": kind, "id": wanted[0], "other_id": wanted[1]}


async def test_what_reads_and_what_is_denied_leaves_none(keys: Holders, client: AsyncClient) -> None:
    names = await _prepared(client)
    before = await _log(client)
    for operation in operations():
        with naming(operation):
            if operation in WRITES:
                answers = [await _ask(client, operation, key, names) for key in (None, keys.valid["read"])]
                assert [answer.status_code for answer in answers] == [401, 403]
            else:
                answer = await _ask(client, operation, keys.valid["admin"], names)
                assert answer.status_code not in {401, 403}
                assert answer.status_code < 500 or operation == ("GET", "/health/ready")
            assert await _log(client) == before


async def test_no_secret_is_in_it(keys: Holders, client: AsyncClient) -> None:
    headers = {"X-API-Key": ADMIN_KEY}
    hook = (
        await client.post("/v1/webhooks", json={"url": "https://93.184.215.14/s"}, headers=headers)
    ).json()
    told = json.dumps(await _log(client))

    assert hook["id"] in told
    for secret in (hook["secret"], ADMIN_KEY, *keys.valid.values()):
        assert secret not in told


async def test_where_no_key_is_asked_for_it_was_anyone(
    module_database_url: str, module_redis_url: str
) -> None:
    settings = Settings(DATABASE_URL=module_database_url, REDIS_URL=module_redis_url, BOOKPRINT_AUTH="off")
    async with started(settings) as app, asking(app) as client:
        await client.post("/v1/books", json=_new_text())
        [entry] = (await client.get("/v1/audit?limit=1")).json()["items"]

    assert entry["actor"] == {"kind": "anyone", "name": "anyone", "key_id": None, "address": "127.0.0.1"}
