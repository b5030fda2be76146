"""The master copy of scans that several engines have read, beside each engine and the transcription."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from uuid import UUID

import numpy as np
from rapidfuzz.distance import Levenshtein

from app.core.clusters.best_copy import Copy, best_copy, complete_copies
from app.core.clusters.master_copy import master_copy
from app.core.model import PAGE_BREAK, Content, Metadata, Sketch
from app.core.relations.relation import ComparedBook, relate
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.core.text.words import folded_words
from app.synthesis.noise import corrupt_pages
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

PREFIX, TRANSCRIPTION = "cis-", "gt"
"""Of the ids of books of the same scans, and the end of the id of the transcription."""

ENGINES = 3
"""Readings from which on they can outvote one."""

MADE_BOOKS, MADE_PAGES, RATES, COUNTS, SEED = 6, 40, (0.01, 0.05, 0.1), (3, 5), 20
"""Books of the corpus with made errors, their pages at most, character error rates and numbers of copies."""

Pages = Sequence[str]
Method = Callable[[Sequence[Pages]], Pages]
"""A text from copies that have the same pages, of which the first is the best copy."""


@dataclass(frozen=True, slots=True)
class Scans:
    """Readings of the same scans."""

    title: str
    engines: Mapping[str, Pages]
    transcription: Pages | None


def run(out_dir: Path) -> Section:
    """Every book of which the scans were read at least twice, and made errors; about a minute."""
    books = list(corpus_books(corpus_folder()))
    scans = list(scanned([book for book in books if book.id.startswith(PREFIX)]))
    rows = [row for each in scans for row in engine_rows(each)]
    paginated = [
        book for book in books if not book.id.startswith(PREFIX) and len(book.pages or ()) >= MADE_PAGES
    ]
    chosen = np.random.default_rng(SEED).permutation(len(paginated))[:MADE_BOOKS]
    made = list(made_rows([paginated[place] for place in sorted(chosen)]))
    return Section(
        title="The master copy of several scans",
        command="python -m bench master_copy",
        tables=[
            Table(
                ["book", "text", "CER", "of the best engine's", "processor s"],
                rows,
                "Character error rate of each engine, and of what is made of all engines",
            ),
            Table(
                ["copies", "CER of each", "of the best copy", "page choice", "word vote", "master copy"],
                made,
                f"Made errors: {len(chosen)} books of the corpus, up to {MADE_PAGES} pages of each",
            ),
        ],
        notes=[
            "CER is the edit distance to the transcription over its length, blanks of any kind being one. It "
            "is counted page by page, or over the whole text where a reading has other pages. The "
            "transcription is no copy. The best copy is chosen as clusters choose it: by the mean similarity "
            "of its pages to those of the others. The page choice takes each page from the copy that has the "
            "least distance to the others. The word vote aligns words by their normal form and takes the "
            "most frequent one.",
            f"Made errors are independent of each other (seed {SEED}), which those of engines are not. Two "
            "copies cannot outvote one, so of two engines the master copy is the best copy.",
        ],
    )


def scanned(books: Sequence[CorpusBook]) -> Iterator[Scans]:
    """The readings of each scanned book, where there are at least two engines."""
    works: dict[str, dict[str, Pages]] = defaultdict(dict)
    titles = {book.work: book.title for book in books}
    for book in books:
        assert book.pages is not None
        works[book.work][book.id.removeprefix(f"{PREFIX}{book.title}-")] = book.pages
    for work, readings in works.items():
        transcription = readings.pop(TRANSCRIPTION, None)
        if len(readings) > 1:
            yield Scans(titles[work], readings, transcription)


def engine_rows(scans: Scans) -> Iterator[list[Cell]]:
    """The error rate of each engine, and of what is made of all of them."""
    names = list(scans.engines)
    best = best_of({name: content_from_pages(pages) for name, pages in scans.engines.items()})
    others = [name for name in names if name != best]
    copies = [scans.engines[name] for name in (best, *others)]
    truth = scans.transcription
    of_each = {name: None if truth is None else error_rate(scans.engines[name], truth) for name in names}
    lowest = min((rate for rate in of_each.values() if rate is not None), default=None)
    for name, rate in of_each.items():
        yield [scans.title, f"{name}, the best copy" if name == best else name, rate, None, None]
    for name, method in METHODS.items():
        # The other methods know nothing of page maps.
        if name != "master copy" and len({len(pages) for pages in copies}) > 1:
            continue
        begun = time.process_time()
        made = method(copies)
        seconds = time.process_time() - begun
        rate = None if truth is None else error_rate(made, truth)
        share = None if rate is None or lowest is None else rate / lowest
        yield [scans.title, name, rate, share, seconds]


def made_rows(books: Sequence[CorpusBook]) -> Iterator[list[Cell]]:
    """The mean error rate of books, before and after, by the number of copies and their rate."""
    rng = np.random.default_rng(SEED)
    for count in COUNTS:
        for rate in RATES:
            rates = []
            for book in books:
                assert book.pages is not None
                truth = list(book.pages[:MADE_PAGES])
                copies = [corrupt_pages(truth, rate, rng) for _ in range(count)]
                made = [error_rate(method(copies), truth) for method in METHODS.values()]
                rates.append([error_rate(copies[0], truth), *made])
            yield [count, rate, *np.mean(rates, axis=0).tolist()]


def best_of(copies: Mapping[str, Content]) -> str:
    """The best of some copies of one text, as clusters have it."""
    names, sketches = list(copies), {name: sketch(content) for name, content in copies.items()}
    agreements: dict[UUID, list[float]] = defaultdict(list)
    for pair in combinations(range(len(names)), 2):
        left, right = (sketches[names[place]] for place in pair)
        signals = relate(_compared(left), _compared(right)).signals
        assert signals is not None
        for place in pair:
            agreements[UUID(int=place)].append(signals.page_similarity)
    complete = complete_copies(
        [Copy(UUID(int=place), sketches[name].word_count, name, b"") for place, name in enumerate(names)]
    )
    means = {book_id: float(np.mean(values)) for book_id, values in agreements.items()}
    return names[best_copy(complete, means).book_id.int]


def _compared(book: Sketch) -> ComparedBook:
    return ComparedBook(book.pages, book.minhash, Metadata())


def error_rate(pages: Pages, truth: Pages) -> float:
    """Edit distance of the pages to the true ones, over the length of these; all blanks are equal.

    Where there are more or fewer pages, it is that of the whole text.

    >>> error_rate(["a  bcd", "x"], ["a\\nbce", "xyzw1"])
    0.5
    """
    if len(pages) != len(truth):
        pages, truth = ["\n".join(pages)], ["\n".join(truth)]
    pairs = [(_spaced(page), _spaced(true)) for page, true in zip(pages, truth, strict=True)]
    return sum(Levenshtein.distance(*pair) for pair in pairs) / sum(len(true) for _, true in pairs)


def page_choice(copies: Sequence[Pages]) -> Pages:
    """Each page from the copy that has the least distance to all others; of equal ones, the first."""
    return [min(pages, key=lambda page: _distance(page, pages)) for pages in zip(*copies, strict=True)]


def word_vote(copies: Sequence[Pages]) -> Pages:
    """The first copy, each word in the form that most copies have; of equally many, its own."""
    return [_voted_words(page, others) for page, *others in zip(*copies, strict=True)]


def character_vote(copies: Sequence[Pages]) -> Pages:
    """The master copy, as the service makes it."""
    best, *others = map(content_from_pages, copies)
    count = best.text.count(PAGE_BREAK) + 1
    return [page.text for page in master_copy(best, others, range(count)).pages]


METHODS: Mapping[str, Method] = {
    "page choice": page_choice,
    "word vote": word_vote,
    "master copy": character_vote,
}


def _voted_words(page: str, others: Sequence[str]) -> str:
    words = page.split()
    normal = [_normal(word) for word in words]
    votes = [[word] for word in words]
    for other in others:
        other_words = other.split()
        for step in Levenshtein.opcodes(normal, [_normal(word) for word in other_words]):
            for offset in range(step.src_end - step.src_start):
                heard = "" if step.tag == "delete" else other_words[step.dest_start + offset]
                votes[step.src_start + offset].append(heard)
    return " ".join(max(each, key=each.count) for each in votes)


def _normal(word: str) -> str:
    return "".join(folded_words(word)) or word


def _distance(page: str, pages: Sequence[str]) -> int:
    return sum(Levenshtein.distance(_spaced(page), _spaced(other)) for other in pages)


def _spaced(text: str) -> str:
    return " ".join(text.split())
