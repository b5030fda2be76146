"""The README against what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", README)) <= targets


def test_every_figure_in_bold_is_among_the_numbers() -> None:
    pages = [ROOT / "docs" / "why" / f"{name}.md" for name in ("numbers", "benchmark")]
    known = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    figures = [figure.replace(" %", "%") for figure in re.findall(r"\*\*([\d.]+(?: %)?)\*\*", README)]
    assert figures
    assert [figure for figure in figures if not re.search(rf"(?<![\w.]){re.escape(figure)}", known)] == []
