"""Books with many wrong letters, over HTTP: proposed, found by a lookup, and correctly related.

Works on which the near-duplicate rule was not tuned are cut, reprinted and read twice with independent
errors, and posted to a service. The errors come from `bench/data/misreading.py`.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
import orjson

from bench.data.book_pairs import made_pairs
from bench.data.misreading import misread_pages
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, gutenberg_books
from bench.harness.report import Cell, Section, Table
from bench.harness.service import await_jobs, post, running
from bench.public.manifest import public_books
from bookprint_core.model import PAGE_BREAK

Pages = Sequence[str]

PAIRS = 50
SETS = ((0.05, (1,)), (0.10, (1, 2, 3)), (0.15, (1, 2)))
"""Error rates, and the seeds of each rate."""
TENTH, SHORT = 0.1, 11_000
RATE, COPIES = 0.10, 5
"""Error rate of the parts and short texts; copies of a short text."""
_PAGE = 1_800
_LONGEST_WORK = 450_000
"""Characters of a page, and maximum characters of a work."""
_SHORTEST, _COLLECTION = 118_800, 3_000_000
"""Minimum characters of a file, and of a collection of works."""
_LETTERS = 0.6
"""Minimum share of letters in a text; a file with fewer is a table."""
_PER_LANGUAGE = 10
"""Works in each language except English, one per author."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option of the folder of texts in languages other than English."""
    parser.add_argument("--public", type=Path, metavar="OUT", help="noise: folder of `bench fetch`")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Post one set after the other to a service; takes some minutes on two cores."""
    works = unseen_works(options.public)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "data", "--workers", "1") as service,
        service.client() as client,
    ):
        cases = {
            rate: [case for seed in seeds for case in reprints(works, rate, seed)] for rate, seeds in SETS
        }
        rows = [_row(rate, compare(client, some)) for rate, some in cases.items()]
        part = _row(RATE, compare(client, tenths(works, RATE)))
        short = short_texts(client, works, RATE)
    languages = sorted({work.language for work in works})
    short_headers = ["CER, %", "texts", "precision", "recall", "F1"]
    return Section(
        title="Books with many wrong letters",
        command="python -m bench noise" + (" --public OUT" if options.public else ""),
        tables=[
            Table(_HEADERS, rows, "Pairs of the four relations, errors in both books"),
            Table(_HEADERS, [part], "A tenth of each work"),
            Table(short_headers, [short], "Short texts, by a lookup"),
        ],
        notes=[
            f"{len(works)} works in {len(languages)} languages ({', '.join(languages)}) that are not in the "
            "corpus; the steps of the rule were not chosen on them. The classes of letters in the samples "
            "were chosen while half of the English ones and all of the Arabic ones were at hand, and clean "
            "copies of the public ones were among the strangers that the rule was judged on. Pairs are made "
            "by `bench/data/book_pairs.py` "
            f"(seeds 1 to 3, {PAIRS} for each rate and seed, from half of the works), "
            f"cut into pages of about {_PAGE:,} characters; a short text has {SHORT:,} "
            f"characters and {COPIES} copies, all with errors; precision, recall and F1 are means over "
            "texts. Right: the relation, and its direction, "
            "as the pair was made; of a tenth, a relation at all."
        ],
    )


def unseen_works(public: Path | None) -> list[CorpusBook]:
    """Return works of Project Gutenberg and of a folder of public texts, outside the corpus, in pages."""
    books = list(gutenberg_books().values())
    for book in public_books() if public else ():
        if public and book.language != "en":
            text = book.text_file(public).read_text(encoding="utf-8").replace(PAGE_BREAK, "\n")
            work = f"{book.repository} {book.work}"
            books.append(CorpusBook(book.id, work, book.title, book.author, None, book.language, text, None))
    return unseen(books, corpus_books(corpus_folder()))


def unseen(books: Iterable[CorpusBook], corpus: Iterable[CorpusBook]) -> list[CorpusBook]:
    """Return the texts that are single works and not in the corpus, cut into pages."""
    known = {_key(book) for book in corpus}
    seen: set[str] = set()
    languages: Counter[str] = Counter()
    works = []
    for book in books:
        key, foreign = _key(book), book.language != "en"
        if foreign and (languages[book.language] == _PER_LANGUAGE or {book.author, book.work} & seen):
            continue
        if any(key.startswith(each) or each.startswith(key) for each in known):
            continue
        letters = sum(map(str.isalpha, book.text)) / len(book.text)
        if not _SHORTEST <= len(book.text) < _COLLECTION or letters < _LETTERS:
            continue
        known.add(key)
        seen.update((book.author, book.work))
        languages[book.language] += 1
        works.append(replace(book, pages=_cut(book.text[:_LONGEST_WORK])))
    return works


def _key(book: CorpusBook) -> str:
    """Return the key of all editions of a work: the language and the first letters of the title."""
    return f"{book.language} {''.join(filter(str.isalpha, book.title.casefold()))[:12]}"


def _cut(text: str) -> list[str]:
    """Return pages of about equal length, preferably cut at the ends of lines or words."""
    cuts = [0]
    while len(text) - cuts[-1] > _PAGE:
        end = cuts[-1] + _PAGE
        cuts.append(1 + max(text.rfind("\n", end - 80, end), text.rfind(" ", end - 20, end), end - 81))
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]


class Case(NamedTuple):
    """Two books with errors, and their true relation."""

    left: Pages
    right: Pages
    kinds: frozenset[str]  # correct kinds
    direction: str | None  # correct direction; None: not checked


def reprints(works: Sequence[CorpusBook], rate: float, seed: int) -> Iterator[Case]:
    """Yield pairs of half of the works, equally many of each of the four relations."""
    number = 0
    for pair in made_pairs(works, "report", PAIRS, seed, (0.0,)):
        if pair.kind == "UNRELATED":
            continue
        left, right = (
            misread_pages(side, rate, (seed, number, place))
            for place, side in enumerate((pair.left, pair.right))
        )
        yield Case(left, right, frozenset({pair.kind}), pair.direction)
        number += 1
        if number == PAIRS:
            return


def tenths(works: Sequence[CorpusBook], rate: float) -> Iterator[Case]:
    """Yield each work and a tenth of it from a random page on."""
    for number, work in enumerate(works):
        pages = work.pages or ()
        size = round(TENTH * len(pages))
        first = int(np.random.default_rng(number).integers(0, len(pages) - size + 1))
        whole, part = (
            misread_pages(side, rate, (number, i))
            for i, side in enumerate((pages, pages[first : first + size]))
        )
        yield Case(whole, part, frozenset({"CONTIGUOUS_SUBSET", "OVERLAPPING_TEXT"}), None)


def compare(client: httpx.Client, cases: Iterable[Case]) -> list[tuple[bool, bool, bool]]:
    """Post all these books to an empty service, query it, and empty it again.

    Return for each case whether the books were compared, correctly related, and found by a lookup.
    """
    posted = [(case, _post(client, case.left), _post(client, case.right)) for case in cases]
    await_jobs(client)
    answers = []
    for case, left, right in posted:
        answer = client.get(f"/v1/books/{left}/relations/{right}")
        relation = answer.json() if answer.is_success else {"kind": None}
        related = relation["kind"] in case.kinds and case.direction in (None, relation["direction"])
        answers.append((answer.is_success, related, right in _found(client, left)))
    for _, *books in posted:
        for book_id in books:
            client.delete(f"/v1/books/{book_id}").raise_for_status()
    return answers


def _found(client: httpx.Client, book_id: str) -> set[str]:
    answer = client.get(f"/v1/books/{book_id}/near-duplicates?limit=1000").json()
    return {item["id"] for item in answer["items"]}


def _post(client: httpx.Client, pages: Pages) -> str:
    return post(client, orjson.dumps({"pages": pages}))


_HEADERS = ["CER, %", "pairs", "compared", "related rightly", "found by a lookup"]


def _row(rate: float, answers: Sequence[tuple[bool, bool, bool]]) -> list[Cell]:
    return [100 * rate, len(answers), *map(sum, zip(*answers, strict=True))]


def short_texts(client: httpx.Client, works: Sequence[CorpusBook], rate: float) -> list[Cell]:
    """Return precision, recall and F1 of a verified lookup among copies of a short text of each work."""
    figures, posted = [], []
    for number, work in enumerate(works):
        text = work.text[len(work.text) // 2 :][:SHORT]
        copies = {_post(client, misread_pages([text], rate, (number, copy))) for copy in range(COPIES)}
        posted.append(copies)
    for copies in posted:
        for each in copies:
            found, wanted = _found(client, each), copies - {each}
            right = len(found & wanted)
            precision = right / len(found) if found else 1.0
            figures.append((precision, right / len(wanted), 2 * right / (len(found) + len(wanted))))
    return [100 * rate, len(figures), *np.mean(figures, axis=0).tolist()]
