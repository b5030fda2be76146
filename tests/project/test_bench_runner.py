"""The benchmark runner: what it keeps, and what a failure leaves."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bench
from bench.harness.checkout import ROOT
from bench.harness.report import Section, Table
from bench.harness.runner import measure, modules


def section(title: str) -> Section:
    table = Table(["what", "books/s"], [["ours", 1234.5], ["a|b", None]], caption="Speed")
    return Section(title, "python -m bench speed", [table], ["Higher is better."], machine="A machine")


def test_failed_benchmark_leaves_the_old_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Path) -> Section:
        raise RuntimeError("no")

    assert measure("a", lambda _: section("Old"), tmp_path)
    assert not measure("a", fail, tmp_path)
    assert "Old" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "a: failed" in capsys.readouterr().out


def test_every_result_names_its_machine_and_has_a_benchmark() -> None:
    results = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("bench/results/*.json")
    }
    for name, result in results.items():
        parts = [result] if "machine" in result else result.values()
        assert all(part["machine"] for part in parts), name
        assert name.partition("-")[0] in modules(bench), name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_benchmark_clears_away(number: int, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, tempfile\n"
        "import bench\n"
        "from bench.harness import runner\n"
        "def run(out_dir):\n"
        "    with tempfile.TemporaryDirectory(dir=out_dir):\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "module = type(sys)('slow')\n"
        "module.run = run\n"
        "runner.modules = lambda package: {'slow': module}\n"
        "sys.exit(runner.main(bench, 'Benchmarks', '', ['slow', '--out', sys.argv[1]]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], cwd=ROOT, check=False)
    assert ended.returncode == 128 + number
    assert not list(tmp_path.iterdir())
