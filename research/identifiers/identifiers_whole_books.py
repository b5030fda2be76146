"""The large set with books of whole length: distances, bands and verification (Vladimir et al. 2015, 5.2)."""

import argparse
from dataclasses import fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.matching.verification import VERIFICATION
from bench.data.hard_set import EDITED, ERROR_RATE
from bench.harness.report import Cell, Section, Table
from research.identifiers.candidate_pairs import CandidatePairs, candidate_pairs
from research.identifiers.identifiers_distance import (
    ASKED,
    distance_plots,
    distance_table,
    finder_curves,
    join_table,
    quality_table,
)
from research.identifiers.identifiers_verified import accepted, figures
from research.identifiers.whole_books import DERIVATIVES, MEAN, SHORTEST, WholeBooks, whole_books

JOINED = (7, 23)
"""Distances of the timed joins; beyond, pairs of one stretch and of one language no longer fit in memory."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that no other benchmark has."""
    parser.add_argument(
        "--derivatives",
        type=int,
        default=DERIVATIVES,
        metavar="NUMBER",
        help=f"identifiers_whole_books: texts to make and sign, 12 ms each; default {DERIVATIVES:,}",
    )


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Make and sign the set, then ask for every text; a quarter of an hour, minutes once it is kept."""
    return measure(out_dir, whole_books(options.derivatives))


def measure(out_dir: Path, books: WholeBooks) -> Section:
    """The tables of the set, and its plots in `out_dir`."""
    texts = books.texts
    caption = f"{np.count_nonzero(books.is_derivative):,} derivatives of whole books"
    curves = finder_curves(texts, texts.works)
    plots = distance_plots(out_dir, "whole-length books", curves)
    return Section(
        title="Vladimir et al. (2015): as many derivatives, as long as whole books",
        command="python -m research identifiers_whole_books",
        tables=[
            set_table(books),
            quality_table(curves, caption),
            verified_table(books),
            join_table(texts, caption, JOINED),
            distance_table(curves, caption),
        ],
        notes=[
            f"Errors of 0 to {ERROR_RATE:.0%} and 1 to 15 derivatives a class, as there; the sentences lost "
            f"or foreign, 0 to {EDITED:.0%}, are our choice. What differs: they have 9,000 works. Here works "
            f"of the corpus and of Project Gutenberg with at least {SHORTEST:,} characters, no two of them "
            f"near-duplicates, are left whole or cut into equal stretches of about {MEAN:,} characters. Each "
            "stretch is the canonical text of many classes, which have derivatives of their own. A query is "
            "compared with its class and with all classes of other works. Other classes of its own work are "
            "neither right nor wrong. So a query meets as many strangers as there, but of fewer works, "
            "and none from its own work. Their 75,000 may count the canonical texts; that length is their "
            "28 GB by 75,000, a byte taken as a character.",
            f"Precision and recall are means over queries. By bands, up to {ASKED:,} evenly spread texts "
            "are asked against all. The verified rule is that of `python -m research identifiers_verified`, "
            "and every text asks; nothing of it was chosen on these stretches. Works that the rule takes "
            "for near-duplicates of one chosen before are left out by that very rule, so false pairs of two "
            "works come by lent sentences alone: this set cannot show how often the rule confuses works. "
            "Joins give all pairs, those of one stretch included. The times of Vladimir et al. are of an "
            "Intel Core 2 Quad at 2.66 GHz. No time includes signing.",
            "False pairs of two works are mostly with a Chinese book without full stops (`kr-KR3j0080-WYG`): "
            "sentences lent from it are 400 characters long, so that its borrowers hold much of it. Those of "
            "one work are nearly all of the CIA World Factbook and the Bible, which repeat themselves.",
            *(f"![{title}](results/{name})" for title, name in plots),
        ],
    )


def set_table(books: WholeBooks) -> Table:
    """What the set is made of, beside theirs."""
    derived = books.is_derivative
    lengths, sizes = (of[books.stretches[derived]].mean() for of in (books.lengths, books.sizes))
    ours: list[Cell] = [
        "here",
        int(np.count_nonzero(derived)),
        int(np.unique(books.texts.books).size),
        books.lengths.size,
        books.works,
        round(float(lengths)),
        round(float(sizes) / 1000),
        round(float(sizes) * int(np.count_nonzero(derived)) / 1e9, 1),
    ]
    return Table(
        headers=[
            "set",
            "derivatives",
            "classes",
            "canonical texts",
            "works",
            "characters, mean",
            "kB in UTF-8, mean",
            "GB in all",
        ],
        rows=[["Vladimir et al.", 75_000, 9_000, 9_000, 9_000, None, None, 28], ours],
        caption="The sets",
    )


def verified_table(books: WholeBooks) -> Table:
    """What the verified rule finds for every text."""
    texts = books.texts
    proposed = candidate_pairs(
        texts, VERIFICATION.distance_unsampled, VERIFICATION.min_shared, originals=books.stretches
    )
    verdicts = accepted(texts, proposed)
    compared = books.compared(proposed.query, proposed.other)
    recall_of_candidates, precision, recall, f1, f1_of_pairs, _, false_pairs = figures(
        texts, chosen(proposed, compared), verdicts[compared]
    )
    of_one_work = int(np.count_nonzero(verdicts & ~compared)) // 2
    is_false = verdicts & (texts.works[proposed.query] != texts.works[proposed.other])
    ends = texts.works[np.stack([proposed.query, proposed.other])[:, is_false]]
    of_one_book = int(np.bincount(ends.ravel(), minlength=1).max()) // 2
    cells = [recall_of_candidates, precision, recall, f1, f1_of_pairs, of_one_work, false_pairs, of_one_book]
    return Table(
        headers=[
            "recall of candidates",
            "precision",
            "recall",
            "F1",
            "F1 of pairs",
            "false pairs of one work",
            "false pairs of two works",
            "most of one work among them",
            "best F1, Vladimir et al.",
        ],
        rows=[[*cells, 0.75]],
        caption="Verified near-duplicates; pairs of two stretches of one work are only counted",
    )


def chosen(pairs: CandidatePairs, of: NDArray[np.bool_]) -> CandidatePairs:
    """Some of the pairs."""
    return CandidatePairs(**{column.name: getattr(pairs, column.name)[of] for column in fields(pairs)})
