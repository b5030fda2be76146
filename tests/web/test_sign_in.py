"""Signing in to the pages: by a key, with its scopes, until it ends; and no form of another site."""

import asyncio

import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from app.services.access.keys import Scope
from app.settings import Settings
from app.stores.postgres.keys import MOST_OF_A_KEY, KeyLimits
from tests.api.conftest import asking, started
from tests.factories import ACTOR
from tests.open_services import OpenServices
from tests.web.conftest import OF_BROWSERS


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url, auth="keys", attempts_per_minute=20)


async def made_key(services: OpenServices, *scopes: Scope) -> str:
    return (await services.keys.create("Ada", list(scopes) or ["read"], actor=ACTOR)).text


async def signed_in(browser: AsyncClient, key: str) -> None:
    answer = await browser.post("/sign-in", data={"key": key, "to": "/books?q=moby"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/books?q=moby")


async def test_a_page_leads_to_the_form_and_back(browser: AsyncClient, services: OpenServices) -> None:
    away = await browser.get("/?x=1")
    assert (away.status_code, away.headers["location"]) == (303, "/sign-in?to=%2F%3Fx%3D1")
    form = await browser.get(away.headers["location"])
    assert 'value="/?x=1"' in form.text
    await signed_in(browser, await made_key(services))
    page = await browser.get("/")
    assert page.status_code == 200
    assert "Ada" in page.text
    assert page.headers["cache-control"] == "private, no-store"
    assert "unsafe" not in page.headers["content-security-policy"]


async def test_the_cookie_is_for_this_host_alone_over_tls(
    application: FastAPI, services: OpenServices
) -> None:
    key = await made_key(services)
    for base, start, secure in (
        ("https://books.example", "__Host-bookprint=", True),
        ("http://localhost", "bookprint=", False),
    ):
        async with asking(application) as client:
            client.base_url = base  # type: ignore[assignment]
            client.headers.update(OF_BROWSERS | {"Origin": base})
            cookie = (await client.post("/sign-in", data={"key": key})).headers["set-cookie"]
        assert cookie.startswith(start)
        told = {part.strip() for part in cookie.split(";")}
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= told
        assert ("Secure" in told) == secure


async def test_a_wrong_key_is_refused_and_leads_nowhere(browser: AsyncClient) -> None:
    answer = await browser.post("/sign-in", data={"key": "bp_wrong"})
    assert answer.status_code == 403
    assert "not valid" in answer.text
    assert "set-cookie" not in answer.headers


async def test_many_wrong_keys_are_stopped(browser: AsyncClient) -> None:
    statuses = [(await browser.post("/sign-in", data={"key": f"bp_{n}"})).status_code for n in range(30)]
    assert statuses[-1] == 429


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "x", "/a\nb"])
async def test_nobody_is_led_to_another_site(browser: AsyncClient, services: OpenServices, to: str) -> None:
    answer = await browser.post("/sign-in", data={"key": await made_key(services), "to": to})
    assert answer.headers["location"] == "/"


async def test_a_revoked_key_ends_its_sessions(browser: AsyncClient, services: OpenServices) -> None:
    await signed_in(browser, await made_key(services))
    [key] = await services.keys.list_keys()
    await services.keys.revoke(key.id, actor=ACTOR)
    await asyncio.sleep(1.1)
    assert (await browser.get("/")).status_code == 303
    assert await services.sessions.list_open() == []


async def test_a_key_is_no_session_and_a_session_no_key(browser: AsyncClient, services: OpenServices) -> None:
    key = await made_key(services)
    assert (await browser.get("/", headers={"Authorization": f"Bearer {key}"})).status_code == 303
    await signed_in(browser, key)
    assert (await browser.get("/v1/books")).status_code == 401


@pytest.mark.parametrize(
    "sent",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://other.localhost"},
        {"Origin": "https://evil.example"},
        {},
    ],
)
async def test_a_form_of_another_site_changes_nothing(
    browser: AsyncClient, services: OpenServices, sent: dict[str, str]
) -> None:
    await signed_in(browser, await made_key(services))
    for name in ("Origin", "Sec-Fetch-Site"):
        del browser.headers[name]
    answer = await browser.post("/sign-out", headers=sent)
    assert answer.status_code == 403
    assert ">A form from another site</h1>" in answer.text
    assert len(await services.sessions.list_open()) == 1


async def test_signing_in_is_a_request_of_the_key_and_ends_the_oldest_of_many_sessions(
    browser: AsyncClient, services: OpenServices
) -> None:
    key = (
        await services.keys.create(
            "Ada", ["read"], None, limits=KeyLimits(requests_per_minute=25), actor=ACTOR
        )
    ).text
    answers = [await browser.post("/sign-in", data={"key": key}) for _ in range(26)]
    assert [answer.status_code for answer in answers] == [303] * 25 + [429]
    assert len(await services.sessions.list_open()) == MOST_OF_A_KEY
    first, last = (answers[place].cookies["bookprint"] for place in (0, 24))
    assert await services.sessions.find(first) is None
    assert await services.sessions.find(last) is not None


async def test_where_no_key_is_asked_for_nobody_signs_in(database_url: str, redis_url: str) -> None:
    settings = Settings(database_url=database_url, redis_url=redis_url)
    async with started(settings) as app, asking(app) as browser:
        browser.headers.update(OF_BROWSERS)
        page = await browser.get("/")
        assert page.status_code == 200
        assert "Sign out" not in page.text
        assert (await browser.get("/sign-in")).headers["location"] == "/"
