"""Lookups by identifier agree with the comparison of two identifiers offline."""

import numpy as np
from httpx import AsyncClient

from bookprint_core.matching.identifier_comparison import compare
from bookprint_core.signatures.identifier import composite, decode
from tests.api.library import prose, scanned
from tests.api.posting import Json, look_up, post, signatures

ISBN, OTHER_ISBN = "9780141439600", "9780486284736"


async def posted(client: AsyncClient, works: int) -> list[Json]:
    """Copies at many rates of errors, parts, strangers, books of one ISBN, and books that lack signatures."""
    books = []
    rng = np.random.default_rng(5)
    for seed in range(works):
        text = prose(seed, 6_000)
        books.append(await post(client, text=text, identifiers=[f"isbn:{ISBN}"]))
        for number, rate in enumerate((0.01, 0.03, 0.06, 0.1, 0.14)):
            isbns = ([f"isbn:{ISBN}"], ["isbn:0-486-28473-5"], [])[number % 3]
            worse = scanned(text, 10 * seed + number, rate)
            books.append(await post(client, text=worse, identifiers=isbns))
        for part in (0.7, 0.4, 0.1):
            books.append(await post(client, text=text[: int(part * len(text))]))
    first = bytes.fromhex(books[0]["fingerprint"]["hex"])
    for flips in range(20, 60, 3):
        flipped = np.unpackbits(np.frombuffer(first, dtype=np.uint8))
        flipped[rng.choice(128, flips, replace=False)] ^= 1
        signed = signatures(np.packbits(flipped).tobytes(), rng)
        books.append(await post(client, signatures=signed, identifiers=[f"isbn:{ISBN}"]))
        long = {"minhash": None, "word_count": 200_000, "character_count": 1_200_000}
        books.append(await post(client, signatures=signed | long))
    await post(client, text="far too short", identifiers=[f"isbn:{ISBN}"])
    return books


async def test_lookup_and_comparison_agree(client: AsyncClient) -> None:
    books = await posted(client, 3)
    for kind in ("identifier", "long_identifier"):
        for isbn in (None, ISBN):
            assert await verdicts(client, books, kind, isbn) == {"same", "unsure", "different"}


async def verdicts(client: AsyncClient, books: list[Json], kind: str, isbn: str | None) -> set[str]:
    """The verdicts on some books among all, of which the lookups show those that are the same."""
    verdicts = set()
    for book in books[::5]:
        query = book[kind] or book["identifier"]
        query = query if isbn is None else composite(query, isbn)
        answer = await look_up(client, {"identifier": query}, limit=1_000)
        compared = {
            other["id"]: compare(
                decode(query), decode(other["composite"] or other["long_identifier"] or other["identifier"])
            )
            for other in books
        }
        verdicts |= {each.verdict for each in compared.values()}
        same = {book_id: each for book_id, each in compared.items() if each.verdict == "same"}
        assert {item["id"] for item in answer["items"]} == same.keys()
        assert answer["total"] == len(same)
        assert not answer["exact"]
        distances = [item["distance"] for item in answer["items"]]
        assert distances == sorted(distances)
        for item in answer["items"]:
            comparison = same[item["id"]]
            assert item["distance"] == comparison.distance
            expected = None if comparison.jaccard is None else round(comparison.jaccard.estimate, 4)
            assert item["jaccard"] == expected
    return verdicts


async def test_book_has_the_identifiers_that_its_signatures_and_isbns_allow(client: AsyncClient) -> None:
    text = prose(1)
    book = await post(client, text=text, identifiers=["isbn:0141439601", "isbn:0141439602", "oclc:1"])
    assert book["long_identifier"].startswith("bp2:")
    assert book["composite"] == f"{book['long_identifier']}.{ISBN}"
    short, long = decode(book["identifier"]), decode(book["composite"])
    assert (short.fingerprint, short.word_count) == (long.fingerprint, long.word_count)
    read = (await client.get(f"/v1/books/{book['id']}")).json()
    assert {name: read[name] for name in ("identifier", "long_identifier", "composite")} == {
        name: book[name] for name in ("identifier", "long_identifier", "composite")
    }
    bare = await post(client, text=scanned(text, 1))
    assert bare["composite"] is None
    no_minhash = signatures(bytes(range(16)), np.random.default_rng(1)) | {"minhash": None}
    short_only = await post(client, signatures=no_minhash, identifiers=[f"isbn:{OTHER_ISBN}"])
    assert short_only["long_identifier"] is None
    assert short_only["composite"] == f"{short_only['identifier']}.{OTHER_ISBN}"
    nothing = await post(client, text="far too short", identifiers=[f"isbn:{ISBN}"])
    assert [nothing[name] for name in ("identifier", "long_identifier", "composite")] == [None] * 3
