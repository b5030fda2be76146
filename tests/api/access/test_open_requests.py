"""Requests that are open while their key is revoked: from then on they read and write nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import orjson
import pytest
from fastapi import FastAPI

from app.services.access.keys import Keys, ShownKey
from app.stores.postgres.keys import Scope
from bookprint_core.model import Submission
from bookprint_core.text.content import content_from_text
from tests.api.access.key_holders import with_keys
from tests.api.conftest import started
from tests.api.transport.real_server import listening
from tests.factories import ACTOR


@asynccontextmanager
async def client_with(app: FastAPI, scope: Scope) -> AsyncIterator[tuple[httpx.AsyncClient, ShownKey]]:
    key = await app.state.services.keys.create(scope, [scope], actor=ACTOR)
    async with listening(app) as port:
        url, headers = f"http://127.0.0.1:{port}", {"X-API-Key": key.text}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            yield client, key


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data) + 1, data + b"\n")


def line(number: int) -> bytes:
    return orjson.dumps({"text": f"a book of which there is one copy, number {number} " * 20})


async def test_nothing_is_done_with_a_key_that_has_been_revoked_meanwhile(
    module_database_url: str, module_redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.access.keys._TRUSTED_SECONDS", 0.0)  # as if they had passed
    async with started(with_keys(module_database_url, module_redis_url)) as app:
        keys: Keys = app.state.services.keys

        async with client_with(app, "ingest") as (client, key):
            url = client.base_url
            reader, writer = await asyncio.open_connection(url.host, url.port)
            writer.write(
                b"POST /v1/books:bulk HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: application/x-ndjson\r\nX-API-Key: " + key.text.encode() + b"\r\n\r\n"
            )
            async with asyncio.timeout(120):
                writer.write(chunk(line(1)))
                first = await reader.readuntil(b'"status":201')
                assert first.startswith(b"HTTP/1.1 200")
                await keys.revoke(key.key.id, actor=ACTOR)
                writer.write(chunk(line(2)))
                # The answer ends, though more lines might come.
                rest = await reader.readuntil(b"\r\n0\r\n\r\n")
            assert rest.count(b'"status":401') == 2  # of the line, and in its problem
            writer.close()

        async with client_with(app, "ingest") as (client, key):

            async def body() -> AsyncIterator[bytes]:
                yield line(4)[:-1]
                await keys.revoke(key.key.id, actor=ACTOR)
                yield line(4)[-1:]

            answer = await client.post(
                "/v1/books", content=body(), headers={"Content-Type": "application/json"}
            )
            assert answer.status_code == 401

        async with client_with(app, "read") as (client, key):
            after = (await client.get("/v1/changes?after=now")).json()["next_cursor"]
            waiting = asyncio.create_task(client.get(f"/v1/changes?wait=60&after={after}"))
            await asyncio.sleep(0.2)
            await keys.revoke(key.key.id, actor=ACTOR)
            content = content_from_text("a book that ends the waiting " * 20)
            await app.state.services.ingest.post(Submission(content=content), actor=ACTOR)
            assert (await waiting).status_code == 401

        async with client_with(app, "read") as (client, _):
            assert len((await client.get("/v1/books")).json()["items"]) == 2
