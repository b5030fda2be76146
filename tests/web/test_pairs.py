"""The page of two stored books and the queue: what they show, and that deciding there is deciding."""

import re
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response
from lxml import html

from app.services.access.audit import Actor
from app.services.pairs.decisions import NewDecision
from app.stores.postgres.pairs import reviews
from app.wiring import Services
from tests.api.conftest import asking
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.factories import pages_of
from tests.paged_books import run_jobs
from tests.web.conftest import OF_BROWSERS, shown

PAGES = pages_of(prose(51, 6000))
HOSTILE = "<script>alert(1)</script>\" onload='x' \u202eevil " + "x" * 9_900
NOBODY = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"
OTHER = Actor("key", "other", None)


@pytest.fixture
async def books(browser: AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A book, one with its last third bound first and a hostile title, and its copy by another author."""
    moved = [scanned(page, place, 0.03) for place, page in enumerate([*PAGES[14:], *PAGES[:14]])]
    given: list[Json] = [
        {"pages": PAGES, "title": "The Salt Road", "authors": ["Jane Moor"], "year": 1898},
        {"pages": moved, "title": HOSTILE, "authors": [HOSTILE[:900]], "language": "en"},
        {"pages": [scanned(page, 7, 0.01) for page in PAGES], "title": "Ferry", "authors": ["A. Ames"]},
    ]
    monkeypatch.setattr(reviews, "LEAST_REVIEWED", 0.0)
    posted = [(await post(browser, **each))["id"] for each in given]
    await run_jobs(services)
    return posted


async def send(browser: AsyncClient, document: html.HtmlElement, answer: str, **more: str) -> Response:
    """Press the button of this answer in the first form that has it."""
    [button, *_] = document.xpath(f"//button[@value='{answer}']")
    form = next(button.iterancestors("form"))
    data = {each.get("name"): each.get("value", "") for each in form.iter("input") if each.get("name")}
    return await browser.post(form.get("action"), data=data | more | {"answer": answer})


async def api(browser: AsyncClient, path: str) -> Json:
    answer: Json = (await browser.get(f"/v1{path}", headers={"Accept": "application/json"})).json()
    return answer


async def history(browser: AsyncClient) -> list[tuple[str, str, str | None]]:
    items = (await api(browser, "/decisions"))["items"]
    return [(item["verdict"], item["outcome"], item["note"]) for item in items]


async def test_a_pair_is_shown_with_its_reason_its_plot_and_its_words(
    browser: AsyncClient, books: list[str]
) -> None:
    first, moved, _ = books
    path = f"/pairs/{first}/{moved}"
    document = await shown(browser, path)
    relation = await api(browser, f"/books/{first}/relations/{moved}")
    assert document.findtext(".//p[@class='because']") == relation["because"]
    assert document.findtext(".//h1/bdi[2]").startswith("<script>alert(1)</script>\" onload='x' \u202eevil")
    runs = document.xpath("(//table[caption])[1]/tbody/tr")
    assert [row.xpath("string(td[last()])") for row in runs] == ["in order", "moved"]
    assert len(document.xpath("//article")) == 1
    words = document.xpath("//article//div[@class='text']")[0].text_content()
    assert words in "".join(each + " " for each in PAGES)

    document = await shown(browser, path, run=2, page=17)
    assert document.findtext(".//article/h3").startswith("Page 17 and 3")
    assert document.xpath("string(//tr[@class='chosen']/th)") == "Run 2"
    links = [parse_qs(urlsplit(link).query) for link in document.xpath("//form//a[@data-key]/@href")]
    assert links == [{"page": ["16"]}, {"page": ["18"]}, {"run": ["1"]}]

    for kind in ("csv", "jsonld", "svg"):
        file = await browser.get(f"{path}.{kind}")
        assert file.status_code == 200
        assert "attachment" in file.headers["content-disposition"]
        if kind == "csv":
            same = await browser.get(f"/v1/books/{first}/relations/{moved}", headers={"Accept": "text/csv"})
            assert file.text == same.text
        if kind == "svg":
            assert "var(" not in file.text
            html.fromstring(file.content)
    for wrong in (f"/pairs/{first}/{NOBODY}", f"/pairs/{first}/{first}", f"/pairs/{first}/x"):
        assert (await browser.get(wrong)).status_code == 404


async def test_the_queue_goes_on_and_undo_reaches_back(browser: AsyncClient, books: list[str]) -> None:
    document = await shown(browser, "/review")
    assert "3 pairs to review" in document.text_content()
    titles = [document.xpath("string(//h2)"), *document.xpath("//section[@aria-labelledby='next']//li/a")]
    assert len(titles) == 3
    for number, answer in enumerate(("confirmed", "unsure"), 1):
        moved_on = await send(browser, document, answer, note=f"{number}")
        assert moved_on.status_code == 303
        document = await shown(browser, moved_on.headers["location"])
        assert document.xpath("//div[@role='status']")
        assert len(document.xpath("//section[@aria-labelledby='own']//li")) == number
    assert await history(browser) == [("unsure", "unsure", "2"), ("confirmed", "counts", "1")]
    assert "2 pairs to review" in document.text_content()
    [skip] = document.xpath("//a[@data-key='s']/@href")
    end = await shown(browser, f"/review{skip}")
    assert "That was the last pair" in end.text_content()
    again = await shown(browser, "/review")
    assert again.xpath("string(//h2)") == document.xpath("string(//h2)")

    for left in (1, 0):
        assert end.xpath("//button[@data-key='u']/@value") == ["undone"]
        back = await send(browser, end, "undone")
        end = await shown(browser, back.headers["location"])
        assert len(end.xpath("//section[@aria-labelledby='own']//li")) == left
    assert end.xpath("string(//h2)") == titles[0]
    [skip] = end.xpath("//a[@data-key='s']/@href")  # goes on with what was undone before
    heading, title = (await shown(browser, f"/review{skip}")).xpath("string(//h2)"), titles[1].text_content()
    assert (heading[:30], heading[-10:]) == (title[:30], title[-10:])  # the list shortens longer names
    assert "3 pairs to review" in (await shown(browser, "/review")).text_content()
    assert (
        "No pair matches" in (await shown(browser, "/review", language="fr", year="", kind="")).text_content()
    )
    for wrong in ({"after": "x"}, {"kind": "x"}, {"year": "x"}):
        assert (await browser.get("/review", params=wrong)).status_code == 422


async def test_the_machine_says_nothing_before_a_blind_person(browser: AsyncClient, books: list[str]) -> None:
    document = await shown(browser, "/review", blind="1")
    assert not document.xpath("//p[@class='because'] | //button[@value='confirmed'] | //*[@class='badge']")
    assert "%" not in document.xpath("string(//main)")
    moved_on = await send(browser, document, "SAME_PAGINATION")
    document = await shown(browser, moved_on.headers["location"])
    assert "The computed result" in document.xpath("string(//div[@role='status'])")
    assert not document.xpath("//p[@class='because']")


async def test_what_another_has_decided_is_told_and_stays(
    browser: AsyncClient, books: list[str], services: Services
) -> None:
    document = await shown(browser, "/review")
    [action] = {each.get("action") for each in document.xpath("//form[@class='decide']")}
    left, right = map(UUID, re.findall(r"[0-9a-f-]{36}", action))
    await services.decisions.decide([NewDecision(left, right, "rejected")], actor=OTHER)
    answer = await send(browser, document, "confirmed")
    assert answer.headers["location"] == f"/pairs/{left}/{right}?meanwhile=1"
    assert await history(browser) == [("rejected", "counts", None)]


async def test_who_may_only_read_sees_no_button_and_cannot_decide(
    application: FastAPI, books: list[str], services: Services
) -> None:
    key = await services.keys.create("reader", ["read"], actor=OTHER)
    application.state.asks_for_keys = True
    async with asking(application) as reader:
        reader.headers.update(OF_BROWSERS)
        await reader.post("/sign-in", data={"key": key.text})
        for path in (f"/pairs/{books[0]}/{books[1]}", "/review"):
            document = await shown(reader, path)
            assert not document.xpath("//button[@name='answer']")
        answer = await reader.post(f"/pairs/{books[0]}/{books[1]}/decision", data={"answer": "rejected"})
        assert answer.status_code == 403
