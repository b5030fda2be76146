"""Each operation of the OpenAPI document, without a key, with keys that open nothing, and with each scope."""

import re
from collections.abc import AsyncIterator, Iterator
from inspect import iscoroutinefunction
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from httpx import AsyncClient, Response

from app.api.http.routes import SubjectRouter, require_scopes
from app.stores.postgres.keys import SCOPES, Caller, Scope
from tests.api.access.key_holders import Holders, holders
from tests.api.conftest import asking
from tests.api.example_requests import Json, Operation, document, naming, operations

OPEN = {("GET", "/health/live"), ("GET", "/health/started"), ("GET", "/health/ready")}


def guarded() -> dict[Operation, Json]:
    """The operations that ask for a key."""
    return {key: operation for key, operation in operations("keys").items() if key not in OPEN}


@pytest.fixture(scope="module")
async def keys(module_database_url: str, module_redis_url: str) -> AsyncIterator[Holders]:
    async with holders(module_database_url, module_redis_url) as held:
        yield held


@pytest.fixture(scope="module")
async def client(keys: Holders) -> AsyncIterator[AsyncClient]:
    async with asking(keys.app) as client:
        yield client


async def _ask(client: AsyncClient, operation: Operation, headers: dict[str, str], **more: Any) -> Response:
    method, path = operation
    return await client.request(method, re.sub(r"\{\w+\}", "0", path), headers=headers, **more)


def _bearer(key: str | None) -> dict[str, str]:
    # As bytes latin-1 comes through as it is.
    return {} if key is None else {"Authorization": f"Bearer {key}".encode("latin-1")}


async def test_every_operation_names_its_scope_and_its_refusals() -> None:
    for operation in guarded().values():
        scope = operation["x-scope"]
        assert scope in SCOPES
        assert operation["security"] == [{"bearer": [scope]}, {"header": [scope]}]
        assert {"401", "403", "429"} <= operation["responses"].keys()
        assert operation["responses"]["429"]["headers"].keys() == {"Retry-After"}
    assert {key for key, operation in operations("keys").items() if "x-scope" not in operation} == OPEN
    assert set(document("keys")["components"]["securitySchemes"]) == {"bearer", "header"}


async def test_without_a_valid_key_every_operation_answers_the_same_401(
    keys: Holders, client: AsyncClient
) -> None:
    contents = set()
    for operation in guarded():
        answers = [await _ask(client, operation, _bearer(key)) for key in keys.invalid.values()]
        answers.append(await _ask(client, operation, {"X-API-Key": f"bp_{'B' * 43}"}))
        answers.append(await _ask(client, operation, {"Authorization": f"Basic {keys.valid['admin']}"}))
        # Faults beside the key are not looked at.
        answers.append(await _ask(client, operation, {"Content-Encoding": "gzip"}, content=b'{"text": "'))
        answers.append(await _ask(client, operation, {}, files={"file": ("a.txt", b"text")}))

        with naming(operation):
            assert {answer.status_code for answer in answers} == {401}
            assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
            assert {answer.headers["Content-Type"] for answer in answers} == {"application/problem+json"}
            contents |= {answer.content for answer in answers}
            assert len(contents) == 1
            assert answers[0].json()["type"] == "urn:bookprint:problem:no-valid-key"


async def test_every_operation_refuses_lesser_scopes_and_takes_the_others(
    keys: Holders, client: AsyncClient
) -> None:
    for operation, described in guarded().items():
        needed: Scope = described["x-scope"]
        for scope, key in keys.valid.items():
            answer = await _ask(client, operation, {"X-API-Key": key})
            with naming(f"{operation} with a key for {scope}"):
                assert answer.headers["Cache-Control"] == "private, no-store"
                if Caller(None, "", (scope,)).may(needed):
                    assert answer.status_code not in {401, 403}
                else:
                    problem = answer.json()
                    assert (answer.status_code, problem["scope"]) == (403, needed)
                    assert f'scope="{needed}"' in answer.headers["WWW-Authenticate"]
                    assert needed in problem["detail"]


async def test_only_the_description_and_health_are_open(keys: Holders, client: AsyncClient) -> None:
    for path in ("/docs", "/openapi.json", "/health/live", "/health/started", "/health/ready"):
        answer = await client.get(path)
        assert answer.status_code in {200, 503}
        assert "Cache-Control" not in answer.headers


async def test_readiness_shows_its_parts_to_a_key_alone(keys: Holders, client: AsyncClient) -> None:
    closed = (await client.get("/health/ready")).json()
    shown = (await client.get("/health/ready", headers=_bearer(keys.valid["read"]))).json()

    assert closed.get("parts", {}) == {}
    assert set(shown["parts"]) >= {"postgres", "redis", "jobs"}
    assert (await client.get("/health/ready", headers=_bearer("bp_no"))).status_code == 401


async def test_no_endpoint_and_no_dependency_is_run_in_a_thread(keys: Holders) -> None:
    def calls(dependant: Dependant) -> Iterator[Any]:
        yield dependant.call
        for part in dependant.dependencies:
            yield from calls(part)

    called = [
        call for route in keys.app.routes if isinstance(route, APIRoute) for call in calls(route.dependant)
    ]
    assert len(called) > 100
    assert [call for call in called if not iscoroutinefunction(call)] == []


async def _endpoint() -> None: ...


async def test_a_route_without_a_scope_does_not_start() -> None:
    from fastapi import APIRouter

    plain, scoped = APIRouter(), SubjectRouter("/v1", tag="books")
    plain.get("/v1/new")(_endpoint)
    scoped.get("/new", scope="read")(_endpoint)

    require_scopes(scoped.routes)
    with pytest.raises(RuntimeError, match="GET /v1/new names no scope"):
        require_scopes(plain.routes)
    with pytest.raises(RuntimeError, match="/v1/new names an unknown scope"):
        scoped.get("/new", scope="reed")(_endpoint)
    with pytest.raises(TypeError, match="scope"):
        scoped.get("/new")(_endpoint)
