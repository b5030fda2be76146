"""The pages of books, clusters, faults and conflicts, each over one small library."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html

from app.services.clusters import ClusterFilter
from app.settings import Settings
from app.wiring import open_stores
from tests.api.conftest import asking, module_application, module_settings, started
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.factories import pages_of
from tests.open_services import OpenServices, with_stores
from tests.paged_books import run_jobs
from tests.web.conftest import OF_BROWSERS, shown
from tests.web.test_sign_in import made_key, signed_in

__all__ = ["module_application", "module_settings"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = pages_of(prose(1, 6000))
ISBN = "isbn:9780141439600"
NUMBER = f"{'x' * 60}-tess-txt"
"""A number that only its end tells from that of another scan."""

HOSTILE = "<script>alert(1)</script>\" onload='x' &amp; {{ 7*7 }} \u202eevil " + "x" * 9_900


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_services(
    module_application: FastAPI, module_settings: Settings
) -> AsyncIterator[OpenServices]:
    async with open_stores(module_settings) as stores:
        yield with_stores(module_application.state.services, stores)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(module_application: FastAPI) -> AsyncIterator[AsyncClient]:
    """What reads pages and sends forms."""
    async with asking(module_application) as client:
        client.headers.update(OF_BROWSERS)
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def library(reader: AsyncClient, module_services: OpenServices) -> dict[str, Json]:
    """Copies of a text, one with pages missing, and books that contradict their records, all related."""
    api = reader
    bad = [scanned(page, place, 0.02) for place, page in enumerate(PAGES)]
    books = {
        "good": await post(
            api,
            pages=PAGES,
            title="Middlemarch, a study",
            authors=["Eliot, George"],
            year=1871,
            language="en",
            identifiers=[ISBN],
            collection="main",
            external_id="shelf-1",
        ),
        "scan": await post(
            api, pages=bad, title="Middlemarch", identifiers=["isbn:9780140430004"], external_id=NUMBER
        ),
        "lacking": await post(
            api, pages=[*bad[:7], *bad[10:]], title=HOSTILE, authors=[HOSTILE[:200]], volume="<b>"
        ),
        "other": await post(
            api,
            pages=pages_of(prose(2, 3000)),
            title="Middlemarch",
            identifiers=[ISBN],
            external_id="shelf-2",
        ),
    }
    await run_jobs(module_services)
    while await module_services.completeness.look():
        pass
    return books


def links(page: html.HtmlElement) -> set[str]:
    return set(page.xpath("//main//a/@href"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "middlemarch STUDY"}, {"good"}),
        ({"q": "0-14-143960-2"}, {"good", "other"}),
        ({"q": "middlemarch", "year": "1871", "language": "en", "collection": "main"}, {"good"}),
        ({"q": "???"}, set()),
    ],
)
async def test_books_are_found(
    reader: AsyncClient, library: dict[str, Json], query: dict[str, str], found: set[str]
) -> None:
    page = await shown(reader, "/books", **query)
    listed = page.xpath("//ul[@class='books'][not(preceding::h2)]//a/@href")
    assert set(listed) == {f"/books/{library[name]['id']}" for name in found}
    assert bool(found) == (not page.xpath("//h2[contains(., 'Try this')]"))


async def test_a_book_shows_what_is_known(reader: AsyncClient, library: dict[str, Json]) -> None:
    good, scan = library["good"], library["scan"]
    page = await shown(reader, f"/books/{good['id']}")
    assert f"/pairs/{good['id']}/{scan['id']}" in links(page)
    assert len(page.xpath("//table[@class='near']/tbody/tr")) == 2
    assert len(page.xpath("//table[@class='near']//meter")) == 8
    codes = page.xpath("//dd/code/text()")
    for name in ("id", "identifier", "long_identifier", "composite", "external_id"):
        assert good[name] in codes
    assert f"/clusters/same_text-{good['id']}" in links(page)
    assert "Added" in page.xpath("string(//ol[@class='history'])")


async def test_what_a_scan_lacks_is_told(reader: AsyncClient, library: dict[str, Json]) -> None:
    lacking = library["lacking"]["id"]
    for path in (f"/books/{lacking}/completeness", "/completeness"):
        page = await shown(reader, path)
        row = page.xpath("//table/tbody/tr")[0]
        assert "missing" in row.text_content()
        assert "after page 7 here" in [cell.text_content() for cell in row.xpath("td")]
        assert any(href.startswith(f"/pairs/{lacking}/") for href in row.xpath(".//a/@href"))
    alone = await shown(reader, f"/books/{library['other']['id']}/completeness")
    assert "cannot be checked" in alone.text_content()
    assert not (await shown(reader, "/completeness", collection="main")).xpath("//table")
    told = (await shown(reader, "/completeness")).xpath("string(//main//p[@role='status'])")
    assert told.startswith("3 books were compared with other scans. 1 book was skipped, ")


async def test_conflicts_lead_to_their_pair(reader: AsyncClient, library: dict[str, Json]) -> None:
    by_isbn = await shown(reader, "/conflicts")
    assert f"/pairs/{library['good']['id']}/{library['other']['id']}" in links(by_isbn)
    by_text = await shown(reader, "/conflicts", by="text")
    assert f"/pairs/{library['good']['id']}/{library['scan']['id']}" in links(by_text)
    assert "open" in by_text.text_content()


async def test_a_cluster_shows_how_its_books_are_related(
    reader: AsyncClient, library: dict[str, Json]
) -> None:
    ids = [library[name]["id"] for name in ("good", "scan", "lacking")]
    listed = await shown(reader, "/clusters", min_size="3")
    assert f"/clusters/same_text-{ids[0]}" in links(listed)
    page = await shown(reader, f"/clusters/same_text-{ids[0]}")
    cells = page.xpath("//table[@class='matrix']/tbody//td[a]")
    assert len(cells) == 6
    assert {cell.get("class") for cell in cells} == {"SAME_PAGINATION"}
    assert {f"/pairs/{ids[0]}/{ids[2]}", f"/pairs/{ids[2]}/{ids[0]}"} <= links(page)
    text = await shown(reader, f"/clusters/same_text-{ids[0]}/text", first="2")
    assert len(text.xpath("//article")) == 5
    assert "3 copies vote" in text.text_content()
    moved = await reader.get(f"/clusters/same_text-{ids[1]}")
    assert (moved.status_code, moved.headers["location"]) == (303, f"/clusters/same_text-{ids[0]}")


async def test_a_book_is_taken_out_and_put_back(reader: AsyncClient, library: dict[str, Json]) -> None:
    good, scan, lacking = (library[name]["id"] for name in ("good", "scan", "lacking"))
    before = await cluster_of(reader, good)
    await reader.put(f"/v1/books/{good}/relations/{lacking}/decision", json={"verdict": "confirmed"})
    out = await reader.post(f"/clusters/same_text-{good}/apart", data={"book_id": good})
    assert out.status_code == 303
    assert await cluster_of(reader, good) == [good]
    assert await cluster_of(reader, scan) == [scan, lacking]
    page = await shown(reader, out.headers["location"])
    [form] = page.xpath("//form[contains(@action, '/back')]")
    assert "2 relations were rejected" in page.text_content()
    assert "Does not belong in the cluster" in (await reader.get(f"/books/{good}")).text
    back = await reader.post(form.get("action"), data={"book_id": good})
    assert back.status_code == 303
    assert await cluster_of(reader, good) == before
    assert [await decided_on(reader, good, other) for other in (lacking, scan)] == ["confirmed", None]
    again = await reader.post(form.get("action"), data={"book_id": good})
    assert again.status_code == 422
    decided = await shown(reader, f"/clusters/same_text-{good}")
    assert decided.xpath("//td[contains(., '✓')]")


async def decided_on(reader: AsyncClient, book_id: str, other_id: str) -> str | None:
    path = f"/v1/books/{book_id}/relations/{other_id}"
    decision = (await reader.get(path, headers={"Accept": "application/json"})).json()["decision"]
    return decision and str(decision["verdict"])


async def cluster_of(reader: AsyncClient, book_id: str) -> list[str]:
    items = (await reader.get(f"/v1/books/{book_id}/cluster")).json()["items"]
    return [item["book_id"] for item in items]


async def test_titles_are_shown_as_text(reader: AsyncClient, library: dict[str, Json]) -> None:
    lacking, good = library["lacking"]["id"], library["good"]["id"]
    for path in (
        *(f"/books/{lacking}", f"/books/{good}", f"/books/{lacking}/completeness", "/completeness"),
        *("/books", "/clusters", f"/clusters/same_text-{good}", "/conflicts?by=text"),
    ):
        await shown(reader, path)


async def test_readers_take_nothing_out(module_database_url: str, module_redis_url: str) -> None:
    settings = Settings(database_url=module_database_url, redis_url=module_redis_url, auth="keys")
    async with (
        started(settings) as app,
        asking(app) as browser,
        open_stores(settings) as stores,
    ):
        browser.headers.update(OF_BROWSERS)
        await signed_in(browser, await made_key(with_stores(app.state.services, stores), "read"))
        [listed] = (await app.state.services.clusters.list_clusters("same_text", ClusterFilter(), 1)).clusters
        path = f"/clusters/same_text-{listed.founder_id}"
        page = await shown(browser, path)
        assert not page.xpath("//form[contains(@action, 'apart')]")
        answer = await browser.post(f"{path}/apart", data={"book_id": str(listed.founder_id)})
        assert answer.status_code == 403


async def test_a_volume_shows_its_works_on_a_strip_and_as_a_list(
    reader: AsyncClient, library: dict[str, Json], module_services: OpenServices
) -> None:
    work, rest = pages_of(prose(2, 3000)), pages_of(prose(8, 1500))
    volume = await post(reader, pages=[*work, *rest], title="Two studies")
    await run_jobs(module_services)

    page = await shown(reader, f"/books/{volume['id']}")
    part = await shown(reader, f"/books/{library['other']['id']}")

    drawn = page.xpath("//section[@aria-labelledby='contents']/*[name()='svg'][@aria-hidden]/*")
    assert [(rect.get("class"), rect.get("x"), rect.get("width")) for rect in drawn] == [
        ("work", "0", str(len(work))),
        ("gap", str(len(work)), str(len(rest))),
    ]
    told = [" ".join(row.text_content().split()) for row in page.xpath("//ul[@class='items volume']/li")]
    assert told == [
        f"1–{len(work)}: Middlemarch",
        f"{len(work) + 1}–{len(work) + len(rest)}: in no other book",
    ]
    whole = part.xpath("string(//section[@aria-labelledby='contents']/p)")
    assert whole == f"Two studies contains this book, on pages 1–{len(work)}."
    assert not (await shown(reader, f"/books/{library['good']['id']}")).xpath("//*[@id='contents']")
