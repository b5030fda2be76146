"""Undo on pages: one click restores what was before."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html

from app.settings import Settings
from app.wiring import Services
from tests.api.conftest import asking
from tests.api.library import prose, scanned
from tests.api.posting import Json
from tests.factories import ACTOR, pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs
from tests.web.conftest import OF_BROWSERS, shown
from tests.web.test_pairs import api, send

PAGES = pages_of(prose(61, 3000))

People = Callable[[str], Awaitable[AsyncClient]]


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url, auth="keys")


@pytest.fixture
async def people(application: FastAPI, services: OpenServices) -> AsyncIterator[People]:
    """A browser in which the person of a name has signed in with a key of the own."""
    async with AsyncExitStack() as stack:

        async def person(name: str) -> AsyncClient:
            browser = await stack.enter_async_context(asking(application))
            browser.headers.update(OF_BROWSERS)
            key = (await services.keys.create(name, ["read", "ingest", "decide", "admin"], actor=ACTOR)).text
            assert (await browser.post("/sign-in", data={"key": key})).status_code == 303
            browser.headers["X-API-Key"] = key  # for the API alone
            return browser

        yield person


@pytest.fixture
async def ada(people: People) -> AsyncClient:
    return await people("Ada")


@pytest.fixture
async def books(ada: AsyncClient, services: Services) -> tuple[str, str]:
    """A book and its copy."""
    posted = []
    for place, title in enumerate(("The Salt Road", "Salt Road")):
        body = {"pages": [scanned(page, place, 0.01 * place) for page in PAGES], "title": title}
        posted.append((await ada.post("/v1/books", json=body)).json()["id"])
    await run_jobs(services)
    return posted[0], posted[1]


def pair_of(books: tuple[str, str]) -> str:
    return "/pairs/{}/{}".format(*books)


async def standing(browser: AsyncClient, books: tuple[str, str]) -> tuple[Json, Json]:
    """The relation of the books with its decision, and their cluster, by the API."""
    relation = await api(browser, "/books/{}/relations/{}".format(*books))
    return relation, await api(browser, f"/books/{books[0]}/cluster?by=same_text")


async def answered(browser: AsyncClient, path: str, answer: str, note: str = "") -> html.HtmlElement:
    """Press the button of this answer on a page, and read the page that it leads to."""
    sent = await send(browser, await shown(browser, path), answer, note=note)
    assert sent.status_code == 303, sent.text[:2000]
    assert "meanwhile" not in sent.headers["location"]
    return await shown(browser, sent.headers["location"])


def told(page: html.HtmlElement) -> str:
    """What the page says stands decided."""
    return " ".join(page.xpath("string(//p[@class='notice'][starts-with(., 'Decided:')])").split())


async def test_undo_restores_the_decision_of_another_person(
    ada: AsyncClient, people: People, books: tuple[str, str]
) -> None:
    bert, pair = await people("Bert"), pair_of(books)
    await answered(ada, pair, "rejected", "another text")
    before = await standing(ada, books)
    queue = await api(ada, "/reviews")
    page = await answered(bert, pair, "OVERLAPPING_TEXT")
    assert "Bert" in told(page)
    replaced = await standing(ada, books)
    assert replaced[0]["decision"]["decided_by"] == "Bert"

    page = await answered(bert, pair, "undone")
    assert await standing(ada, books) == before
    assert before[0]["decision"]["decided_by"] == "Ada"
    assert told(page).startswith("Decided: not related, Ada")
    assert "What counted before counts again" in page.text_content()
    assert "another text" in page.xpath("string(//section[@aria-labelledby='history'])")
    assert await api(ada, "/reviews") == queue

    past = (await api(ada, "/decisions"))["items"]
    assert [(each["by"], each["verdict"], each["outcome"]) for each in past] == [
        ("Bert", "undone", "undone"),
        ("Bert", "kind", "withdrawn"),
        ("Ada", "rejected", "counts"),
    ]
    feed = [each for each in (await api(ada, "/changes"))["items"] if each["type"] == "relation.decided"]
    assert [(each["data"]["verdict"], each["data"]["decided_by"]) for each in feed] == [
        ("rejected", "Ada"),
        ("kind", "Bert"),
        ("rejected", "Ada"),
    ]
    entries = [each for each in (await api(ada, "/audit"))["items"] if "decision" in each["action"]]
    assert [(each["action"], each["actor"]["name"]) for each in entries] == [
        ("decision.withdrawn", "Bert"),
        ("decision.made", "Bert"),
        ("decision.made", "Ada"),
    ]

    page = await answered(bert, pair, "undone")  # reaches back through what others decided, too
    assert told(page) == ""
    relation, cluster = await standing(ada, books)
    assert relation["decision"] is None
    assert len(cluster["items"]) == 2


async def test_the_api_undoes_and_withdraws(ada: AsyncClient, books: tuple[str, str]) -> None:
    pair = {"left": books[0], "right": books[1]}
    path = "/v1/books/{}/relations/{}/decision".format(*books)

    async def say(*verdicts: str, **more: str) -> list[Json]:
        items = [pair | {"verdict": verdict} | more for verdict in verdicts]
        answer = await ada.post("/v1/decisions", json={"items": items, "all_or_none": True})
        found: list[Json] = answer.json().get("items", [answer.json()])
        return found

    async def counting() -> str | None:
        decision = (await standing(ada, books))[0]["decision"]
        return decision and str(decision["verdict"])

    await say("confirmed")
    await say("rejected", "rejected", "confirmed")  # in one transaction
    for left in ("rejected", "rejected", "confirmed", None):
        [undone] = await say("undone")
        assert (undone["outcome"], await counting()) == ("undone", left)
    assert (await say("undone"))[0]["type"].endswith("no-decision")

    await say("confirmed")
    await say("rejected")
    late = (await say("undone", instead_of="2027-01-31T18:00:00Z"))[0]
    assert late["type"].endswith("decided-meanwhile")
    assert (await ada.delete(path)).status_code == 204
    assert await counting() is None
