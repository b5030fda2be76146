"""The stage of sketches on texts of 600 KB: what it takes, and what reading and signing alone take."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.core.signatures.sketch import sketch
from app.core.warm_up import warm_up
from app.synthesis.language import language
from app.synthesis.library import paginate
from app.synthesis.noise import corrupt
from app.synthesis.prose import prose, world
from bench.corpus.simulated_pages import CHARACTERS, PAGES
from bench.corpus.stage_costs import NOTHING, ProcessCost, measure, measured_run
from workers.batch.corpus import Corpus
from workers.batch.splits import CorpusInput, corpus_input
from workers.batch.stages import sketch as sketch_stage

BOOKS = 300

_SEED = 20261123
_WORKS = 12
_ERRORS = 0.01
_READ_DIRECTLY = 60
_INPUT = "input"


@dataclass(frozen=True, slots=True)
class SigningCost:
    """What signing takes, for each book."""

    books: int
    stage: ProcessCost  # of all books
    start_seconds: float  # processor time of the engine's start, a part of it
    reading_seconds: float  # of one book, from JSON Lines, in this process
    signing_seconds: float  # of one book, by `sketch` alone

    @property
    def stage_seconds(self) -> float:
        """Processor seconds of the stage for one book, reading left out."""
        return (self.stage.processor_seconds - self.start_seconds) / self.books - self.reading_seconds


def signing_cost(folder: Path) -> SigningCost:
    """Measure the stage on made-up books below an empty folder."""
    _write_books(folder / _INPUT)
    function = f"{__name__}:sign_input"
    stage = measured_run(["-m", "bench.corpus.one_stage", str(folder), function])
    [start] = measure(folder, [NOTHING])
    warm_up()
    reading, signing = 0.0, 0.0
    [split, *_] = _input(folder).splits
    for number, book in enumerate(split.books()):
        begun = time.process_time()
        content = book.read().content
        read = time.process_time()
        assert content is not None
        sketch(content)
        reading, signing = reading + read - begun, signing + time.process_time() - read
        if number + 1 == _READ_DIRECTLY:
            break
    return SigningCost(
        books=BOOKS,
        stage=stage,
        start_seconds=start.processor_seconds,
        reading_seconds=reading / _READ_DIRECTLY,
        signing_seconds=signing / _READ_DIRECTLY,
    )


def sign_input(corpus: Corpus) -> None:
    """The stage of sketches on what lies in the corpus' folder."""
    sketch_stage.run(corpus, _input(Path(corpus.out)))


def _input(folder: Path) -> CorpusInput:
    return corpus_input([str(folder / _INPUT)], {})


def _write_books(folder: Path) -> None:
    """Copies with errors of a few works, dealt to files, so that every core has some to read."""
    folder.mkdir(parents=True)
    tongue = language(_SEED)
    rng = np.random.default_rng(_SEED)
    works = [prose(world(tongue, rng, rng), PAGES * CHARACTERS, rng) for _ in range(_WORKS)]
    per_file = BOOKS // 4
    for first in range(0, BOOKS, per_file):
        with (folder / f"books-{first:05}.jsonl").open("w", encoding="utf-8") as lines:
            for number in range(first, first + per_file):
                pages = paginate(corrupt(works[number % _WORKS], _ERRORS, rng), CHARACTERS)
                lines.write(json.dumps({"id": str(number), "pages": pages}, ensure_ascii=False) + "\n")
