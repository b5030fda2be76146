"""Runs of the stages on simulated corpora, and the figures of each, which are kept beside the results."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.corpus.simulated_corpus import SimulatedCorpus, write_sketches
from bench.corpus.stage_costs import NOTHING, StageCost, measure
from bench.harness.report import machine

LIGHT = (NOTHING, "postings", "candidates")
HEAVY = (*LIGHT, "relations", "clusters", "books")


@dataclass(frozen=True, slots=True)
class Run:
    """What is run."""

    books: int
    pages: bool  # whether page signatures are simulated, and relations computed
    block_books: int | None = None  # None: as many as by default

    @property
    def name(self) -> str:
        """A name for files."""
        blocks = f"-blocks-of-{self.block_books}" if self.block_books else ""
        return f"corpus_scale-{self.books}{'-pages' if self.pages else ''}{blocks}"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run took."""

    run: Run
    blocks: int
    sketches_bytes: int
    stages: dict[str, StageCost]
    machine: str

    def processor_seconds(self, stage: str) -> float:
        """Of a stage, without the engine's start."""
        return self.stages[stage].processor_seconds - self.stages[NOTHING].processor_seconds

    @property
    def pairs(self) -> int:
        """Candidates."""
        return self.stages["candidates"].rows

    def write(self, out_dir: Path) -> None:
        """Keep the figures."""
        text = json.dumps(asdict(self), indent=1) + "\n"
        (out_dir / f"{self.run.name}.json").write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "RunFigures":
        """Figures that were kept."""
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        stages = {name: StageCost(**cost) for name, cost in kept.pop("stages").items()}
        return cls(run=Run(**kept.pop("run")), stages=stages, **kept)


def measured(run: Run, folder: Path) -> RunFigures:
    """Run the stages below a folder, where sketches that lie there already are taken."""
    out = folder / f"{run.books}{'-pages' if run.pages else ''}"
    if not out.exists():
        write_sketches(SimulatedCorpus(run.books, pages=run.pages), out)
    costs = measure(out, HEAVY if run.pages else LIGHT, block_books=run.block_books)
    return RunFigures(
        run=run,
        blocks=len(list((out / "work" / "postings").iterdir())),
        sketches_bytes=sum(file.stat().st_size for file in (out / "sketches").iterdir()),
        stages={cost.stage: cost for cost in costs},
        machine=machine(),
    )


def kept_figures(out_dir: Path) -> Iterator[RunFigures]:
    """The figures of all runs that were kept, the smaller ones first."""
    found = [RunFigures.read(path) for path in out_dir.glob("corpus_scale-*.json")]
    yield from sorted(found, key=lambda each: (each.run.books, each.blocks))
