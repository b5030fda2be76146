"""Ranks of planted relations."""

from dataclasses import replace

import numpy as np

from app.core.model import Metadata
from app.core.relations.reviews import ReviewedRelation
from bench.quality.reviews import Judged, described, ranked

KNOWN = Metadata(title="The Salt Road: a novel", authors=("Moor, Jane (1850-1901)",), year=1898)
RIGHT = ReviewedRelation("SAME_TEXT", None, 1.0, None, None, KNOWN, KNOWN, (1, 1))
WRONG = replace(RIGHT, right=Metadata(title="Ferry", authors=("Ames, Ann",)))


def test_wrong_relations_come_first_and_every_row_is_counted() -> None:
    rows = ranked([Judged(RIGHT, "reprint", True), Judged(WRONG, "bound", False)], np.random.default_rng(1))
    counts = {row[0]: row[1:] for row in rows}
    assert [row[1] for row in rows] == [500, 500, 19_000, 500]
    assert counts["wrong"][1] == counts["wrong: bound"][1] > 400


def test_descriptions_vary_and_keep_the_surname() -> None:
    drawn = [described(RIGHT, np.random.default_rng(seed)).left for seed in range(40)]
    assert {name for each in drawn for name in each.authors} == {"Moor, Jane (1850-1901)", "Moor, J."}
    assert len({each.title for each in drawn}) > 3
