"""The benchmark runner: what it keeps, and what a failure leaves."""

import json
from pathlib import Path

import pytest

from bench.__main__ import measure, write_report
from bench.harness.report import CannotMeasure, Section, Table


def section(title: str) -> Section:
    table = Table(["what", "books/s"], [["ours", 1234.5], ["a|b", None]], caption="Speed")
    return Section(title, "python -m bench speed", [table], ["Higher is better."], machine="A machine")


def test_section_survives_its_json() -> None:
    stored = json.loads(json.dumps(section("Speed").to_json()))
    assert Section.from_json(stored).to_markdown() == section("Speed").to_markdown()


def test_section_names_machine_command_and_every_row() -> None:
    text = section("Speed").to_markdown()
    assert text.startswith("## Speed\n\nA machine. Again with `python -m bench speed`.")
    assert "| ours | 1,234 |" in text or "| ours | 1,235 |" in text
    assert "| a\\|b |  |" in text
    assert text.endswith("Higher is better.")


def test_report_holds_every_result_that_lies_there_in_order(tmp_path: Path) -> None:
    assert measure("b", lambda _: section("Second"), tmp_path)
    assert measure("a", lambda _: section("First"), tmp_path)
    write_report(["a", "b", "never-run"], tmp_path, tmp_path / "REPORT.md")
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert report.index("## First") < report.index("## Second")


def test_failed_benchmark_leaves_the_old_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Path) -> Section:
        raise RuntimeError("no")

    assert measure("a", lambda _: section("Old"), tmp_path)
    assert not measure("a", fail, tmp_path)
    assert "Old" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "a: failed" in capsys.readouterr().out


def test_benchmark_that_lacks_something_says_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lack(_: Path) -> Section:
        raise CannotMeasure("Set BOOKPRINT_CORPUS.")

    assert measure("a", lack, tmp_path)
    assert "not measured. Set BOOKPRINT_CORPUS." in capsys.readouterr().out
    assert not (tmp_path / "a.json").exists()
