"""Checks over HTTP: a verdict for each row of a list, by the strongest that the row gives."""

import pytest
from httpx import AsyncClient

from tests.api.library import prose, scanned
from tests.api.posting import Json, post, send_lines
from tests.factories import pages_of
from tests.open_services import OpenServices

ISBN, WRONG_DIGIT = "9780141439600", "0-14-143960-3"
TEXT = prose(940, 6_000)
PAGES = pages_of(TEXT)


@pytest.fixture
async def book(client: AsyncClient) -> Json:
    """A book in pages, with names and numbers, among others."""
    for seed in range(3):
        await post(client, text=prose(950 + seed, 5_000), title=f"Another book, {seed}")
    return await post(
        client,
        pages=PAGES,
        title="The Ferry at Dawn",
        authors=["E. M. Harbour"],
        year=1913,
        external_id="shelf-7",
        identifiers=[f"isbn:{ISBN}", "oclc:1234", "isbn:9.78014E+12"],
    )


def noisy(pages: list[str], seed: int = 1) -> list[str]:
    return [scanned(page, seed + number, 0.05) for number, page in enumerate(pages)]


async def test_a_text_is_told_from_other_printings_and_parts(client: AsyncClient, book: Json) -> None:
    other_breaks = pages_of(" ".join(["And", "so", *scanned(TEXT, 2, 0.02).split()]), 170)
    rows = {
        "have": {"pages": noisy(PAGES)},
        "other_edition": {"pages": other_breaks},
        "part_of": {"pages": noisy(PAGES[4:16])},
        "contains": {"pages": noisy(pages_of(prose(941, 6_000)) + PAGES)},
        "no": {"pages": pages_of(prose(942, 6_000))},
    }
    answers = await send_lines(client, "/v1/checks", *rows.values())
    assert [each["verdict"] for each in answers] == [*rows]
    assert {each["by"] for each in answers} == {"text"}
    for answer in answers[:4]:
        [item] = answer["items"]
        assert (item["book_id"], item["title"], item["link"]) == (
            *(book["id"], "The Ferry at Dawn", f"/v1/books/{book['id']}"),
        )
        assert item["evidence"]["kind"] in item["evidence"]["because"] or item["evidence"]["confidence"] > 0.5


async def test_a_text_without_pages_is_had_unless_the_years_differ(client: AsyncClient, book: Json) -> None:
    text = scanned(TEXT, 3, 0.05)
    answers = await send_lines(
        client, "/v1/checks", {"text": text}, {"text": text, "year": 1913}, {"text": text, "year": 1950}
    )
    assert [each["verdict"] for each in answers] == ["have", "have", "other_edition"]


async def test_identifiers_of_texts_and_of_catalogues(client: AsyncClient, book: Json) -> None:
    [unknown] = [await post(client, text=prose(943, 5_000))]
    await client.delete(f"/v1/books/{unknown['id']}")
    rows = {
        "bp1": ({"identifier": book["identifier"]}, "have", "identifier"),
        "bp2": ({"identifier": book["long_identifier"]}, "have", "identifier"),
        "unknown text": ({"identifier": unknown["long_identifier"]}, "no", "identifier"),
        "short form": ({"isbn": "0-14-143960-2"}, "have", "identifier"),
        "own": ({"external_id": "shelf-7"}, "have", "identifier"),
        "oclc": ({"identifiers": ["oclc:ocm00001234"]}, "have", "identifier"),
        "wrong digit": ({"isbn": WRONG_DIGIT}, "perhaps", "identifier"),
        "no ISBN": ({"isbn": "12"}, "no", "identifier"),
        "cut": ({"isbn": "9.78014E+12"}, "no", "identifier"),
        "two": ({"isbn": f"9783161484100, {ISBN}"}, "have", "identifier"),
        "unknown": ({"isbn": "9783161484100"}, "no", "identifier"),
        "other title": ({"isbn": ISBN, "title": "Organic Chemistry"}, "perhaps", "identifier"),
    }
    answers = await send_lines(client, "/v1/checks", *(row for row, _, _ in rows.values()))
    told = {name: (each["verdict"], each["by"]) for name, each in zip(rows, answers, strict=True)}
    assert told == {name: (verdict, by) for name, (_, verdict, by) in rows.items()}
    by_name = dict(zip(rows, answers, strict=True))
    assert "check digit" in by_name["wrong digit"]["because"]
    assert by_name["cut"]["because"].startswith("isbn:9.78014E+12: ")
    assert by_name["wrong digit"]["items"][0]["evidence"]["identifier"] == f"isbn:{ISBN}"


async def test_a_name_says_perhaps_at_most(client: AsyncClient, book: Json) -> None:
    answers = await send_lines(
        client,
        "/v1/checks",
        {"title": "The ferry at dawn : a novel", "authors": ["Harbour, E. M., 1880-1950"], "year": 1913},
        {"title": "The Ferry at Dawn", "authors": ["Somebody Else"]},
        {"isbn": "9783161484100", "title": "Ferry at dawn", "authors": ["E. M. Harbour"]},
        {"title": "A Quite Different Thing"},
    )
    assert [(each["verdict"], each["by"]) for each in answers] == [
        *(("perhaps", "name"), ("no", "name"), ("perhaps", "name"), ("no", "name")),
    ]


async def test_a_foreign_identifier_is_found_by_a_text(client: AsyncClient) -> None:
    text = prose(944, 6_000)
    known = await post(client, text=text)
    await client.delete(f"/v1/books/{known['id']}")
    foreign = await post(client, identifier=known["long_identifier"], title="At a partner's")
    [answer] = await send_lines(client, "/v1/checks", {"text": scanned(text, 5, 0.05)})
    assert (answer["verdict"], answer["items"][0]["book_id"]) == ("have", foreign["id"])


async def test_a_row_that_cannot_be_answered_now_says_so(
    client: AsyncClient, services: OpenServices, book: Json
) -> None:
    """While the index is rebuilt; a number needs no index."""
    await services.index.epochs.begin("another")
    answers = await send_lines(
        client, "/v1/checks", {"text": TEXT}, {"identifier": book["identifier"]}, {"isbn": ISBN}
    )
    assert [each.get("status") for each in answers] == [503, 503, None]
    assert answers[0]["retry_after"] > 0
    assert answers[2]["verdict"] == "have"
