"""How large each part may be. A budget is raised only where an issue says so."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LINES = {
    "app": 32_460,
    "workers": 440,
    "packages/client": 820,
    "packages/core": 10_910,
    "packages/corpus": 3_450,
    "packages/readers": 6_360,
    "migrations": 80,
    "bench": 4_310,
    "research": 6_000,
    "tests": 38_010,
}
"""Lines of Python in each part. The types of the client's answers are generated, and not counted."""

GENERATED = {"answers.py"}


def lines_of(part: str) -> int:
    modules = (path for path in (ROOT / part).rglob("*.py") if path.name not in GENERATED)
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)


def test_no_part_is_larger_than_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    found = {part: lines_of(part) for part in LINES}
    with capsys.disabled():
        print("\n" + "\n".join(f"{part:<20}{found[part]:>8,} of {most:>7,}" for part, most in LINES.items()))
    assert {part: lines for part, lines in found.items() if lines > LINES[part]} == {}
