"""The large set of whole books, made and signed within the corpus pipeline (Vladimir et al. 2015, 5.2)."""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.core.clusters.clustering import KINDS
from bench.corpus.stage_costs import measure, measured_run
from bench.data.hard_set import COPIES
from bench.data.whole_books import DERIVATIVES
from bench.harness.report import Cell, Section, Table

_SAMPLE = 5_000
_MAKE = "bench.corpus.made_sketches:write_made_sketches"
_STAGES = ("postings", "candidates", "relations", "clusters")

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MadeBooks:
    """The texts of a set, in the order of their numbers."""

    books: Numbers  # (n,) as in the tables
    classes: Numbers
    works: Numbers
    derivatives: int

    @classmethod
    def read(cls, out: Path) -> "MadeBooks":
        """Those that `sketches` has."""
        table = _read(out, "sketches", ["book", "external_id"]).sort_by("book")
        names = np.array([str(name).split("-") for name in table["external_id"].to_pylist()], dtype=np.int64)
        derivatives = int(np.count_nonzero(names[:, 1]))
        return cls(table["book"].to_numpy(), names[:, 0], names[:, 2], derivatives)

    def rows(self, numbers: Numbers) -> Numbers:
        """Where these books stand."""
        return np.searchsorted(self.books, numbers).astype(np.int64)


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Make so many derivatives (`--books`; 5,000), and run all stages on them; ten minutes of two cores."""
    wanted = options.books or _SAMPLE
    classes = -(-wanted // (sum(COPIES) // 2))
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        out = Path(folder)
        made = measured_run(["-m", "bench.corpus.one_stage", str(out), _MAKE, str(classes)])
        stages = {cost.stage: cost.processor_seconds for cost in measure(out, _STAGES)}
        books = MadeBooks.read(out)
        rows = _figures(out, books)
    texts = books.books.size
    seconds = {"make and sign": made.processor_seconds, **stages}
    return Section(
        title="Vladimir et al. (2015): whole books, made and signed within the pipeline of a corpus",
        command="python -m bench identifiers_corpus",
        tables=[
            Table(
                [
                    "what says that two texts are of one class",
                    "precision",
                    "recall",
                    "F1",
                    "F1 of pairs",
                    "false pairs of two works",
                    "best F1, Vladimir et al.",
                ],
                rows,
                f"{books.derivatives:,} derivatives of {classes:,} classes, {texts:,} texts in all",
            ),
            Table(
                ["stage", "processor seconds", "ms per text"],
                [[name, spent, 1000 * spent / texts] for name, spent in seconds.items()],
                "Processor time of all processes, the engine's start included",
            ),
        ],
        notes=[
            f"The set is that of `python -m bench identifiers_whole_books`, its first {classes:,} classes: a "
            f"sample of the {DERIVATIVES:,} derivatives, whose texts are made, signed and forgotten by the "
            "tasks of the first stage. Precision and recall are means over queries. A pair counts if both "
            "are of one class or of two works, as there.",
            "The whole set was not run: each of its 325 canonical texts has some 260 texts, each a "
            "near-duplicate of each, so that ten million pairs would be compared page by page.",
        ],
    )


def _figures(out: Path, books: MadeBooks) -> list[list[Cell]]:
    candidates = _read(out, "candidates", ["left", "right", "near_duplicate"])
    relations = _read(out, "relations", ["left", "right", "kind"])
    near = candidates.filter(candidates["near_duplicate"])
    same = relations.filter(pc.is_in(relations["kind"], pa.array(sorted(KINDS["same_text"]))))
    clusters = _read(out, "clusters", ["by", "founder", "book"])
    members = clusters.filter(pc.is_in(clusters["by"], pa.array(["same_text"])))
    return [
        _row("candidates that are near-duplicates", books, *_pairs(near)),
        _row("relations of the same text", books, *_pairs(same)),
        _row("clusters of the same text", books, *_pairs_of_members(members)),
    ]


def _pairs(table: pa.Table) -> tuple[Numbers, Numbers]:
    return table["left"].to_numpy(), table["right"].to_numpy()


def _pairs_of_members(members: pa.Table) -> tuple[Numbers, Numbers]:
    table = members.sort_by([("founder", "ascending"), ("book", "ascending")])
    founders, numbers = table["founder"].to_numpy(), table["book"].to_numpy()
    ends = np.append(np.flatnonzero(np.diff(founders)) + 1, founders.size)
    left, right, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for end in ends.tolist():
        first, second = np.triu_indices(end - start, 1)
        left.append(numbers[start:end][first])
        right.append(numbers[start:end][second])
        start = end
    return np.concatenate(left), np.concatenate(right)


def _row(name: str, books: MadeBooks, left: Numbers, right: Numbers) -> list[Cell]:
    """The figures of pairs that something says are of one class, each once."""
    one, two = books.rows(left), books.rows(right)
    right_pair = books.classes[one] == books.classes[two]
    two_works = books.works[one] != books.works[two]
    counted = right_pair | two_works
    found = _per_book(books, one[counted], two[counted])
    hits = _per_book(books, one[right_pair], two[right_pair])
    _, of_class, sizes = np.unique(books.classes, return_inverse=True, return_counts=True)
    wanted = sizes[of_class] - 1
    precision = np.where(found > 0, hits / np.maximum(found, 1), 1.0)
    return [
        name,
        float(precision.mean()),
        float((hits / wanted).mean()),
        float((2 * hits / (found + wanted)).mean()),
        float(2 * hits.sum() / (found.sum() + wanted.sum())),
        int(np.count_nonzero(two_works)),
        0.75,
    ]


def _per_book(books: MadeBooks, one: Numbers, two: Numbers) -> Numbers:
    return np.bincount(np.concatenate([one, two]), minlength=books.books.size).astype(np.int64)


def _read(out: Path, table: str, columns: Sequence[str]) -> pa.Table:
    return pq.read_table(out / table, columns=list(columns))
