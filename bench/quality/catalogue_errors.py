"""ISBNs as catalogues have them, with made errors: what ISBN, content and both together find."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.data.paper_sets import HARD, SetPlan, signed_set
from bench.harness.report import Cell, Section, Table
from bench.quality.identified_pairs import SHORT, WHOLE, IdentifiedPairs, equal, paper_pairs

SEED = 20261122
MISSING = (0.1, 0.2, 0.3)
WRONG = 0.05
SHARED = 0.3
"""Share of the works all of whose volumes have one ISBN."""

ABSENT = -1

Isbns = NDArray[np.int64]
Accepted = NDArray[np.bool_]


def run(out_dir: Path) -> Section:
    """Compare all pairs of three sets; some minutes once the sets are made."""
    rows: list[list[Cell]] = []
    captions = []
    for plan in (SHORT, HARD, WHOLE):
        texts, pairs = signed_set(plan), paper_pairs(plan)
        captions.append(f"{plan.name}: {texts.caption}, {np.unique(texts.works).size} works")
        rows += _rows(plan, pairs, texts.books, texts.works)
    return Section(
        title="ISBN and content under catalogue errors",
        command="python -m bench catalogue_errors",
        tables=[
            Table(
                headers=["set", "ISBN missing", "rule", "precision", "recall", "F1"],
                rows=rows,
                caption="Pairs of copies found by ISBN alone, by content alone, and by composite identifiers",
            )
        ],
        notes=[
            f"Sets ({'; '.join(captions)}) are made as in Vladimir et al. (2015): each canonical text is a "
            "book with an ISBN of its own, its noisy versions are copies of it, and texts cut from one work "
            f"are its volumes. Made errors, seed {SEED}: in {SHARED:.0%} of the works all volumes have one "
            f"ISBN; {WRONG:.0%} of the copies have the ISBN of another book, and a share of them has none. "
            "Content alone and both follow the verdicts of `bookprint compare` as shipped.",
        ],
    )


def _rows(
    plan: SetPlan, pairs: IdentifiedPairs, books: NDArray[np.int64], works: NDArray[np.int64]
) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    contents = {name: pairs.verdicts(with_minhash=name == "`bp2:`") for name in ("`bp1:`", "`bp2:`")}
    for missing in MISSING:
        isbns = made_isbns(books, works, missing, np.random.default_rng([SEED, round(100 * missing)]))
        same_isbn = equal(isbns) & equal_known(isbns)
        rules: list[tuple[str, Accepted]] = [("ISBN", same_isbn)]
        for name, said in contents.items():
            rules += [(name, said.same), (f"{name} and ISBN", said.same | (said.same_with_isbn & same_isbn))]
        rows += [
            [plan.name, f"{missing:.0%}", rule, *_figures(accepted, pairs.right)] for rule, accepted in rules
        ]
    return rows


def made_isbns(
    books: NDArray[np.int64], works: NDArray[np.int64], missing: float, rng: np.random.Generator
) -> Isbns:
    """The ISBN of each text, as a number; ABSENT where it has none. Shapes (n,)."""
    names = np.unique(works)
    shared = np.isin(works, rng.choice(names, round(SHARED * names.size), replace=False))
    isbns = np.where(shared, books.max() + 1 + works, books)
    wrong = rng.random(books.size) < WRONG
    isbns = np.where(wrong, rng.permutation(isbns), isbns)
    return np.where(rng.random(books.size) < missing, ABSENT, isbns).astype(np.int64)


def equal_known(isbns: Isbns) -> Accepted:
    """Whether both texts of each pair have an ISBN."""
    known = isbns != ABSENT
    return np.concatenate([known[row + 1 :] & known[row] for row in range(known.size)])


def _figures(accepted: Accepted, right: Accepted) -> Sequence[float]:
    hits = int((accepted & right).sum())
    precision, recall = hits / int(accepted.sum()), hits / int(right.sum())
    return precision, recall, 2 * precision * recall / (precision + recall)
