"""Precision of what Bookprint finds: 300 pairs drawn uniformly from all found ones, read by two readers.

An answer is one of CLASSES; then follows which book is the part, or whether copies have the same page breaks.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.confusion import wilson
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.public.manifest import public_books
from bookprint_core.matching.verification import evidence, is_named
from bookprint_core.model import Metadata, Sketch
from bookprint_core.relations.relation import ComparedBook, relate
from bookprint_core.signatures.sketch import sketch

LABELS = Path(__file__).with_name("found_pairs.csv")
CLASSES = ("SAME_TEXT", "PART", "OVERLAPPING_TEXT", "PARATEXT_ONLY", "REVISED", "UNRELATED")
_SAID = {"SAME_PAGINATION": "SAME_TEXT same", "DIFFERENT_PAGINATION": "SAME_TEXT other"}
_SAID |= {"INSUFFICIENT_TEXT": "UNRELATED", "contained_in": "PART A", "contains": "PART B"}


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """The answers on a pair."""

    readers: tuple[str, str]  # empty: not read
    said: str  # by Bookprint's relation
    near: bool  # named by the verified lookup


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Relate the drawn pairs; about half a minute of processor time."""
    if options.data is None or not (options.data / "texts").is_dir():
        raise CannotMeasure("Name the folder of `python -m bench fetch OUT` with --data.")
    pairs = list(_drawn_pairs(options.data))
    tables = [answers(pairs, number) for number in (0, 1) if pairs[0].readers[number]]
    if len(tables) == 2:
        tables.append(agreement([pair.readers for pair in pairs]))
    title = "Pairs drawn from all that are found, read by two readers"
    return Section(title, "python -m bench found_pairs --data OUT", tables)


def _drawn_pairs(fetched: Path) -> Iterator[DrawnPair]:
    with LABELS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    drawn = {row[side] for row in rows for side in "ab"}
    books = {
        name: _signed(book)
        for book in corpus_books(corpus_folder())
        if (name := f"corpus/{book.id}") in drawn
    }
    for public in public_books():
        if public.id in drawn:
            books[public.id] = _signed(public.read(fetched))
    for row in rows:
        (one, left), (other, right) = books[row["a"]], books[row["b"]]
        found = relate(left, right).classification
        said = _SAID.get(found.direction or found.kind, found.kind)
        yield DrawnPair((row["one"], row["two"]), said, is_named(evidence(one, other)))


def _signed(book: CorpusBook) -> tuple[Sketch, ComparedBook]:
    made = sketch(book.content)
    return made, ComparedBook(made.pages, made.minhash, Metadata(title=book.title or None, year=book.year))


def answers(pairs: Sequence[DrawnPair], reader: int) -> Table:
    """What a reader calls the pairs that are found, and what Bookprint's relation says of these."""
    columns = ("SAME_TEXT", "PART", "OVERLAPPING_TEXT", "UNRELATED")
    read = [(pair.readers[reader].partition(" ")[0], pair) for pair in pairs]
    near = Counter(label for label, pair in read if pair.near)
    other = Counter(label for label, pair in read if not pair.near)
    said = Counter((label, pair.said.partition(" ")[0]) for label, pair in read)
    rows: list[list[Cell]] = [
        [each, near[each], other[each], *(said[each, answer] for answer in columns)] for each in CLASSES
    ]
    for name, wanted in {"related, %": CLASSES[:-1], "paratext alone, %": ("PARATEXT_ONLY",)}.items():
        shares = (wilson(sum(c[w] for w in wanted) / max(1, c.total()), c.total()) for c in (near, other))
        rows.append([name, *map(str, shares), *("",) * len(columns)])
    said_by = (f"machine: {each}" for each in columns)
    headers = ["the reader says", "near-duplicates", "related alone", *said_by]
    return Table(headers, rows, f"Reader {reader + 1}, {len(pairs)} pairs")


def agreement(readings: Sequence[tuple[str, str]]) -> Table:
    """How often two readers say the same class, and Cohen's kappa."""
    ones, twos = (
        Counter(answer.partition(" ")[0] for answer in side) for side in zip(*readings, strict=True)
    )
    same = sum(one.partition(" ")[0] == two.partition(" ")[0] for one, two in readings) / len(readings)
    chance = sum(ones[each] * twos[each] for each in CLASSES) / len(readings) ** 2
    rows: list[list[Cell]] = [
        ["same class, %", str(wilson(same, len(readings)))],
        ["Cohen's kappa", round((same - chance) / (1 - chance), 2)],
    ]
    return Table(["two readers", "all pairs"], rows, "Both readers")
