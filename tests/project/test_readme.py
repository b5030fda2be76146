"""The README against what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_commands_set_everything_up() -> None:
    assert re.search(r"^make demo", README, re.MULTILINE)
    assert re.search(r"^make test", README, re.MULTILINE)


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", README)) <= targets


def test_every_figure_in_bold_is_among_the_numbers() -> None:
    numbers = (ROOT / "docs" / "why" / "numbers.md").read_text(encoding="utf-8")
    figures = re.findall(r"\*\*(.+?)\*\*", README)
    assert figures
    assert [figure for figure in figures if not re.search(rf"(?<![\w.]){re.escape(figure)}\b", numbers)] == []
