"""Relations over HTTP: as either book shows them, waiting for jobs, and decisions of people."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import AsyncClient

from app.services.pairs.relations import list_related
from app.stores.postgres.connections import SQL
from app.wiring import Services
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, near, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.paged_books import run_jobs

TEXT = prose(1, 3000)
PAGES = pages_of(TEXT)


async def relations(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    return await get(client, book["links"]["relations"], **parameters)


def of(book: Json, other: Json) -> str:
    return f"{book['links']['relations']}/{other['id']}"


@pytest.fixture
async def pair(client: AsyncClient, services: Services) -> tuple[Json, Json]:
    """A book and a reprint with two leaves more in front, and three fewer at the end."""
    book = await post(client, pages=PAGES, title="A book")
    front = pages_of(prose(3, 600))
    reprint = await post(client, pages=front + pages_of(scanned(TEXT, 1))[:-1], title="A reprint")
    await run_jobs(services)
    return book, reprint


async def test_a_relation_is_seen_from_the_book_in_the_path(
    client: AsyncClient, pair: tuple[Json, Json]
) -> None:
    book, reprint = pair
    first = (await client.get(of(book, reprint))).json()
    second = (await client.get(of(reprint, book))).json()

    assert (first["unit"], second["unit"]) == ("page", "page")
    assert [row[:2] for row in first["page_map"]] == [[n, n + 2] for n in range(9)]
    assert all(0.3 < row[2] <= 1 for row in first["page_map"])
    assert second["page_map"] == [[j, i, alike] for i, j, alike in first["page_map"]]
    assert first["runs"] == [{"left": [0, 9], "right": [2, 11]}]
    assert second["runs"] == [{"left": [2, 11], "right": [0, 9]}]
    assert first["linear_fit"] == {"slope": 1, "intercept": 2, "delta_page_count": -1}
    assert second["linear_fit"] == {"slope": 1, "intercept": -2, "delta_page_count": 1}
    assert first["signals"]["linear_fit"] == first["linear_fit"]
    for name in ("text_pages", "text_shared", "pages_matched"):
        this, that = first["signals"][name], second["signals"][name]
        assert (this["this"], this["other"]) == (that["other"], that["this"])
    assert first["signals"]["text_pages"] == {"this": 10, "other": 11}
    assert sum(first["confidences"].values()) == pytest.approx(1, abs=0.001)
    assert first["because"].startswith("90% of the text pages of this book and 82% of the other's")
    assert second["because"].startswith("82% of the text pages of this book and 90% of the other's")


async def test_a_shared_preface_is_named_with_its_pages_and_joins_nothing(
    client: AsyncClient, services: Services
) -> None:
    preface = pages_of(prose(61, 1200))
    book = await post(client, pages=preface + pages_of(prose(62, 5000)), title="A book")
    other = await post(client, pages=["", *preface, *pages_of(prose(63, 6000))], title="Another book")
    await run_jobs(services)

    first, second = (await client.get(of(book, other))).json(), (await client.get(of(other, book))).json()
    assert first["shares"] == {"matter": "front matter", "this": [0, 4], "other": [1, 5]}
    assert second["shares"] == {"matter": "front matter", "this": [1, 5], "other": [0, 4]}
    [listed] = (await relations(client, book))["items"]
    assert (listed["kind"], listed["shares"]) == ("OVERLAPPING_TEXT", first["shares"])
    assert (await get(client, f"{book['links']['self']}/cluster", by="related"))["size"] == 1
    assert await list_related(services.relations, UUID(book["id"])) == []
    path = f"{of(book, other)}/decision"
    assert (await client.put(path, json="confirmed")).status_code == 200
    assert len(await list_related(services.relations, UUID(book["id"]))) == 1


async def test_exact_counts_what_the_texts_share(client: AsyncClient, pair: tuple[Json, Json]) -> None:
    book, reprint = pair
    assert (await client.get(of(book, reprint))).json()["exact"] is None
    first = (await client.get(of(book, reprint), params={"exact": True})).json()["exact"]
    second = (await client.get(of(reprint, book), params={"exact": True})).json()["exact"]

    counts = first["shingles"]
    assert 0 < counts["shared"] < counts["this"] < counts["other"] < 4000
    assert first["containment"]["this_in_other"] == round(counts["shared"] / counts["this"], 4)
    assert first["containment"]["this_in_other"] == second["containment"]["other_in_this"]
    assert first["jaccard"] == second["jaccard"]
    [match] = (await near(client, book))["items"]
    assert first["jaccard"] == pytest.approx(match["jaccard"], abs=0.15)


async def test_exact_needs_both_texts(
    client: AsyncClient, services: Services, pair: tuple[Json, Json]
) -> None:
    book, reprint = pair
    await services.database.rows(SQL("DELETE FROM texts"))

    refused = await client.get(of(book, reprint), params={"exact": True})
    assert_problem(refused, 409, "exact")
    assert refused.json()["type"].endswith(":text-not-kept")
    assert "PUT /v1/books/" in refused.json()["detail"]
    assert (await client.get(of(book, reprint))).status_code == 200
    assert_problem(await client.get(of(book, reprint), params={"exact": "perhaps"}), 422, "exact")


async def test_wait_holds_the_answer_until_nothing_is_pending(
    client: AsyncClient, services: Services
) -> None:
    book = await post(client, pages=PAGES)
    assert (await relations(client, book, wait=0.3))["pending"] == 1

    async def later() -> None:
        await asyncio.sleep(0.2)
        await run_jobs(services)

    answer, _ = await asyncio.gather(relations(client, book, wait=60), later())
    assert answer["pending"] == 0


async def test_near_duplicates_show_the_relation(client: AsyncClient, pair: tuple[Json, Json]) -> None:
    book, reprint = pair
    [item] = (await relations(client, book))["items"]
    [match] = (await near(client, book))["items"]
    assert match["relation"] == {"kind": "SAME_PAGINATION", "confidence": item["confidence"]}

    await client.put(f"{of(reprint, book)}/decision", json={"kind": "OVERLAPPING_TEXT"})
    [match] = (await near(client, book))["items"]
    assert match["relation"] == {"kind": "OVERLAPPING_TEXT", "confidence": 1.0}


@pytest.mark.parametrize(
    ("verdict", "kind", "form"),
    [
        ("confirmed", "SAME_PAGINATION", "word"),
        ("rejected", "UNRELATED", "object"),
        (None, "SAME_TEXT", "object"),
    ],
)
async def test_a_decision_outranks_the_machine_until_it_is_withdrawn(
    client: AsyncClient,
    services: Services,
    pair: tuple[Json, Json],
    verdict: str | None,
    kind: str,
    form: str,
) -> None:
    book, reprint = pair
    body: Any = {"verdict": verdict} if verdict else {"kind": kind}
    if form == "word" and verdict:
        body = verdict
    machine = (await relations(client, book))["items"][0]
    path = f"{of(book, reprint)}/decision"
    decided = await client.put(path, json=body)

    assert decided.status_code == 200, decided.text
    decision = decided.json()["decision"]
    assert decision.pop("decided_at")
    expected_kind = None if verdict == "rejected" else kind
    assert decision == {
        "verdict": verdict or "kind",
        "kind": expected_kind,
        "decided_by": "anyone",
        "stale": False,
    }
    # It survives that the machine looks once more.
    await services.database.rows(SQL("DELETE FROM relations"))
    await services.database.rows(
        SQL("UPDATE procrastinate_jobs SET status = 'todo' WHERE task_name = 'relate'")
    )
    await run_jobs(services)
    for asked in pair:
        [item] = (await relations(client, asked))["items"]
        assert (item["kind"], item["confidence"], item["direction"]) == (kind, 1.0, None)
        assert item["machine"] == {
            "kind": "SAME_PAGINATION",
            "direction": None,
            "confidence": machine["confidence"],
        }

    assert (await client.delete(path)).status_code == 204
    assert (await relations(client, book))["items"] == [machine]
    assert_problem(await client.delete(path), 404, "other_id")


async def test_a_decision_on_a_content_that_changed_is_stale_and_stays_in_force(
    client: AsyncClient, services: Services, pair: tuple[Json, Json]
) -> None:
    book, reprint = pair
    path = f"{of(book, reprint)}/decision"
    await client.put(path, json={"kind": "OVERLAPPING_TEXT"})
    await client.put(f"{reprint['links']['self']}/content", json={"pages": PAGES[:-1]})

    answer = (await client.get(of(book, reprint))).json()
    assert (answer["kind"], answer["machine"]) == ("OVERLAPPING_TEXT", None)
    assert answer["decision"]["stale"] is True
    assert (answer["unit"], answer["page_map"], answer["classifier"]) == (None, [], None)
    await run_jobs(services)
    answer = (await client.get(of(book, reprint))).json()
    assert (answer["kind"], answer["decision"]["stale"]) == ("OVERLAPPING_TEXT", True)
    assert answer["machine"]["kind"] == "SAME_PAGINATION"
    renewed = (await client.put(path, json={"kind": "OVERLAPPING_TEXT"})).json()
    assert renewed["decision"]["stale"] is False


async def test_books_that_were_never_compared_may_be_decided_on_and_then_are(
    client: AsyncClient, services: Services
) -> None:
    book, other = await post(client, pages=PAGES), await post(client, pages=pages_of(prose(9, 600), 60))
    await run_jobs(services)
    await services.database.rows(SQL("DELETE FROM relations"))
    path = f"{of(book, other)}/decision"

    assert_problem(await client.get(of(book, other)), 404, "other_id")
    assert_problem(await client.put(path, json="confirmed"), 409, "verdict")
    assert (await client.put(path, json={"kind": "OVERLAPPING_TEXT"})).status_code == 200
    answer = (await client.get(of(other, book))).json()
    assert (answer["kind"], answer["machine"], answer["signals"]) == ("OVERLAPPING_TEXT", None, None)
    assert await run_jobs(services) == 1
    answer = (await client.get(of(other, book))).json()
    assert (answer["kind"], answer["machine"]["kind"]) == ("OVERLAPPING_TEXT", "UNRELATED")


async def test_page_labels_are_shown_beside_the_page_map_and_replaced_with_the_content(
    client: AsyncClient, services: Services
) -> None:
    labels = ["xi", "xii", None, *map(str, range(1, len(PAGES) - 2))]
    book = await post(client, pages=PAGES, page_labels=labels)
    scan = await post(client, pages=pages_of(scanned(TEXT, 1)))
    await run_jobs(services)
    assert (await get(client, of(scan, book)))["page_labels"] == {"this": None, "other": labels}

    async def put(body: Json, version: int) -> Any:
        response = await client.put(f"{book['links']['self']}/content", json=body)
        assert (response.status_code, response.json()["version"]) == (200, version), response.text
        await run_jobs(services)
        return (await get(client, of(book, scan)))["page_labels"]["this"]

    assert await put({"pages": PAGES, "page_labels": labels}, 1) == labels
    assert await put({"pages": PAGES, "page_labels": labels[::-1]}, 2) == labels[::-1]
    assert await put({"pages": PAGES}, 3) is None
    other = {"pages": [*PAGES, "a new last page"], "page_labels": [*labels, "end"]}
    assert await put(other, 4) == [*labels, "end"]
    assert await put({"text": f"{TEXT} and more"}, 5) is None


async def test_why_completeness_cannot_be_told_is_said(client: AsyncClient) -> None:
    alone, unpaged = await post(client, pages=PAGES), await post(client, text=prose(32, 500))
    for book, said in ((alone, "No other scan of the printing"), (unpaged, "Send it as `pages`")):
        response = await client.get(f"/v1/books/{book['id']}/completeness")
        assert_problem(response, 409)
        assert said in response.json()["detail"]
    assert_problem(await client.get(f"/v1/books/{uuid4()}/completeness"), 404)
