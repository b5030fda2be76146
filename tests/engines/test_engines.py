"""The engines do what a stage asks of them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bookprint_corpus import engine, storage
from bookprint_corpus.corpus import Corpus, Options
from tests.engines.sail_workers import WORKERS, SailCluster

pytestmark = pytest.mark.engine

_SCHEMA = pa.schema([("number", pa.int64()), ("process", pa.int64()), ("names", pa.list_(pa.string()))])
_TASKS = 8


def slow_work(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    time.sleep(0.1)  # so that no worker is free to take all
    row = {"number": task["number"], "process": os.getpid(), "names": [Path(out).name]}
    yield pa.RecordBatch.from_pylist([row], schema=_SCHEMA)


def processes_of(address: str, folder: Path) -> set[int]:
    """The processes in which tasks were done; each wrote its row."""
    tasks = pa.table({"number": list(range(_TASKS))})
    with engine.started(address) as started:
        corpus = Corpus(str(folder), started, Options())
        corpus.write("made", corpus.spread("made", tasks, slow_work, _SCHEMA), _SCHEMA)
        assert corpus.table("made").count() == _TASKS
    rows = storage.read(str(folder), "made").to_pylist()
    assert sorted(row["number"] for row in rows) == list(range(_TASKS))
    assert all(row["names"] == ["corpus"] for row in rows)
    return {row["process"] for row in rows}


def test_tasks_are_done_outside_of_the_driver(engine_address: str, folder: Path) -> None:
    assert os.getpid() not in processes_of(engine_address, folder)


def test_several_workers_of_sail_share_the_tasks(sail_workers: SailCluster, folder: Path) -> None:
    processes: set[int] = set()
    for _ in range(6):  # now and then one worker is free for all tasks of a stage
        processes |= processes_of(sail_workers.address, folder)
    assert len(processes) > 1
    assert processes <= {worker.pid for worker in sail_workers.workers}
    assert len(sail_workers.workers) >= WORKERS
