"""The master copy of scans that several engines have read, beside each engine and the transcription."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from uuid import UUID

import numpy as np
from rapidfuzz.distance import Levenshtein

from app.core.clusters.best_copy import Copy, best_copy, complete_copies, is_cleaner
from app.core.clusters.master_copy import master_copy
from app.core.model import Content, Metadata, Sketch
from app.core.relations.alignment import align
from app.core.relations.relation import ComparedBook, relate
from app.core.signatures.sketch import page_signatures, sketch
from app.core.text.content import content_from_pages
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

PREFIX, TRANSCRIPTION = "cis-", "gt"
"""Of the ids of books of the same scans, and the end of the id of the transcription."""

Pages = Sequence[str]


@dataclass(frozen=True, slots=True)
class Scans:
    """Readings of the same scans."""

    title: str
    engines: Mapping[str, Pages]
    transcription: Pages | None


def run(out_dir: Path) -> Section:
    """Every book of which the scans were read at least twice; about a minute."""
    books = [book for book in corpus_books(corpus_folder()) if book.id.startswith(PREFIX)]
    return Section(
        title="The master copy of several scans",
        command="python -m bench master_copy",
        tables=[
            Table(
                ["book", "text", "CER", "of the best engine's", "processor s"],
                [row for each in scanned(books) for row in engine_rows(each)],
                "Character error rate of each engine, and of the master copy of all engines",
            )
        ],
        notes=[
            "CER is the edit distance to the transcription over its length, blanks of any kind being one. It "
            "is counted page by page, on the pages that the transcription has: a reading of Zonaras has nine "
            "pages more. The transcription is no copy. The best copy is chosen as clusters choose it. Two "
            "copies cannot outvote one: there the reading of the cleaner one counts. Only three books have a "
            "transcription, and the votes were written while these were at hand."
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
    """The error rate of each engine, and of the master copy of all of them."""
    names = list(scans.engines)
    best = best_of({name: content_from_pages(pages) for name, pages in scans.engines.items()})
    others = [name for name in names if name != best]
    truth = scans.transcription
    rates = engine_rates(scans)
    lowest = min(rates.values(), default=None)
    for name in names:
        shown = f"{name}, the best copy" if name == best else name
        yield [scans.title, shown, rates.get(name), None, None]
    begun = time.process_time()
    made = master_copy_of(scans.engines[best], [scans.engines[name] for name in others])
    seconds = time.process_time() - begun
    rate = None if truth is None else error_rate(on_pages_of(truth, made), truth)
    share = None if rate is None or lowest is None else rate / lowest
    yield [scans.title, "master copy", rate, share, seconds]


def engine_rates(scans: Scans) -> dict[str, float]:
    """The error rate of each engine; nothing where there is no transcription."""
    truth = scans.transcription
    if truth is None:
        return {}
    return {name: error_rate(on_pages_of(truth, pages), truth) for name, pages in scans.engines.items()}


def on_pages_of(truth: Pages, pages: Pages) -> Pages:
    """The pages that match pages of the transcription, in its order, where there are more or fewer."""
    if len(pages) == len(truth):
        return pages
    signed, true = (page_signatures(content_from_pages(each)) for each in (pages, truth))
    matching = {int(there): int(here) for run in align(signed, true).runs for here, there in run.pairs}
    return [pages[matching[page]] if page in matching else "" for page in range(len(truth))]


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
    complete = complete_copies([copy_of(place, sketches[name], name) for place, name in enumerate(names)])
    means = {book_id: float(np.mean(values)) for book_id, values in agreements.items()}
    return names[best_copy(complete, means).book_id.int]


def copy_of(place: int, book: Sketch, name: str | None = None) -> Copy:
    """A book as a copy that is known by its place and its name."""
    return Copy(UUID(int=place), book.word_count, book.character_count, book.single_words, name, b"")


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


def master_copy_of(best: Pages, others: Sequence[Pages]) -> Pages:
    """The master copy as the service makes it."""
    contents = [content_from_pages(pages) for pages in (best, *others)]
    first, *known = (copy_of(place, sketch(content)) for place, content in enumerate(contents))
    cleaner = [place for place, copy in enumerate(known) if is_cleaner(copy, first)]
    return [page.text for page in master_copy(contents[0], contents[1:], range(len(best)), cleaner).pages]


def _spaced(text: str) -> str:
    return " ".join(text.split())
