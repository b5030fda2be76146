"""What each stage of a corpus takes: time and memory of all its processes, and what it writes."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq

from app.embedded.exec_as import prctl

NOTHING = "start of the engine"
TABLES = {
    NOTHING: (),
    "postings": ("work/postings",),
    "candidates": ("candidates", "work/passed_over"),
    "relations": ("relations", "page_maps"),
    "clusters": ("clusters",),
    "books": ("books",),
}
"""What each stage writes."""

_PR_SET_CHILD_SUBREAPER = 36
_SAMPLED_EVERY = 0.25  # seconds


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """What a program and all processes that it started took."""

    seconds: float
    processor_seconds: float  # user and system
    peak_bytes: int  # proportional set sizes of all processes together, the most at one time


@dataclass(frozen=True, slots=True)
class StageCost:
    """What one run of a stage took."""

    stage: str
    seconds: float
    processor_seconds: float
    peak_bytes: int
    rows: int  # of the first table that it writes
    written_bytes: int  # of all its tables


def measure(out: Path, stages: Sequence[str], *, block_books: int | None = None) -> list[StageCost]:
    """Run stages one after the other on the tables below a folder."""
    blocks = [] if block_books is None else ["--block-books", str(block_books)]
    costs = []
    for stage in stages:
        cost = measured_run(["-m", "bench.corpus.one_stage", str(out), *_function(stage), *blocks])
        files = [sorted((out / table).rglob("*.parquet")) for table in TABLES[stage]]
        costs.append(
            StageCost(
                stage=stage,
                seconds=cost.seconds,
                processor_seconds=cost.processor_seconds,
                peak_bytes=cost.peak_bytes,
                rows=sum(pq.read_metadata(file).num_rows for file in files[0]) if files else 0,
                written_bytes=sum(file.stat().st_size for table in files for file in table),
            )
        )
        print(f"    {costs[-1]}", flush=True)
    return costs


def _function(stage: str) -> list[str]:
    return [] if stage == NOTHING else [f"workers.batch.stages.{stage}:run"]


def measured_run(arguments: Sequence[str], interpreter: str = sys.executable) -> ProcessCost:
    """Run Python with these arguments; raises RuntimeError where it fails. Linux only."""
    # The server that forks the processes of tasks outlives the driver; this process adopts it.
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    before = set(psutil.Process().children())
    begun = time.perf_counter()
    process = subprocess.Popen([interpreter, *arguments])
    peak = _PeakMemory(process.pid)
    peak.start()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    peak.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {process.returncode}.")
    left = [os.wait4(child.pid, 0)[2] for child in set(psutil.Process().children()) - before]
    processor_seconds = sum(each.ru_utime + each.ru_stime for each in [used, *left])
    return ProcessCost(round(seconds, 2), round(processor_seconds, 2), peak.bytes)


class _PeakMemory(threading.Thread):
    """The most memory that a process and its children have together, until the process ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._root = psutil.Process(pid)

    def run(self) -> None:
        try:
            while self._root.status() != psutil.STATUS_ZOMBIE:
                processes = [self._root, *self._root.children(recursive=True)]
                self.bytes = max(self.bytes, sum(map(_proportional_bytes, processes)))
                time.sleep(_SAMPLED_EVERY)
        except psutil.NoSuchProcess:
            return


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
