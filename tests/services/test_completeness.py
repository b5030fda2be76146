"""What scans lack, as it is kept: looked at by workers, and anew after what it rests upon has changed."""

from collections.abc import Sequence

import pytest

from app.services.completeness import FaultList, PagesOfCopy
from app.stores.postgres.connections import SQL
from app.stores.postgres.pairs.decisions import NewDecision
from bookprint_core.model import Book, Metadata, Submission
from bookprint_core.relations.classification import Kind
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose, scanned
from tests.factories import ACTOR, pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

PAGES = pages_of(prose(41, 6000))
OTHER = pages_of(prose(42, 3000))


def noisy(seed: int, pages: Sequence[str]) -> list[str]:
    return [scanned(page, 100 * seed + place, 0.02) for place, page in enumerate(pages)]


async def post(services: OpenServices, pages: Sequence[str]) -> Book:
    submission = Submission(Metadata(collection="scans"), content_from_pages(pages))
    return (await services.ingest.post(submission, actor=ACTOR)).book


async def give(
    services: OpenServices, book: Book, pages: Sequence[str], labels: Sequence[str | None] = ()
) -> None:
    """Give a book other content."""
    content = content_from_pages(list(pages))
    await services.ingest.replace_content(book.id, content, None, None, tuple(labels), actor=ACTOR)


async def decide(services: OpenServices, one: Book, other: Book, kind: Kind | None) -> None:
    """Name the kind of relation of two books, or reject it."""
    opinion = NewDecision(one.id, other.id, "kind" if kind else "rejected", kind)
    await services.decisions.decide([opinion], actor=ACTOR)


async def looked(services: OpenServices) -> FaultList:
    """The list after workers have done all that they have to."""
    await run_jobs(services)
    while await services.completeness.look():
        pass
    return await listed(services)


async def listed(services: OpenServices) -> FaultList:
    return await services.completeness.of_books(None, None)


async def test_the_list_says_what_is_to_be_looked_at_and_is_the_same_at_each_look(
    services: OpenServices,
) -> None:
    lacking = await post(services, noisy(1, PAGES[:8] + PAGES[10:]))
    await post(services, noisy(2, PAGES))
    await post(services, OTHER)
    await run_jobs(services)
    before = await listed(services)
    assert (before.compared, before.pending, before.alone, before.faults) == (0, 2, 1, [])
    after = await looked(services)
    assert (after.compared, after.pending, after.alone, after.next) == (2, 0, 1, None)
    assert [(fault.book_id, fault.finding.kind) for fault in after.faults] == [(lacking.id, "missing")]
    assert await listed(services) == after
    assert not (await services.completeness.of_books("other", None)).faults
    assert (await services.completeness.of_book(lacking.id)).findings == [after.faults[0].finding]


async def test_what_was_told_is_told_anew_after_any_change(services: OpenServices) -> None:
    numbered = [str(number) for number in range(1, len(PAGES) + 1)]
    lacking = await post(services, noisy(1, PAGES[:8] + PAGES[10:]))
    whole = await post(services, noisy(2, PAGES))
    [fault] = (await looked(services)).faults
    assert fault.finding.labels == [None, None]

    # New labels of a copy.
    await give(services, whole, noisy(2, PAGES), numbered)
    [fault] = (await looked(services)).faults
    assert fault.finding.labels == ["9", "10"]

    # A decision.
    await decide(services, lacking, whole, None)
    after = await looked(services)
    assert (after.faults, after.compared, after.alone) == ([], 0, 2)
    await decide(services, lacking, whole, "SAME_PAGINATION")
    [fault] = (await looked(services)).faults
    assert fault.relation is not None

    # New content, with a decision alone to tell that the other scan is a copy of it.
    await give(services, lacking, noisy(1, PAGES))
    assert (await listed(services)).pending == 2
    after = await looked(services)
    assert (after.faults, after.compared) == ([], 2)

    # A copy that goes.
    await services.ingest.delete(whole.id, None, actor=ACTOR)
    after = await looked(services)
    assert (after.compared, after.pending, after.alone) == (0, 0, 1)


async def test_what_has_changed_while_it_was_looked_at_stays_to_be_looked_at(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = await post(services, noisy(1, PAGES[:8] + PAGES[10:]))
    await post(services, noisy(2, PAGES))
    await looked(services)
    await services.database.rows(
        SQL("UPDATE completeness SET looked = false WHERE book_id = $book"), book=lacking.id
    )
    read = services.completeness._read

    async def changed(book_id):  # type: ignore[no-untyped-def]
        await services.database.rows(SQL("UPDATE completeness SET written_by = written_by + 1"))
        return await read(book_id)

    monkeypatch.setattr(services.completeness, "_read", changed)
    await services.completeness.look()
    assert (await listed(services)).pending == 1


async def test_foreign_leaves_are_told_with_the_book_that_they_are_from(services: OpenServices) -> None:
    source = await post(services, noisy(3, OTHER))
    pages = pages_of(prose(43, 12_000))
    scan = await post(services, noisy(1, [*pages[:8], *OTHER[2:8], *pages[14:]]))
    await post(services, noisy(2, pages))
    faults = {fault.finding.kind: fault.finding for fault in (await looked(services)).faults}
    assert faults.keys() == {"foreign", "missing"}
    assert faults["foreign"].pages == (8, 14)
    assert faults["foreign"].source == PagesOfCopy(source.id, (2, 8))
    assert (await services.completeness.of_book(scan.id)).findings == [faults["missing"], faults["foreign"]]


async def test_a_scan_from_the_back_says_nothing_against_the_others(services: OpenServices) -> None:
    """Scans are related whatever order they have, and the one with its numbers backwards is named."""
    numbered = [f"{number} THE MILL\n{page}" for number, page in enumerate(PAGES, start=1)]
    await post(services, noisy(1, numbered))
    lacking = await post(services, noisy(2, numbered[:9] + numbered[10:]))
    turned = await post(services, noisy(3, numbered)[::-1])
    spreads = [page for start in range(0, 20, 2) for page in noisy(4, numbered)[start : start + 2][::-1]]
    swapped = await post(services, spreads)
    after = await looked(services)
    told = {(fault.book_id, fault.finding.kind, fault.finding.pages) for fault in after.faults}
    whole = (0, len(PAGES))
    assert told == {
        (lacking.id, "missing", None),
        (turned.id, "misplaced", whole),
        (swapped.id, "misplaced", whole),
    }
