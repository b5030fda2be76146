"""Runs of `bookprint dedupe`, measured, and what they say of each book."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bench.corpus.stage_costs import ProcessCost, measured_run


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a book."""

    cluster: str
    keep: bool


@dataclass(frozen=True, slots=True)
class DedupeRun:
    """A run of a whole deduplication."""

    cost: ProcessCost
    verdicts: dict[str, Verdict]  # by id


def bookprint_dedupe(inputs: Path, out: Path, options: Sequence[str] = ()) -> DedupeRun:
    """Deduplicate the tables in a folder; raises RuntimeError where it fails."""
    command = ["-m", "app.cli", "dedupe", str(inputs), "--out", str(out), *options]
    cost = measured_run(command)
    rows = pq.read_table(out / "dedupe" / "clusters.parquet").to_pylist()
    return DedupeRun(cost, {row["external_id"]: Verdict(row["cluster"], row["keep"]) for row in rows})
