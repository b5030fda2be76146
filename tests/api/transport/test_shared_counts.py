"""Counts of several processes: in memory that they share, so that a full disk ends none of them."""

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.embedded.forks import shared_memory

PROGRAM = """
import asyncio, os, resource, signal, sys
from unittest.mock import Mock
from app.api.http.metrics import Metrics
from bookprint_core.errors import Unavailable

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # as on a full disk, no file can grow

def in_fork(count, ending):
    if pid := os.fork():
        os.waitpid(pid, 0)
    else:
        metrics = Metrics()
        for _ in range(count):
            metrics.count_refused()
            metrics.count_request("GET", "/v1/books", 200, 0.004)
        metrics.count_request("GET", "/v1/books", 404, 20)
        os.kill(os.getpid(), ending)

for count, ending in ((2, signal.SIGKILL), (3, signal.SIGKILL)):
    in_fork(count, ending)
metrics = Metrics()  # takes over the part of those that were killed
if not os.fork():
    Metrics().count_refused()  # has a part of its own
    os._exit(0)
os.wait()
metrics.count_refused()
services = Mock()
services.entries.count_roughly.side_effect = Unavailable("away")
print(asyncio.run(metrics.exposition(services)).decode())
"""


def test_processes_count_together_without_room_on_the_disk() -> None:
    with shared_memory(1 << 25) as counts:
        environment = {"BOOKPRINT_COUNTS": str(counts.fileno()), "PYTHONPATH": ":".join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            pass_fds=[counts.fileno()],
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    found = {
        (sample.name, sample.labels.get("status"), sample.labels.get("le")): sample.value
        for family in text_string_to_metric_families(run.stdout)
        for sample in family.samples
    }
    assert found["bookprint_refused_total", None, None] == 2 + 3 + 1 + 1
    name = "bookprint_request_seconds"
    assert found[f"{name}_count", "200", None] == 5
    assert found[f"{name}_sum", "200", None] == pytest.approx(0.02)
    buckets = {le: value for (each, status, le), value in found.items() if le and status == "200"}
    assert buckets["0.003"] == 0
    assert {buckets[le] for le in ("0.005", "0.5", "10.0", "+Inf")} == {5}
    assert found[f"{name}_bucket", "404", "10.0"] == 0
    assert found[f"{name}_count", "404", None] == 2
