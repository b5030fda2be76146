"""Which books are found for a row, and when one of them is called a match."""

from uuid import UUID

from httpx import AsyncClient

from tests.api.catalog.reconciliation.books import matches, post, post_novels, result, results, send
from tests.api.library import prose, scanned
from tests.open_services import OpenServices
from tests.paged_books import run_jobs


async def test_wrong_values_are_named_and_spoil_no_other_query(client: AsyncClient) -> None:
    ids = await post_novels(client)

    answers = await results(
        client,
        {
            "damaged": {"properties": [{"pid": "identifier", "v": "bp1:zzzz"}]},
            "blank": {"query": "  "},
            "no limit": {"query": "Emma", "limit": -1},
            "no list": "Emma",
            "no letters": {"properties": [{"pid": "text", "v": "..."}]},
            "unused": {
                "query": "Emma",
                "properties": [{"pid": "year", "v": "n.d."}, {"pid": "x", "v": True}],
            },
            "crowd": {"properties": [{"pid": "author", "v": [f"Austen {'i' * n}" for n in range(31)]}]},
            "nul": {"query": "Em\0ma", "properties": [{"pid": "identifier", "v": "x:\0"}]},
            "long": {"query": "Emma" + " " * 10_000},
            "long value": {"properties": [{"pid": "author", "v": ["Austen", "(" * 10_001]}]},
            "long name": {"properties": [{"pid": "p" * 1_001, "v": "x"}]},
            "long text": {"query": "Emma", "properties": [{"pid": "text", "v": "Emma " * 3_000}]},
            "digits": {"query": "Emma", "properties": [{"pid": "author", "v": 10**4_000}]},
            "many": {"query": "Emma", "limit": 1, "properties": [{"pid": "year", "v": [1815, "1816"]}]},
        },
    )

    errors = {name: answer["error"] for name, answer in answers.items() if "error" in answer}
    assert errors.keys() == {
        *("damaged", "blank", "no limit", "no list", "no letters", "crowd"),
        *("long", "long value", "long name"),
    }
    assert all(error["errors"][0]["remedy"] for error in errors.values())
    assert matches(answers["unused"]["result"]) == [ids[2]]
    assert [each["id"] for each in answers["many"]["result"]] == [ids[2]]


async def test_wrong_forms_are_refused_with_what_to_do(client: AsyncClient) -> None:
    forms: list[tuple[str, object, int]] = [
        ("queries", {f"q{row}": {"query": "Emma"} for row in range(1_001)}, 413),
        ("extend", {"ids": ["x"] * 1_001, "properties": []}, 413),
        ("queries", [], 422),
        ("extend", {"ids": ["x"]}, 422),
        ("other", {}, 422),
    ]
    for field, value, status in forms:
        response = await send(client, field, value)
        assert response.status_code == status, response.text
        assert status != 413 or "at most 1,000" in response.json()["detail"]


async def test_bodies_that_are_no_form_are_refused(client: AsyncClient) -> None:
    as_json = await client.post("/reconcile", json={"queries": []})
    twice = await client.post(
        "/reconcile",
        content="queries={}&queries={}",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    latin = await client.post(
        "/reconcile",
        content=b"queries=%7B%22q%22:%22%E9%22%7D",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )

    assert as_json.status_code == 415
    assert "application/x-www-form-urlencoded" in as_json.json()["detail"]
    assert (twice.status_code, latin.status_code) == (422, 422)


async def test_related_books_are_told_until_a_person_rejects_them(
    services: OpenServices, client: AsyncClient
) -> None:
    text = prose(50)
    book = await post(client, text, title="The Whole")
    copy = await post(client, scanned(text, 1), title="A Copy", year=1900)
    await run_jobs(services)
    wanted = {"ids": [book, "other"], "properties": [{"id": "relations"}, {"id": "cluster"}]}

    fetched = (await send(client, "extend", wanted)).json()
    page = await client.get(f"/reconcile/preview/{book}")
    candidates = await result(client, text={"id": book})

    [related] = fetched["rows"][book]["relations"]
    assert (related["id"], related["name"]) == (copy, "A Copy")
    assert related["description"].startswith("SAME_TEXT, ")
    assert fetched["rows"][book]["cluster"] == [{"str": f"s{UUID(book).hex}"}]
    assert fetched["rows"]["other"] == {"relations": [], "cluster": []}
    assert fetched["meta"][0]["type"]["id"] == "Book"
    assert f'href="{copy}"' in page.text
    features = {each["id"]: each["value"] for each in candidates[1]["features"]}
    assert candidates[1]["id"] == copy
    assert features["relation"] > 0.5

    await client.put(f"/v1/books/{book}/relations/{copy}/decision", json={"verdict": "rejected"})

    fetched = (await send(client, "extend", wanted)).json()
    assert fetched["rows"][book]["relations"] == []
    assert "A Copy" not in (await client.get(f"/reconcile/preview/{book}")).text


async def test_titles_cannot_add_to_a_page(client: AsyncClient) -> None:
    book = await post(client, prose(1, 200), title="<script>alert(1)</script>", authors=['"><b>'])

    page = await client.get(f"/reconcile/preview/{book}")

    assert "<script" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "<b>" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert (await client.get(f"/reconcile/preview/{book[:-4]}0000")).status_code == 404


async def test_equal_books_are_no_match_and_an_identifier_decides(client: AsyncClient) -> None:
    ids = [
        await post(client, prose(seed, 300), title="Poems", identifiers=[isbn])
        for seed, isbn in [
            (1, "isbn:9780141439600"),
            (2, "isbn:9780306406157"),
        ]
    ]

    assert matches(await result(client, "Poems")) == []
    assert matches(await result(client, "Poems", isbn="0-306-40615-2")) == [ids[1]]
    assert matches(await result(client, "0306406152")) == [ids[1]]
    assert matches(await result(client, identifier="isbn:0141439602")) == [ids[0]]


async def test_content_decides_over_metadata(client: AsyncClient) -> None:
    text = prose(90)
    right = await post(client, text, title="Collected Tales", year=1900)
    wrong = await post(client, prose(91), title="Other Tales", year=1900)
    identifier = (await client.get(f"/v1/books/{right}")).json()["identifier"]

    by_text = await result(client, "Other Tales", text=scanned(text, 1))
    by_identifier = await result(client, identifier=identifier)
    by_query = await result(client, identifier)

    assert [each["id"] for each in by_text] == [right, wrong]
    features = {each["id"]: each["value"] for each in by_text[0]["features"]}
    assert features["distance"] <= 20
    assert 0 < features["jaccard"] <= 1
    assert {"containment", "contained", "content"} <= features.keys()
    assert matches(by_identifier) == matches(by_query) == [right]


async def test_the_id_of_a_book_finds_it(client: AsyncClient) -> None:
    ids = await post_novels(client)

    assert matches(await result(client, ids[3])) == [ids[3]]
    assert matches(await result(client, "Emma", identifier={"id": ids[3]})) == [ids[3]]
    assert await result(client, ids[3][:-4] + "0000") == []
