"""A corpus whose processes are killed in the midst of each stage: the next run makes the same tables of it."""

import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.readers.tables.corpus_tables import TABLES
from tests.workers.engines.by_corpus import sorted_rows
from tests.workers.engines.made_libraries import small_library, write_library

SEED = 24
_STAGES = ("sketch", "postings", "candidates", "relations", "clusters", "books")
_SECONDS = 120.0
_SECONDS_TO_DIE = 10.0


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs of `python -m workers.batch run` on one input."""

    source: Path
    out: Path
    address: str

    def start(self) -> subprocess.Popen[bytes]:
        """Begin a run, or go on with what an earlier one has left."""
        command = ["run", str(self.source), "--out", str(self.out), "--engine", self.address]
        return subprocess.Popen(
            [sys.executable, "-m", "workers.batch", *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def finish(self) -> None:
        """Run until all is done. The library has a book that is refused."""
        assert self.start().wait(_SECONDS) == 1
        assert self.progress()["complete"]

    def progress(self) -> dict[str, Any]:
        """What the folder says of itself."""
        path = self.out / "progress.json"
        document: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {"stages": {}}
        return document

    def wait_until_in(self, stage: str, process: subprocess.Popen[bytes]) -> None:
        """Until all stages before this one are finished."""
        before = set(_STAGES[: _STAGES.index(stage)])
        deadline = time.monotonic() + _SECONDS
        while not (self.progress()["stages"].keys() >= before and (self.out / "progress.json").exists()):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def tables(self) -> dict[str, list[str]]:
        """The rows of every table."""
        return {table: sorted_rows(self.out, table) for table in TABLES}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("source") / "books.jsonl", small_library())


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    driver = Driver(source, tmp_path_factory.mktemp("undisturbed"), "local")
    driver.finish()
    return driver


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_corpus_that_was_killed_in_every_stage_is_the_same(
    undisturbed: Driver, tmp_path: Path, victim: str
) -> None:
    chance = random.Random(f"{SEED} {victim}")
    seconds = {name: stage["seconds"] for name, stage in undisturbed.progress()["stages"].items()}
    assert tuple(seconds) == _STAGES
    driver = Driver(undisturbed.source, tmp_path / "out", "local")
    for stage in _STAGES:
        process = driver.start()
        driver.wait_until_in(stage, process)
        time.sleep(chance.uniform(0, seconds[stage]))
        family = psutil.Process(process.pid).children(recursive=True)
        if victim == "driver" or not family:
            process.kill()
        else:
            chance.choice(family).kill()
        process.wait(_SECONDS)
        _, left = psutil.wait_procs(family, _SECONDS_TO_DIE)
        assert left == []
        finished = driver.progress()["stages"]
        before = _STAGES[: _STAGES.index(stage)]
        assert set(before) <= finished.keys()
    driver.finish()
    repeated = {name for name, stage in driver.progress()["stages"].items() if finished.get(name, stage) != stage}
    assert repeated == set()
    assert driver.tables() == undisturbed.tables()


def test_a_second_run_repeats_nothing(undisturbed: Driver) -> None:
    before = undisturbed.progress()["stages"]
    undisturbed.finish()
    assert undisturbed.progress()["stages"] == before
