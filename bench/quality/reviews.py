"""The queue of relations to look at: whether wrong ones that a classifier makes come before right ones."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from app.core.model import Metadata
from app.core.relations.relation import ComparedBook, relate
from app.core.relations.reviews import ReviewedRelation, worth_of
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.synthesis.noise import corrupt
from bench.data.book_pairs import SEED, Half, made_pairs
from bench.data.paginated_books import Shelf, halves
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

RELATIONS, PLANTED = 20_000, 500
PER_KIND = 48
"""Made pairs of each class and half, as many at each error rate."""

_NOISE = (0.02, 0.05, 0.1, 0.15)
_ADDED = (". A new edition", ", with notes", " [microform]", " : illustrated")
"""What a catalogue may add to a title."""
_HALVES: tuple[tuple[Half, str], ...] = (("tuning", "the rules were made on"), ("report", "kept apart"))


@dataclass(frozen=True, slots=True)
class Judged:
    """A relation as the classifier found it, and whether it is right."""

    relation: ReviewedRelation
    source: str  # the recipe of the pair
    right: bool


def run(out_dir: Path) -> Section:
    """Relate made pairs of both halves and plant them among others; some minutes."""
    books = list(corpus_books(corpus_folder()))
    tables = []
    for number, (half, told) in enumerate(_HALVES):
        judged = list(judged_pairs(books, half))
        rng = np.random.default_rng([SEED, number])
        tables.append(
            Table(["relations", "planted", "in the first 500"], ranked(judged, rng), f"works {told}")
        )
    return Section(
        title="The queue of relations to look at",
        command="python -m bench reviews",
        tables=tables,
        notes=[
            f"{PLANTED} wrong and {PLANTED} right relations among {RELATIONS:,}, drawn with repeats from "
            "pairs that were made and compared: all layouts of `bench relations` at 2 to 15 % CER, and books "
            "of different works with the same pages of advertisements. Wrong is what the classifier calls "
            "another kind than it is, or an overlap that is advertisements alone. Each draw has descriptions "
            "of its own: years and authors that lack, names and titles in other forms. Parts of clusters are "
            "drawn for wrong and right alike."
        ],
    )


def judged_pairs(books: Sequence[CorpusBook], half: Half) -> Iterator[Judged]:
    """Compared pairs of one half of the works."""
    for pair in made_pairs(books, half, PER_KIND, SEED, _NOISE):
        relation = compared((pair.left, pair.right), pair.metadata)
        yield Judged(relation, pair.recipe, relation.kind == pair.truth.kind)
    shelf = halves(books, SEED)[0 if half == "tuning" else 1]
    yield from _with_advertisements(shelf, np.random.default_rng(SEED))


def compared(
    pages: tuple[Sequence[str], Sequence[str]], metadata: tuple[Metadata, Metadata]
) -> ReviewedRelation:
    """Two books as the classifier finds them, each alone in its cluster."""
    sides = []
    for own, known in zip(pages, metadata, strict=True):
        made = sketch(content_from_pages(own))
        sides.append(ComparedBook(made.pages, made.minhash, known))
    relation = relate(*sides)
    found = relation.classification
    return ReviewedRelation(
        found.kind, found.direction, found.confidence, relation.signals, relation.revised, *metadata, (1, 1)
    )


def _with_advertisements(shelf: Shelf, rng: np.random.Generator) -> Iterator[Judged]:
    """Books of two works and the same leaves of a third one behind both: no overlap that matters."""
    for first, second in list(pairwise(sorted(shelf.works))) * 2:
        one, other = shelf.works[first][0], shelf.works[second][0]
        third = shelf.others(1, [one, other], rng)[0]
        shorter = min(one.page_count, other.page_count, 400)
        leaves = round(shorter * float(rng.uniform(0.04, 0.16)))
        start = int(rng.integers(0, max(third.page_count - leaves, 1)))
        rate = float(rng.choice(_NOISE[:3]))
        sides = []
        for source in (one, other):
            own = [source.page(page) for page in range(min(source.page_count, 400))]
            shared = [third.page(page) for page in range(start, min(start + leaves, third.page_count))]
            place = len(own) if rng.random() < 0.7 else int(rng.integers(0, 12))
            own[place:place] = shared
            sides.append([corrupt(page, rate, rng) for page in own])
        known = [
            Metadata(title=each.title, authors=(each.author,) if each.author else (), year=each.year)
            for each in (one, other)
        ]
        relation = compared((sides[0], sides[1]), (known[0], known[1]))
        yield Judged(relation, "advertisements", relation.kind == "UNRELATED")


def ranked(judged: Sequence[Judged], rng: np.random.Generator) -> list[list[Cell]]:
    """Rows of how many planted relations are in the first of the queue."""
    wrong = [each for each in judged if not each.right]
    right = [each for each in judged if each.right]
    drawn = [(wrong[place], "wrong") for place in rng.integers(0, len(wrong), PLANTED)]
    drawn += [(right[place], "right") for place in rng.integers(0, len(right), PLANTED)]
    rest = rng.integers(0, len(right), RELATIONS - 2 * PLANTED)
    drawn += [(right[place], "others, right") for place in rest]
    worth = np.array([worth_of(described(each.relation, rng)).value for each, _ in drawn])
    first = np.argsort(-worth, kind="stable")[:PLANTED]
    found = Counter(drawn[place][1] for place in first)
    total = Counter(name for _, name in drawn)
    rows: list[list[Cell]] = [[name, total[name], found[name]] for name in total]
    sources = Counter(each.source for each, name in drawn if name == "wrong")
    hit = Counter(drawn[place][0].source for place in first if drawn[place][1] == "wrong")
    return rows + [[f"wrong: {name}", count, hit[name]] for name, count in sources.most_common()]


def described(relation: ReviewedRelation, rng: np.random.Generator) -> ReviewedRelation:
    """The relation under descriptions as catalogues have them, between clusters of any size."""
    left, right = (_described(known, rng) for known in (relation.left, relation.right))
    one, other = (int(size) for size in np.minimum(rng.geometric(0.4, 2), 50))
    return replace(relation, left=left, right=right, parts=(one, other))


def _described(known: Metadata, rng: np.random.Generator) -> Metadata:
    title, authors = known.title, known.authors
    if title and rng.random() < 0.3:
        title = title.partition(":")[0].partition(",")[0]
    if title and rng.random() < 0.2:
        title += _ADDED[int(rng.integers(len(_ADDED)))]
    if authors and rng.random() < 0.3:
        people = [name.partition("(")[0].strip() for name in authors]
        authors = tuple(f"{name.partition(',')[0]}, {name.partition(',')[2].strip()[:1]}." for name in people)
    return replace(
        known,
        title=title if rng.random() < 0.97 else None,
        authors=authors if rng.random() < 0.8 else (),
        year=known.year if rng.random() < 0.7 else None,
    )
