"""The stages of a corpus in order. Finished stages are skipped unless their input has changed.

The folder of a corpus contains a record of its input and of the finished stages.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from bookprint_core.errors import InvalidInput
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES, DEFAULT_SAMPLE
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.splits import CorpusInput
from bookprint_corpus.stages import books, candidates, clusters, postings, relations, sketch
from bookprint_corpus.tables import PROGRESS, VERSION


@dataclass(frozen=True, slots=True)
class FinishedStage:
    """A stage that has written its tables."""

    key: str  # of everything that the tables depend on
    seconds: float
    rows: Mapping[str, int]  # by table
    finished_at: str  # ISO 8601


@dataclass(slots=True)
class CorpusProgress:
    """Progress of a corpus, stored in its folder."""

    input: str = ""  # key of the input
    recipes: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, int] = field(default_factory=dict)
    program: str = ""  # version of Bookprint
    session: str = ""  # the engine's session, which a killed driver leaves open
    stages: dict[str, FinishedStage] = field(default_factory=dict)
    complete: bool = False
    version: int = VERSION

    def write(self, out: str) -> None:
        """Write the progress into the folder. Raises InvalidInput if that fails."""
        with _usable(out):
            storage.write_text(out, PROGRESS, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, out: str) -> "CorpusProgress":
        """Return the progress in a folder; empty progress if there is no file. Raises InvalidInput."""
        with _usable(out):
            text = storage.read_text(out, PROGRESS)
        if text is None:
            return cls()
        try:
            document: dict[str, Any] = json.loads(text)
            stages = {name: FinishedStage(**stage) for name, stage in document.pop("stages").items()}
            progress = cls(**document, stages=stages)
        except (ValueError, TypeError, KeyError) as exc:
            raise InvalidInput(
                f"{out}/{PROGRESS} is not valid. Choose another --out, or remove the file.", "out"
            ) from exc
        if progress.version != VERSION:
            raise InvalidInput(
                f"{out} was written by another version of Bookprint. Choose another --out.", "out"
            )
        return progress


@contextmanager
def _usable(out: str) -> Iterator[None]:
    """Convert errors of reading or writing the folder into InvalidInput."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as exc:
        reason = os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else exc
        raise InvalidInput(f"{out} cannot be used: {reason}. Choose another --out.", "out") from exc


_RECIPES = {
    "fingerprint": DEFAULT_FINGERPRINT,
    "minhash": DEFAULT_MINHASH,
    "sample": DEFAULT_SAMPLE,
    "pages": DEFAULT_PAGES,
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Step that writes tables from the tables of earlier stages."""

    name: str
    run: Callable[[Corpus], None]
    tables: Sequence[str]
    version: int = 1  # changes when the form of its tables changes
    is_optioned: bool = False  # whether its tables depend on the options


def stages_of(source: CorpusInput) -> list[Stage]:
    """Return all stages, in order."""
    return [
        Stage("sketch", partial(sketch.run, source=source), ["sketches", "refused"]),
        Stage("postings", postings.run, [postings.FOLDER], is_optioned=True),
        Stage("candidates", candidates.run, ["candidates", "capped", "work/passed_over"]),
        Stage("relations", relations.run, ["relations", "page_maps"]),
        Stage("clusters", clusters.run, ["clusters"], version=2),
        Stage("books", books.run, ["books"]),
    ]


def run(corpus: Corpus, source: CorpusInput, tell: Callable[[str], None]) -> CorpusProgress:
    """Run the unfinished stages of a corpus. `tell` gets lines about each stage. Raises InvalidInput."""
    progress = CorpusProgress.read(corpus.out)
    corpus.engine.end_session(progress.session)
    progress.session = corpus.engine.spark.session_id
    options = {"block_books": corpus.options.block_books, **asdict(corpus.options.limits)}
    progress.input, progress.recipes, progress.options = source.key, _RECIPES, options
    progress.program, progress.complete = version("bookprint-corpus"), False
    key = _key(source.key, _RECIPES)
    stages = stages_of(source)
    for number, stage in enumerate(stages, 1):
        key = _key(key, stage.name, stage.version, options if stage.is_optioned else None)
        known = progress.stages.get(stage.name)
        if known is not None and known.key == key:
            tell(f"{stage.name}: finished on {known.finished_at}, skipped")
            continue
        progress.stages.pop(stage.name, None)
        progress.write(corpus.out)
        tell(f"{stage.name}: stage {number} of {len(stages)} …")
        begun = time.monotonic()
        stage.run(corpus)
        finished = _finished(corpus.out, stage, key, time.monotonic() - begun)
        progress.stages[stage.name] = finished
        progress.write(corpus.out)
        rows = ", ".join(f"{count:,} {table}" for table, count in finished.rows.items() if "/" not in table)
        tell(f"{stage.name}: {finished.seconds:,.1f} s{rows and ': '}{rows}")
    progress.complete = True
    progress.write(corpus.out)
    return progress


def _finished(out: str, stage: Stage, key: str, seconds: float) -> FinishedStage:
    rows = {table: storage.row_count(out, table) for table in stage.tables}
    return FinishedStage(key, round(seconds, 3), rows, datetime.now(UTC).isoformat(timespec="seconds"))


def _key(*parts: object) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
