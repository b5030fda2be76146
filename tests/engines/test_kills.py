"""Processes of a corpus are killed in the midst of each stage: the next run makes the same tables."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from bookprint_corpus.engine import LOCAL
from bookprint_corpus.tables import TABLES
from tests.engines.by_corpus import sorted_rows
from tests.engines.made_libraries import small_library, write_library
from tests.engines.sail_workers import SailCluster, sail_cluster

pytestmark = pytest.mark.engine

SEED = 24
_PROGRESS = "progress.json"
_STAGES = ("sketch", "postings", "candidates", "relations", "clusters", "books")
_SECONDS = 120.0
_SECONDS_TO_DIE = 10.0


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs of `python -m bookprint_corpus corpus run` on one input."""

    source: Path
    out: Path
    address: str

    def start(self) -> subprocess.Popen[bytes]:
        """Begin a run, or go on with what an earlier one has left."""
        command = ["corpus", "run", str(self.source), "--out", str(self.out), "--engine", self.address]
        return subprocess.Popen(
            [sys.executable, "-m", "bookprint_corpus", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self) -> None:
        """Run until all is done. The library has a book that is refused."""
        assert self.start().wait(_SECONDS) == 1
        assert self.progress()["complete"]

    def progress(self) -> dict[str, Any]:
        """What the folder says of itself."""
        document: dict[str, Any] = json.loads((self.out / _PROGRESS).read_bytes())
        return document

    def forget(self, stage: str) -> None:
        """Have the folder say that a stage and those after it are not finished."""
        progress = self.progress()
        kept = _STAGES[: _STAGES.index(stage)]
        progress["stages"] = {name: progress["stages"][name] for name in kept}
        (self.out / _PROGRESS).write_text(json.dumps(progress | {"complete": False}))

    def tables(self) -> dict[str, list[str]]:
        """The rows of every table."""
        return {table: sorted_rows(self.out, table) for table in TABLES}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("source") / "books.jsonl", small_library())


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    driver = Driver(source, tmp_path_factory.mktemp("undisturbed"), LOCAL)
    driver.finish()
    return driver


@pytest.fixture
def go_on(undisturbed: Driver, tmp_path: Path) -> Callable[[str, str], Driver]:
    """Copies the undisturbed corpus, with a stage and those after it still to be done at an engine."""

    def copied(stage: str, address: str) -> Driver:
        driver = replace(undisturbed, out=tmp_path / "out", address=address)
        shutil.copytree(undisturbed.out, driver.out)
        driver.forget(stage)
        return driver

    return copied


def start_into(driver: Driver, seconds: float) -> subprocess.Popen[bytes]:
    """Begin a run, and wait until its first stage is so many seconds old."""
    before = driver.progress()
    process = driver.start()
    while driver.progress() == before:  # it says so when it begins with a stage
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(seconds)
    return process


def assert_done_again(driver: Driver, stage: str, undisturbed: Driver) -> None:
    """Run to the end: that stage is done, none before it, and all tables are the same."""
    driver.finish()
    finished = driver.progress()["stages"]
    for name, known in undisturbed.progress()["stages"].items():
        if _STAGES.index(name) < _STAGES.index(stage):
            assert finished[name] == known
    assert driver.tables() == undisturbed.tables()


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes that do the work, as soon as there are any. All are forked from one child."""
    while process.poll() is None:
        family = psutil.Process(process.pid).children(recursive=True)
        if workers := [each for each in family if each.ppid() != process.pid]:
            return workers
        time.sleep(0.001)
    return []


@pytest.mark.long
@pytest.mark.parametrize("victim", ["driver", "worker"])
@pytest.mark.parametrize("stage", _STAGES)
def test_a_stage_in_whose_midst_a_process_was_killed_is_done_again(
    undisturbed: Driver, go_on: Callable[[str, str], Driver], stage: str, victim: str
) -> None:
    chance = random.Random(f"{SEED} {stage} {victim}")
    seconds = chance.uniform(0, undisturbed.progress()["stages"][stage]["seconds"])
    driver = go_on(stage, LOCAL)
    process = start_into(driver, seconds)
    workers = workers_of(process) if victim == "worker" else []
    family = psutil.Process(process.pid).children(recursive=True)
    (chance.choice(workers) if workers else process).kill()
    process.wait(_SECONDS)
    _, left = psutil.wait_procs(family, _SECONDS_TO_DIE)
    assert left == []
    assert_done_again(driver, stage, undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("stage", ["sketch", "relations", "clusters"])
@pytest.mark.parametrize("cluster", ["sail_workers", "spark"])
def test_a_cluster_does_not_go_on_for_a_driver_that_was_killed(
    request: pytest.FixtureRequest,
    undisturbed: Driver,
    go_on: Callable[[str, str], Driver],
    cluster: str,
    stage: str,
) -> None:
    found = request.getfixturevalue(cluster)
    driver = go_on(stage, found.address if isinstance(found, SailCluster) else found)
    process = start_into(driver, random.Random(f"{SEED} {cluster} {stage}").uniform(0, 1))
    process.kill()
    process.wait()
    assert_done_again(driver, stage, undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("stage", ["sketch", "relations", "clusters"])
def test_a_run_that_has_lost_a_worker_of_its_cluster_can_be_gone_on_with(
    undisturbed: Driver, go_on: Callable[[str, str], Driver], tmp_path: Path, stage: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with sail_cluster(logs) as cluster:
        driver = go_on(stage, cluster.address)
        process = start_into(driver, 0.2)
        random.Random(f"{SEED} {stage}").choice(cluster.workers).kill()
        process.wait(_SECONDS)
        assert_done_again(driver, stage, undisturbed)


def test_ctrl_c_ends_a_run_and_says_how_to_go_on(
    undisturbed: Driver, go_on: Callable[[str, str], Driver]
) -> None:
    driver = go_on("relations", LOCAL)
    process = start_into(driver, 0.2)
    assert process.stderr is not None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    with process.stderr as errors:
        assert errors.read() == b"Interrupted. Run the same command again: finished stages are skipped.\n"
    assert process.wait(_SECONDS) == 130
    assert_done_again(driver, "relations", undisturbed)


def test_a_second_run_repeats_nothing(undisturbed: Driver) -> None:
    before = undisturbed.progress()["stages"]
    undisturbed.finish()
    assert undisturbed.progress()["stages"] == before
