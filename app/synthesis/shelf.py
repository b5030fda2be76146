"""A synthetic shelf with books of every kind of relation, and readable titles for synthetic books."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from app.synthesis.library import VOLUMES, SyntheticBook, paginate
from app.synthesis.noise import corrupt_pages
from app.synthesis.prose import language, prose, world

_CHARACTERS, _PAGE, _OTHER_PAGE = 70_000, 1_800, 1_450
_ISBN = "9780306406157"
_NUMBERED = 12  # distance between two numbers of a report, in words
_SHELF = 1 << 42  # first seed, far from the seeds of works and authors

_THINGS = (
    "Lantern Orchard Harbour Winter Garden Letter Mountain River Window Bridge Forest Island Summer Mirror "
    "Castle Journey Meadow Station Valley Lighthouse Clock Market Storm Silence Ferry"
)
_PLACES = (
    "Ashford Elmwood Kingsbridge Northgate Oakham Millbrook Redcliff Westbury Thornhill Fairview Greenhill "
    "Longford Stonebridge Brightwater Marlow Whitby Hartfield Summerton Deepdale Highgate Winslow Seaford"
)
_FIRST = "Alice Thomas Eleanor Henry Margaret Edward Clara William Louisa George Harriet Arthur"
_LAST = "Bennett Carter Fletcher Hughes Lawson Norton Parker Reeves Sutton Turner Walker Archer Baker Grant"


def readable(book: SyntheticBook) -> SyntheticBook:
    """Return the book with a title and author made of real words, the same for every copy of a work."""
    things, places, first, last = (names.split() for names in (_THINGS, _PLACES, _FIRST, _LAST))
    row, column = divmod(book.work * 7, len(things))
    thing, place = things[column], places[(row + column) % len(places)]
    form = ("The {0} of {1}", "{1} {0}", "Beyond the {0} at {1}", "The Last {0} in {1}")[book.work % 4]
    author = book.work // VOLUMES
    name = f"{first[author % len(first)]} {last[author % len(last)]}"
    return replace(book, title=form.format(thing, place), author=name)


def shelf(seed: int) -> Iterator[SyntheticBook]:
    """Yield eleven books: copies, another edition, a volume, an anthology, two annual reports, a wrong text.

    One copy lacks two pages. The record with the wrong text has another book's title and ISBN.
    """
    road, ferry, winter = (_novel(seed, number) for number in range(3))
    pages = paginate(road, _PAGE)
    report = _novel(seed, 3)[:30_000]
    reports = {
        year: ("Report of the Harbour Board", "Harbour Board", year, _report(report, year))
        for year in (1901, 1902)
    }
    pieces = paginate(road[:20_000], _PAGE) + paginate(ferry[:20_000], _PAGE)
    lacking = pages[:12] + pages[14:]
    ferry_pages, winter_pages = paginate(ferry, _PAGE), paginate(winter, _PAGE)
    made = (
        ("road", "The Salt Road", "Mary Harbour", 1898, pages, 0.0, None, ()),
        ("road-copy", "The Salt Road", "Mary Harbour", 1898, pages, 0.01, None, ()),
        ("road-lacking", "The Salt Road", "Mary Harbour", 1898, lacking, 0.02, None, ()),
        ("road-1911", "The Salt Road", "Mary Harbour", 1911, paginate(road, _OTHER_PAGE), 0.01, None, ()),
        ("road-2", "The Salt Road", "Mary Harbour", 1899, pages[len(pages) // 2 :], 0.01, "2", ()),
        ("pieces", "Pieces from Two Novels", "Mary Harbour", 1925, pieces, 0.01, None, ()),
        ("report-1901", *reports[1901], 0.0, None, ()),
        ("report-1902", *reports[1902], 0.0, None, ()),
        ("ferry", "The Ferry at Dawn", "John Marsh", 1913, ferry_pages, 0.0, None, ()),
        ("winter", "A Winter Inland", "Ada Field", 1920, winter_pages, 0.0, None, (_ISBN,)),
        ("winter-wrong", "A Winter Inland", "Ada Field", 1920, ferry_pages, 0.02, None, (_ISBN,)),
    )  # fmt: skip
    for number, (name, title, author, year, text, rate, volume, isbns) in enumerate(made):
        scanned = tuple(corrupt_pages(text, rate, np.random.default_rng([seed, _SHELF, number])))
        yield SyntheticBook(
            name, -1, title, author, year, scanned, rate, 0.0, None, volume=volume, isbns=isbns
        )


def _novel(seed: int, number: int) -> str:
    author, rng = (np.random.default_rng([seed, _SHELF, number, part]) for part in range(2))
    return prose(world(language(), author, rng), _CHARACTERS, rng)


def _report(form: str, year: int) -> tuple[str, ...]:
    """Return the pages of an annual report: the text of `form` with this year and random numbers."""
    rng = np.random.default_rng(year)
    words = iter(range(len(form)))
    text = re.sub(
        r"\S+ ",
        lambda word: f"{rng.integers(100, 9_999):,} " if next(words) % _NUMBERED == 5 else word[0],
        form,
    )
    return paginate(f"Report for the year {year}.\n\n{text}", _PAGE)
