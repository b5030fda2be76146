"""How far the print moves a fingerprint from that of the plain text, by what is treated of it."""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from app.core.model import Content
from app.core.recipe import DEFAULT_FINGERPRINT
from app.core.signatures.sketch import fingerprint
from app.core.text.content import content_from_pages, content_from_text
from app.core.text.page_furniture import with_plain_hyphens, without_furniture
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

SEED = 17
BOOKS = 60
WORDS = (20_000, 120_000)
"""Fewest and most words of a book that is printed here."""

LINE, LINES = 58, 34
"""Characters of a line and lines of a page."""

DIVIDED = 0.5
"""Share of the lines whose last word is divided, where it is long enough."""

Pages = Sequence[str]


def _untreated(pages: Pages) -> list[str]:
    return list(pages)


def _hyphens(pages: Pages) -> list[str]:
    return [with_plain_hyphens(page) for page in pages]


def _both(pages: Pages) -> list[str]:
    return without_furniture(_hyphens(pages))


TREATMENTS: dict[str, Callable[[Pages], list[str]]] = {
    "nothing": _untreated,
    "hyphens": _hyphens,
    "running heads, numbers, catchwords": without_furniture,
    "both": _both,
}


def printed(book: CorpusBook, hyphen: str, heads: bool, rng: np.random.Generator) -> list[str]:
    """The book in lines and pages, with words divided by this hyphen, and with or without furniture."""
    paragraphs = re.split(r"\n\s*\n", book.text.replace("\f", "\n"))
    lines = [line for paragraph in paragraphs for line in _lines(paragraph, hyphen, rng)]
    pages = [lines[start : start + LINES] for start in range(0, len(lines), LINES)]
    if heads:
        title = book.title.upper()[:50]
        for number, (page, following) in enumerate(zip(pages, [*pages[1:], [""]], strict=True), start=1):
            page.insert(0, f"{number} {book.author.upper()[:50]}" if number % 2 == 0 else f"{title} {number}")
            page.append(f"{following[0].split(' ')[0]}")
    return ["\n".join(page) for page in pages]


def _lines(paragraph: str, hyphen: str, rng: np.random.Generator) -> Iterator[str]:
    rest = ""
    for line in textwrap.wrap(" ".join(paragraph.split()), LINE, break_on_hyphens=False):
        head, _, last = f"{rest}{line}".rpartition(" ")
        rest = ""
        if len(last) > 6 and last.isalpha() and last[4:].islower() and rng.random() < DIVIDED:
            yield f"{head} {last[:3]}{hyphen}"
            rest = last[3:] + " "
        else:
            yield f"{head} {last}".strip()
    if rest:
        yield rest.strip()


def run(_: Path) -> Section:
    """Novels of the corpus, printed in four ways."""
    books = [
        book for book in corpus_books(corpus_folder()) if WORDS[0] <= len(book.text.split()) <= WORDS[1]
    ][:BOOKS]
    rows: list[list[Cell]] = []
    for print_name, hyphen, heads in (
        ("hyphens -", "-", False),
        ("hyphens ¬", "¬", False),
        ("hyphens -, heads and catchwords", "-", True),
        ("hyphens ⸗, heads and catchwords", "⸗", True),
    ):
        distances: dict[str, list[int]] = {name: [] for name in TREATMENTS}
        for number, book in enumerate(books):
            pages = printed(book, hyphen, heads, np.random.default_rng([SEED, number]))
            plain = _bits(content_from_text(book.text.replace("\f", "\n")))
            for name, treatment in TREATMENTS.items():
                moved = _bits(content_from_pages(treatment(pages)))
                distances[name].append((plain ^ moved).bit_count())
        rows.append([print_name, *(f"{np.median(found):.0f} / {max(found)}" for found in distances.values())])
    return Section(
        title="What the print does to a fingerprint",
        command="python -m bench page_furniture_effect",
        tables=[
            Table(
                headers=["print", *TREATMENTS],
                rows=rows,
                caption=f"Bits between the plain text and its print, median / most; {len(books)} books",
            )
        ],
        notes=[
            f"Books of the corpus with {WORDS[0]:,} to {WORDS[1]:,} words, printed in lines of {LINE} "
            f"characters and pages of {LINES} lines, seed {SEED}. A head is the author or the title with the "
            "page number."
        ],
    )


def _bits(content: Content) -> int:
    signature = fingerprint(content, DEFAULT_FINGERPRINT)
    assert signature is not None  # every book here is long enough
    return int.from_bytes(signature.bits, "big")
