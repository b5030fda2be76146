"""Undo on pages: one click restores what was before, also where two opinions are asked for."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from uuid import UUID

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html

from app.services.access.audit import Actor
from app.services.pairs.decisions import NewOpinion
from app.settings import Settings
from app.wiring import Services
from tests.api.conftest import asking
from tests.api.library import prose, scanned
from tests.api.posting import Json
from tests.factories import ACTOR
from tests.open_services import OpenServices
from tests.paged_books import pages_of, run_jobs
from tests.web.conftest import OF_BROWSERS
from tests.web.test_pairs import api, read, send

PAGES = pages_of(prose(61, 3000))
ADA = Actor("key", "Ada", UUID(int=1))

People = Callable[[str], Awaitable[AsyncClient]]


@pytest.fixture
def needed() -> int:
    return 1


@pytest.fixture
def settings(database_url: str, redis_url: str, needed: int) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url, auth="keys", opinions=needed)


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
    sent = await send(browser, await read(browser, path), answer, note=note)
    assert sent.status_code == 303, sent.text[:2000]
    assert "meanwhile" not in sent.headers["location"]
    return await read(browser, sent.headers["location"])


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


async def test_undo_in_the_queue_restores_ones_own_earlier_decision(
    ada: AsyncClient, books: tuple[str, str]
) -> None:
    nothing = await standing(ada, books)
    await answered(ada, "/review", "confirmed", "same plates")
    first = await standing(ada, books)
    await answered(ada, pair_of(books), "rejected")
    assert len((await standing(ada, books))[1]["items"]) == 1
    page = await answered(ada, "/review", "undone")
    assert told(page).startswith("Decided: the machine is right (same text, same pages), Ada")
    assert await standing(ada, books) == first
    assert len(page.xpath("//section[@aria-labelledby='own']//li")) == 1
    page = await answered(ada, "/review", "undone")
    assert not page.xpath("//section[@aria-labelledby='own']")
    assert await standing(ada, books) == nothing
    assert len((await api(ada, "/reviews"))["items"]) == 1


async def test_a_restored_decision_is_stale_where_it_was(ada: AsyncClient, books: tuple[str, str]) -> None:
    await answered(ada, pair_of(books), "SAME_TEXT")
    await ada.put(f"/v1/books/{books[0]}/content", json={"pages": [*PAGES, "one more page of words"]})
    await answered(ada, pair_of(books), "rejected")
    assert not (await standing(ada, books))[0]["decision"]["stale"]
    page = await answered(ada, pair_of(books), "undone")
    assert "The text of one book has changed since" in told(page)


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


class TestTwoOpinions:
    """With `BOOKPRINT_OPINIONS=2`."""

    @pytest.fixture
    def needed(self) -> int:
        return 2

    async def test_the_first_waits_unseen_and_the_second_has_it_count(
        self, ada: AsyncClient, people: People, books: tuple[str, str]
    ) -> None:
        bert, pair = await people("Bert"), pair_of(books)
        before = await standing(ada, books)
        page = await answered(ada, pair, "rejected", "seen by Ada")
        assert "It counts once another person says the same" in page.text_content()
        assert page.xpath("//button[@data-key='u']/@value") == ["undone"]
        assert "One pair waits" in (await read(bert, "/review")).text_content()
        assert "Nothing waits" in (await read(ada, "/review")).text_content()
        for path in (pair, "/review", f"/books/{books[0]}"):
            seen = (await read(bert, path)).text_content()
            assert "seen by Ada" not in seen, path
            assert "not related" not in seen, path
        assert await standing(ada, books) == before

        page = await answered(bert, "/review", "rejected")
        assert "It counts." in page.xpath("string(//div[@role='status'])")
        assert (await standing(ada, books))[0]["decision"]["decided_by"] == "Bert"
        assert "seen by Ada" in (await read(bert, pair)).text_content()

        page = await answered(bert, "/review", "undone")  # what Ada said waits again
        assert await standing(ada, books) == before
        assert "seen by Ada" not in (await read(bert, pair)).text_content()
        assert "It counts once another person says the same" in (await read(ada, pair)).text_content()
        await answered(bert, pair, "rejected")
        await answered(ada, "/review", "undone")  # and now what Bert said
        assert await standing(ada, books) == before
        assert "You said: not related" in (await read(bert, pair)).text_content()
        assert "You said" not in (await read(ada, pair)).text_content()

    async def test_who_disagrees_is_told_and_undo_hides_the_first_again(
        self, ada: AsyncClient, people: People, books: tuple[str, str]
    ) -> None:
        bert, carl, pair = await people("Bert"), await people("Carl"), pair_of(books)
        await answered(ada, pair, "rejected", "seen by Ada")
        page = await answered(bert, pair, "confirmed")
        assert "Others say otherwise" in page.text_content()
        assert "seen by Ada" in page.text_content()
        for person in (ada, bert, carl):
            assert "One pair waits" in (await read(person, "/review")).text_content()
        await answered(bert, pair, "undone")
        assert "seen by Ada" not in (await read(carl, pair)).text_content()
        assert "Nothing waits" in (await read(ada, "/review")).text_content()

        await answered(bert, pair, "confirmed")
        await answered(carl, pair, "confirmed")
        assert (await standing(ada, books))[0]["decision"]["verdict"] == "confirmed"
        await answered(carl, pair, "undone")
        assert (await standing(ada, books))[0]["decision"] is None
        outcomes = {each["by"]: each["outcome"] for each in (await api(ada, "/decisions"))["items"][::-1]}
        assert outcomes == {"Ada": "disagrees", "Bert": "disagrees", "Carl": "undone"}

    async def test_a_first_opinion_is_changed_and_undone(
        self, ada: AsyncClient, people: People, books: tuple[str, str]
    ) -> None:
        bert, pair = await people("Bert"), pair_of(books)
        await answered(ada, pair, "unsure")
        await answered(ada, pair, "rejected")
        for said in ("not sure", None):
            page = await answered(ada, pair, "undone")
            found = page.xpath("string(//form[@class='notice']/p)")
            assert (said in found) if said else not found
        assert "One pair waits" in (await read(ada, "/review")).text_content()
        for person in (ada, bert):
            await answered(person, pair, "SAME_TEXT")
        before = await standing(ada, books)
        for answer in ("rejected", "undone"):  # beside the decision that stands
            await answered(ada, pair, answer)
            assert await standing(ada, books) == before

    async def test_blind_people_are_told_afterwards(
        self, ada: AsyncClient, people: People, books: tuple[str, str]
    ) -> None:
        bert = await people("Bert")
        for person, outcome in ((ada, "It counts once another person says the same"), (bert, "It counts.")):
            page = await read(person, "/review?blind=1")
            assert (
                "same text, same pages" not in page.xpath("string(//main//h2[1]/..)").partition("Or they")[0]
            )
            page = await answered(person, "/review?blind=1", "SAME_PAGINATION")
            status = page.xpath("string(//div[@role='status'])")
            assert outcome in status
            assert "The machine says" in status
        page = await answered(bert, "/review?blind=1", "undone")
        assert not page.xpath("//p[@class='because']")
        assert "One pair waits" in page.text_content()

    async def test_what_was_taken_out_of_a_cluster_comes_back(
        self, ada: AsyncClient, people: People, books: tuple[str, str], services: Services
    ) -> None:
        left, right = map(UUID, books)
        await services.decisions.decide([NewOpinion(left, right, "rejected", note="x")], actor=ADA)
        page = await read(ada, f"/clusters/same_text-{left}")
        [action] = {form.get("action") for form in page.xpath("//form[contains(@action, '/apart')]")}
        before = await standing(ada, books)
        out = await ada.post(action, data={"book_id": books[1]})
        assert (await standing(ada, books))[0]["decision"]["verdict"] == "rejected"
        [form] = (await read(ada, out.headers["location"])).xpath("//form[contains(@action, '/back')]")
        await ada.post(form.get("action"), data={"book_id": books[1]})
        assert await standing(ada, books) == before
