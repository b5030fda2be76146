"""The stages of a corpus in their order; those that are finished, and depend on nothing new, are skipped."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version

from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES, DEFAULT_SAMPLE
from workers.batch import storage
from workers.batch.corpus import Corpus
from workers.batch.progress import CorpusProgress, FinishedStage
from workers.batch.splits import CorpusInput
from workers.batch.stages import books, candidates, clusters, postings, relations, sketch

_RECIPES = {
    "fingerprint": DEFAULT_FINGERPRINT,
    "minhash": DEFAULT_MINHASH,
    "sample": DEFAULT_SAMPLE,
    "pages": DEFAULT_PAGES,
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A step that writes tables from those of the steps before it."""

    name: str
    run: Callable[[Corpus], None]
    tables: Sequence[str]
    version: int = 1  # changes when its tables do
    is_optioned: bool = False  # whether options decide what it writes


def stages_of(source: CorpusInput) -> list[Stage]:
    """All stages, in order."""
    return [
        Stage("sketch", partial(sketch.run, source=source), ["sketches", "refused"]),
        Stage("postings", postings.run, [postings.FOLDER], is_optioned=True),
        Stage("candidates", candidates.run, ["candidates", "capped", "work/passed_over"]),
        Stage("relations", relations.run, ["relations", "page_maps"]),
        Stage("clusters", clusters.run, ["clusters"], version=2),
        Stage("books", books.run, ["books"]),
    ]


def run(corpus: Corpus, source: CorpusInput, tell: Callable[[str], None]) -> CorpusProgress:
    """Compute what is missing of a corpus; `tell` hears of each stage. Raises InvalidInput."""
    progress = CorpusProgress.read(corpus.out)
    corpus.engine.end_session(progress.session)
    progress.session = corpus.engine.spark.session_id
    options = {"block_books": corpus.options.block_books, **asdict(corpus.options.limits)}
    progress.input, progress.recipes, progress.options = source.key, _RECIPES, options
    progress.program, progress.complete = version("bookprint"), False
    key = _key(source.key, _RECIPES)
    for stage in stages_of(source):
        key = _key(key, stage.name, stage.version, options if stage.is_optioned else None)
        known = progress.stages.get(stage.name)
        if known is not None and known.key == key:
            tell(f"{stage.name}: finished on {known.finished_at}, skipped")
            continue
        progress.stages.pop(stage.name, None)
        progress.write(corpus.out)
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
