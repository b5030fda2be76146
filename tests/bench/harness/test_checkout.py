import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.harness.checkout import ROOT, other_checkout, this_checkout
from bench.harness.report import CannotMeasure
from tests.waiting import eventually


def test_other_checkout_runs_its_own_sources(tmp_path: Path) -> None:
    checkout = other_checkout("HEAD", tmp_path / "other")
    log = tmp_path / "log"
    checkout.run([checkout.python, "-c", "import app; print(app.__file__)"], log, seconds=60)
    assert Path(log.read_text(encoding="utf-8").strip()).is_relative_to(tmp_path / "other")


def test_failed_command_tells_what_it_wrote(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="ZeroDivisionError"):
        this_checkout().run([sys.executable, "-c", "1 / 0"], tmp_path / "log", seconds=60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends children of a killed process on Linux")
def test_service_ends_with_a_killed_benchmark(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from bench.harness.service import running\n"
        "with running(Path(sys.argv[1])): print('ready', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        assert benchmark.stdout.readline() == "ready\n"
        started = psutil.Process(benchmark.pid).children(recursive=True)
        assert {"postgres", "valkey-server"} <= {process.name() for process in started}
        benchmark.send_signal(signal.SIGKILL)
    assert eventually(lambda: not any(process.is_running() for process in started))
