"""Near-duplicates among the works of Reeve (2017): his pairs, and parts with whole works."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path

from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, gutenberg_books
from bench.harness.report import Cell, Section, Table
from bookprint_core.matching.verification import (
    Evidence,
    are_joined,
    evidence,
    evidence_of_each,
    is_compared,
    verdict,
)
from bookprint_core.model import Metadata, Sketch
from bookprint_core.relations.relation import ComparedBook, Relation, relate
from bookprint_core.signatures.sketch import sketch
from research.similar.similar_gutenberg import TRANSLATIONS
from research.similar.works import gutenberg_folder, gutenberg_pairs

KINDS = ("duplicate", "series: Factbooks", "series", "false", "other works")
PARTS = (3, 10)
"""Numbers of equal parts of a work."""
_FOUND = ("near-duplicates", "of these partial", "relations", "joined in a `related` cluster")


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The service's results for two books."""

    kind: str
    books: tuple[CorpusBook, CorpusBook]
    evidence: Evidence
    relation: Relation | None  # None: not a candidate pair, so not compared

    @property
    def answer(self) -> str:
        """Return the answer of a lookup: yes, partial or no."""
        return {"near_duplicate": "yes", "overlap": "partial"}.get(verdict(self.evidence), "no")


def run(out_dir: Path) -> Section:
    """Compare every pair of works, and parts of duplicates with the other file; takes two minutes."""
    books = gutenberg_books()
    sketches = {row: sketch(book.content) for row, book in books.items()}
    labels = {(pair.a, pair.b): pair.kind for pair in gutenberg_pairs(gutenberg_folder())}
    found = [
        compared(
            _kind(labels.get((a, b), "other works"), books[a]), (books[a], books[b]), sketches[a], sketches[b]
        )
        for a, b in combinations(sorted(books), 2)
        if (a, b) != TRANSLATIONS
    ]
    corpus = [
        _unpaged(sketch(book.content)) for book in corpus_books(corpus_folder()) if book.language == "en"
    ]
    tuned_on = [
        row for row in books if any(map(are_joined, evidence_of_each(_unpaged(sketches[row]), corpus)))
    ]
    duplicates = [pair for pair, kind in labels.items() if kind == "duplicate"]
    parts = [
        compared(f"1/{count} of one file", (part, books[whole]), sketch(part.content), sketches[whole])
        for count in PARTS
        for pair in duplicates
        for one, whole in (pair, pair[::-1])
        for part in parts_of(books[one], count)
    ]
    return Section(
        title="Reeve (2017): his pairs by the finder of duplicates",
        command="python -m research gutenberg_duplicates",
        tables=(
            Table(["pairs", "how many", *_FOUND], counts(found, KINDS), f"All pairs of {len(books)} works"),
            Table(
                ["part", "how many", *_FOUND],
                counts(parts, [f"1/{count} of one file" for count in PARTS]),
                "Parts of each duplicate beside the other file, which is whole",
            ),
        ),
        notes=(
            "Real texts of Project Gutenberg. The duplicates are Reeve's; which pairs are a series is our "
            f"label. {len(tuned_on)} works are near-duplicates of books of the corpus, on which the rule was "
            f"tuned (rows {', '.join(map(str, tuned_on))}). The Bibles are one transcription with other "
            "numbers of verses. The two translations of Aesop are in no pair.",
            "A lookup answers near-duplicates by the rule in use. A relation is computed of near-duplicates "
            "and of books that share enough hashes. No file has pages, so a part "
            "is OVERLAPPING_TEXT with a direction. Parts are made: a file is cut into equal parts. "
            "They are of four works whose files hardly differ, and say little of parts in other editions.",
        ),
    )


def _kind(label: str, book: CorpusBook) -> str:
    return KINDS[1] if label == "series" and "Factbook" in book.title else label


def _unpaged(signed: Sketch) -> Sketch:
    return replace(signed, pages=None)


def compared(kind: str, books: tuple[CorpusBook, CorpusBook], one: Sketch, other: Sketch) -> Found:
    """Return the results that the service would find for these two books."""
    seen = evidence(_unpaged(one), _unpaged(other))
    if not is_compared(seen):
        return Found(kind, books, seen, None)
    sides = [
        ComparedBook(each.pages, each.minhash, Metadata(title=book.title))
        for each, book in zip((one, other), books, strict=True)
    ]
    return Found(kind, books, seen, relate(*sides))


def counts(found: Sequence[Found], kinds: Sequence[str]) -> list[list[Cell]]:
    """Return a row for each kind of pair."""
    rows: list[list[Cell]] = []
    for kind in kinds:
        of_kind = [each for each in found if each.kind == kind]
        answers = Counter(each.answer for each in of_kind)
        related = [each.relation for each in of_kind if each.relation is not None]
        classes = Counter(
            " ".join(filter(None, (each.classification.kind, each.classification.direction)))
            for each in related
        )
        told = ", ".join(f"{count} {name}" for name, count in classes.most_common())
        near, joined = answers["yes"] + answers["partial"], sum(each.link is not None for each in related)
        rows.append([kind, len(of_kind), near, answers["partial"], told, joined])
    return rows


def parts_of(book: CorpusBook, count: int) -> list[CorpusBook]:
    """Cut the book into `count` parts of equal length."""
    ends = [len(book.text) * end // count for end in range(count + 1)]
    return [replace(book, text=book.text[start:end]) for start, end in pairwise(ends)]
