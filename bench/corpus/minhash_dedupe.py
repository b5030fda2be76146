"""Bookprint's deduplication beside datatrove's MinHash deduplication, on the same texts and cores."""

import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from app.readers.processes import cores
from bench.corpus import datatrove_minhash
from bench.corpus.copied_texts import (
    COPIES,
    LONGEST,
    OVERLAPPING,
    RATES,
    SHORTEST,
    CopiedText,
    copied_texts,
    write_files,
)
from bench.corpus.dedupe_runs import DedupeRun, Verdict, bookprint_dedupe
from bench.corpus.found_copies import FoundCopies, found_copies
from bench.corpus.stage_costs import measured_run
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import CannotMeasure, Cell, Section, Table

LANGUAGE, TEXTS, SEED = "en", 20_000, 21

BANDS: Mapping[str, tuple[int, int]] = {
    "datatrove, 14 bands of 8 values (default)": (14, 8),
    "datatrove, 28 bands of 4 values": (28, 4),
}
"""Settings of datatrove with the same number of values: the second finds what is less alike."""

_FIGURES = (
    *("wall s", "processor s", "memory, GB", "recall", "precision"),
    *("texts kept", "originals lost", "copies kept"),
)

_VARIABLE = "BOOKPRINT_DATATROVE"


def run(out_dir: Path) -> Section:
    """Three deduplications of 20,000 texts; about six minutes on two cores."""
    interpreter = os.environ.get(_VARIABLE)
    if not interpreter:
        raise CannotMeasure(
            f"Install datatrove[processing] and spacy in an environment of their own, and name its "
            f"interpreter: {_VARIABLE}=/path/to/python."
        )
    texts = copied_texts(list(corpus_books(corpus_folder())), LANGUAGE, TEXTS, SEED)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "texts"
        write_files(texts, inputs, cores())
        runs = {"bookprint dedupe": bookprint_dedupe(inputs, Path(folder) / "bookprint")}
        for number, (name, bands) in enumerate(BANDS.items()):
            runs[name] = datatrove_dedupe(interpreter, inputs, Path(folder) / f"datatrove-{number}", bands)
    return section(texts, runs)


def datatrove_dedupe(interpreter: str, inputs: Path, out: Path, bands: tuple[int, int]) -> DedupeRun:
    """Deduplicate the tables in a folder, one on each core."""
    script = str(Path(datatrove_minhash.__file__))
    arguments = [script, str(inputs), str(out), str(cores()), *map(str, bands)]
    cost = measured_run(arguments, interpreter)
    kept = {id_ for path in (out / "kept").glob("*.parquet") for id_ in _ids(path)}
    verdicts: dict[str, Verdict] = {}
    for rank, path in enumerate(sorted(inputs.glob("*.parquet"))):
        found = (out / "clusters" / f"{rank:06}.clusters").read_bytes()
        clusters = dict(struct.iter_unpack("<2I", found))
        for row, id_ in enumerate(_ids(path)):
            verdicts[id_] = Verdict(str(clusters.get(row, id_)), id_ in kept)
    return DedupeRun(cost, verdicts)


def section(texts: Sequence[CopiedText], runs: Mapping[str, DedupeRun]) -> Section:
    """Two tables: what each run took and found, and what it found of copies at each error rate."""
    found = {name: _found(texts, run) for name, run in runs.items()}
    return Section(
        title="Deduplication of short texts beside MinHash",
        command=f"{_VARIABLE}=… python -m bench minhash_dedupe",
        tables=[
            Table(
                ["method", *_FIGURES],
                [_row(name, run, found[name]) for name, run in runs.items()],
                f"{len(texts):,} texts of which {len({text.original for text in texts}):,} are originals, "
                f"on {cores()} cores",
            ),
            Table(
                ["character errors in the copy, %", *runs],
                [[100 * rate, *(_recall(texts, run, rate) for run in runs.values())] for rate in RATES],
                "Share of the copies that are in one cluster with their original",
            ),
        ],
        notes=[
            f"Stretches of {SHORTEST:,} to {LONGEST:,} characters of the corpus's English books, one book of "
            f"each work; copies of one stretch after the other: {', '.join(map(str, COPIES))}. Each copy has "
            f"one of the error rates below. Every {OVERLAPPING}th stretch shares a half with the one before "
            f"it, and is no copy of it. Seed {SEED}.",
            "Recall and precision are of pairs in one cluster. An original is lost if no copy of it is kept. "
            "Copies kept are those beyond one of each original. Times are of all processes, from the Parquet "
            "tables to the tables without the copies; Bookprint also compares page by page, says how the "
            "texts are related, and picks the best copy.",
        ],
    )


def _row(name: str, run: DedupeRun, found: FoundCopies) -> list[Cell]:
    cost = run.cost
    return [
        *(name, cost.seconds, cost.processor_seconds, cost.peak_bytes / 2**30),
        *(f"{found.recall:.4f}", f"{found.precision:.4f}"),
        *(found.kept, found.originals_lost, found.copies_kept),
    ]


def _found(texts: Sequence[CopiedText], run: DedupeRun) -> FoundCopies:
    verdicts = [run.verdicts[text.id] for text in texts]
    return found_copies(
        [text.original for text in texts],
        [verdict.cluster for verdict in verdicts],
        [verdict.keep for verdict in verdicts],
    )


def _recall(texts: Sequence[CopiedText], run: DedupeRun, rate: float) -> float:
    """Share of the copies at an error rate that are in one cluster with their original."""
    originals = {text.original: run.verdicts[text.id].cluster for text in texts if text.error_rate is None}
    hits = [
        run.verdicts[text.id].cluster == originals[text.original]
        for text in texts
        if text.error_rate == rate and text.original in originals
    ]
    return sum(hits) / len(hits)


def _ids(path: Path) -> list[str]:
    return [str(id_) for id_ in pq.read_table(path, columns=["id"]).column("id").to_pylist()]
