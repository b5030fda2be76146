"""Metadata conflicts in a library with planted errors, on real servers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from uuid import UUID

import pytest

from app.services import conflicts
from app.services.pairs.decisions import NewDecision
from app.synthesis.library import synthetic_library
from bookprint_core.matching.conflicts import ConflictBy, MetadataConflict
from bookprint_core.model import Book, Metadata, Submission
from bookprint_core.text.catalogue_values import modulo_11_digit
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose, scanned, sharing
from tests.factories import ACTOR, pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

WORDS = 3000
KINDS: Sequence[ConflictBy] = ("isbn", "title", "text")

Pairs = set[frozenset[UUID]]


@dataclass
class Made:
    """A made book and what is true of it."""

    work: int  # below 0: too short to tell
    pages: Sequence[str]
    title: str
    authors: tuple[str, ...]
    isbns: set[str]  # valid, 13 digits
    written: list[str]  # as the catalogue has them
    volume: str | None = None
    id: UUID = field(default_factory=lambda: UUID(int=0))


def isbn13(number: int) -> str:
    body = f"978{number:09d}"
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return f"{body}{-total % 10}"


def isbn10(code: str) -> str:
    """The ISBN as it was written before 2007."""
    return code[3:-1] + modulo_11_digit(code[3:-1])


def wrong(code: str) -> str:
    """The ISBN with another check digit."""
    return code[:-1] + str((int(code[-1]) + 5) % 10)


def written(code: str, rng: Random) -> str:
    """A valid ISBN in any of its forms."""
    return rng.choice([f"isbn:{code}", f"isbn:{isbn10(code)}", f"ISBN:{code[:3]}-{code[3:]}"])


async def post(services: OpenServices, pages: Sequence[str], metadata: Metadata) -> Book:
    return (await services.ingest.post(Submission(metadata, content_from_pages(pages)), actor=ACTOR)).book


async def store(services: OpenServices, books: Sequence[Made]) -> None:
    """Post the books and relate them."""
    for book in books:
        metadata = Metadata(
            title=book.title, authors=book.authors, volume=book.volume, identifiers=tuple(book.written)
        )
        book.id = (await post(services, book.pages, metadata)).id
    await run_jobs(services)


async def reported(services: OpenServices, by: ConflictBy, limit: int = 1000) -> list[MetadataConflict]:
    found: list[MetadataConflict] = []
    place = None
    while True:
        page = await services.conflicts.list_conflicts(by, place, limit)
        assert len(page.conflicts) <= limit
        assert not page.cut
        found += page.conflicts
        place = page.next
        if place is None:
            return found


async def pairs(services: OpenServices, by: ConflictBy, limit: int = 1000) -> Pairs:
    found = [
        frozenset((conflict.left.summary.book_id, conflict.right.summary.book_id))
        for conflict in await reported(services, by, limit)
    ]
    assert len(found) == len(set(found))
    return set(found)


def planted(books: Sequence[Made]) -> dict[ConflictBy, Pairs]:
    """The conflicts that there are in truth."""
    found: dict[ConflictBy, Pairs] = {by: set() for by in KINDS}
    for one, other in combinations(books, 2):
        pair = frozenset((one.id, other.id))
        if one.work < 0 or other.work < 0:
            continue
        if one.work == other.work:
            if one.isbns and other.isbns and not one.isbns & other.isbns:
                found["text"].add(pair)
            continue
        if one.isbns & other.isbns:
            found["isbn"].add(pair)
        volumes = one.volume and other.volume and one.volume != other.volume
        authors = one.authors and other.authors and not surnames(one) & surnames(other)
        if words(one.title) == words(other.title) and not volumes and not authors:
            found["title"].add(pair)
    return found


def words(title: str) -> list[str]:
    return title.casefold().replace(",", "").replace("!", "").split()


def surnames(book: Made) -> set[str]:
    return {author.replace(",", "").split()[0 if "," in author else -1] for author in book.authors}


def library(rng: Random) -> list[Made]:
    """Works in one to four copies, with the errors that catalogues have."""
    books: list[Made] = []
    for made in synthetic_library(18, 76, (0, 2), (10_000, 10_000), 0.03, 0.03, sharing=0):
        work, code, name = made.work, isbn13(100_000 + made.work), f"Author{made.work}"
        title = rng.choice([f"Chronicle of {work}", f"CHRONICLE, of {work}!"])
        author = rng.choice([f"Ann {name}", f"{name}, Ann", f"A. {name}", f"{name}, Ann, 1801-1870"])
        book = Made(work, made.pages, title, (author,), set(), [])
        chance = rng.random()
        if 0.2 < chance < 0.25:
            book.written = [f"isbn:{wrong(code)}"]
        elif chance > 0.25:
            book.isbns, book.written = {code}, [written(code, rng)]
        books.append(book)
    by_work = {book.work: book for book in books}
    for work in range(0, 20, 2):  # an ISBN of another work, for some beside the own one
        mistaken = by_work[work]
        code = isbn13(100_000 + work + 1)
        mistaken.isbns = mistaken.isbns | {code} if work % 4 else {code}
        mistaken.written = [written(each, rng) for each in sorted(mistaken.isbns)]
    for work in range(20, 40, 2):  # a title of another work, some by the same author, some by nobody
        mistaken = by_work[work]
        mistaken.title = by_work[work + 1].title
        mistaken.authors = {0: by_work[work + 1].authors, 1: (), 2: mistaken.authors}[work // 2 % 3]
    for work in range(40, 60, 2):  # a copy with an ISBN of its own, or a second one
        code = isbn13(200_000 + work)
        by_work[work].isbns = {code} if work % 4 else by_work[work].isbns | {code}
        by_work[work].written = [written(each, rng) for each in sorted(by_work[work].isbns)]
    for work in range(60, 70):  # the same wrong ISBN, which says nothing
        by_work[work].isbns, by_work[work].written = set(), [f"isbn:{wrong(isbn13(300_000))}"]
    for work in range(70, 76):  # volumes: one title and author, and one ISBN for two of them
        by_work[work].title, by_work[work].authors = "Collected Works", ("Mary Volume",)
        by_work[work].volume = str(work - 69)
    shared = isbn13(400_000)
    for work in (70, 71):
        by_work[work].isbns, by_work[work].written = {shared}, [f"isbn:{shared}"]
    code = isbn13(100_001)
    for left in ("Only a few words", "are left of this page"):
        books.append(Made(-1, [left], "Chronicle of 1", (), {code}, [f"isbn:{code}"]))
    rng.shuffle(books)
    return books


@pytest.mark.slow
async def test_every_planted_conflict_is_reported_and_no_other(services: OpenServices) -> None:
    rng = Random(18)
    books = library(rng)
    await store(services, books)
    truth = planted(books)
    assert all(len(found) >= 5 for found in truth.values())
    for by in KINDS:
        assert await pairs(services, by) == truth[by]
        assert await pairs(services, by, limit=3) == truth[by]

    gone = [rng.choice(sorted(next(iter(truth[by])))) for by in KINDS]
    for book_id in gone:
        await services.ingest.delete(book_id, None, actor=ACTOR)
    left = planted([book for book in books if book.id not in gone])
    for by in KINDS:
        assert await pairs(services, by) == left[by]


async def test_conflicts_say_what_agrees_and_what_contradicts_with_the_evidence(
    services: OpenServices,
) -> None:
    code = isbn13(1)
    one = Metadata("The Salt Road", ("Jane Moor",), year=1898, volume="1", identifiers=(f"isbn:{code}",))
    two = Metadata("A Ferry", ("Moor, Jane, 1860-1901",), year=1902, identifiers=(f"isbn:{code}",))
    first = await post(services, pages_of(prose(1, WORDS)), one)
    second = await post(services, pages_of(prose(2, WORDS)), two)
    assert await reported(services, "isbn") == []  # nothing is known of their relation yet
    await run_jobs(services)
    [conflict] = await reported(services, "isbn")
    assert (conflict.left.summary.book_id, conflict.right.summary.book_id) == (first.id, second.id)
    assert conflict.agrees == ["isbn", "authors"]
    assert conflict.contradicts == ["text", "title", "year"]
    assert conflict.relation is None or conflict.relation.kind == "UNRELATED"
    assert conflict.evidence.distance is not None
    assert conflict.evidence.distance > 36
    assert await reported(services, "title") == await reported(services, "text") == []


async def test_books_that_share_only_a_preface_have_different_texts(services: OpenServices) -> None:
    metadata = Metadata("A Ferry", identifiers=(f"isbn:{isbn13(1)}",))
    text, with_its_preface = sharing(1_500)
    first, copy, other = [
        await post(services, pages_of(each), metadata) for each in (text, scanned(text, 3), with_its_preface)
    ]
    await run_jobs(services)
    found = {frozenset((each.id, other.id)) for each in (first, copy)}
    assert await pairs(services, "isbn") == await pairs(services, "title") == found
    assert all(each.relation is not None for each in await reported(services, "isbn"))


async def test_decisions_of_people_outrank_the_machine(services: OpenServices) -> None:
    code, other = isbn13(1), isbn13(2)
    unrelated = [
        await post(services, pages_of(prose(seed, WORDS)), Metadata(identifiers=(f"isbn:{code}",)))
        for seed in (1, 2)
    ]
    copies = [
        await post(
            services, pages_of(scanned(prose(3, WORDS), seed)), Metadata(identifiers=(f"isbn:{name}",))
        )
        for seed, name in enumerate((code, other))
    ]
    await run_jobs(services)
    shared = {frozenset((a.id, b.id)) for a, b in combinations([*unrelated, copies[0]], 2)}
    assert await pairs(services, "isbn") == shared
    assert await pairs(services, "text") == {frozenset(book.id for book in copies)}

    first, second = (book.id for book in unrelated)
    both = copies[0].id, copies[1].id
    opinions = [NewDecision(first, second, "kind", "SAME_TEXT"), NewDecision(*both, "rejected")]
    await services.decisions.decide(opinions, actor=ACTOR)
    assert await pairs(services, "isbn") == shared - {frozenset((first, second))}
    assert await pairs(services, "text") == set()
    await services.books.change_metadata(first, {"identifiers": [f"isbn:{other}"]}, actor=ACTOR)
    [conflict] = await reported(services, "text")
    assert (conflict.relation is not None and conflict.relation.decided) is True
    # The rejected copies still share no ISBN; now they do, and a person says that they are different.
    await services.decisions.decide([NewDecision(first, second, "withdrawn")], actor=ACTOR)
    await services.books.change_metadata(copies[1].id, {"identifiers": [f"isbn:{code}"]}, actor=ACTOR)
    assert frozenset(book.id for book in copies) in await pairs(services, "isbn")
    await services.decisions.decide([NewDecision(*both, "kind", "INSUFFICIENT_TEXT")], actor=ACTOR)
    assert frozenset(book.id for book in copies) not in await pairs(services, "isbn")


async def test_conflicts_follow_a_content_that_changes(services: OpenServices) -> None:
    metadata = Metadata("A Ferry", identifiers=(f"isbn:{isbn13(1)}",))
    books = [await post(services, pages_of(prose(seed, WORDS)), metadata) for seed in (1, 2)]
    await run_jobs(services)
    assert len(await reported(services, "isbn")) == len(await reported(services, "title")) == 1
    content = content_from_pages(pages_of(scanned(prose(1, WORDS), 5)))
    await services.ingest.replace_content(books[1].id, content, None, None, actor=ACTOR)
    assert await reported(services, "isbn") == await reported(services, "title") == []
    await run_jobs(services)
    assert await reported(services, "isbn") == await reported(services, "title") == []


@pytest.mark.parametrize("most", [4, 50])
async def test_an_isbn_of_many_books_is_examined_in_part_and_the_page_says_so(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(conflicts, "MOST_EXAMINED", most)
    monkeypatch.setattr(conflicts, "_MOST_PAIRS", 10)
    metadata = Metadata("Untitled", identifiers=(f"isbn:{isbn13(1)}",))
    texts = [scanned(prose(1, WORDS), seed) for seed in range(6)] + [prose(seed, WORDS) for seed in (2, 3)]
    books = [await post(services, pages_of(text), metadata) for text in texts]
    await run_jobs(services)
    page = await services.conflicts.list_conflicts("isbn", None, 100)
    found = {(c.left.summary.book_id, c.right.summary.book_id) for c in page.conflicts}
    if most == 4:
        # One of each cluster comes first: the oldest copy and both other texts, then another copy.
        assert [(cut.shared, cut.size, cut.examined) for cut in page.cut] == [(f"isbn:{isbn13(1)}", 8, 4)]
        copies = (books[0], books[1])
    else:
        assert page.cut == []
        copies = tuple(books[:6])
        assert page.next is not None
        page = await services.conflicts.list_conflicts("isbn", page.next, 100)
        assert page.conflicts == []
    others = {(books[6].id, books[7].id)}
    assert found == {(copy.id, other.id) for copy in copies for other in books[6:]} | others
    assert page.next is None
