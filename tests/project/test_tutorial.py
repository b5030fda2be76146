"""The tutorial against what its commands make."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "start" / "tutorial.md").read_text(encoding="utf-8")


def test_the_made_books_are_those_of_the_tutorial(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "examples" / "made_books.py", tmp_path], cwd=ROOT, check=True)
    table = (tmp_path / "list.csv").read_text(encoding="utf-8")
    assert table.replace("\r\n", "\n") in TUTORIAL
    files = {*re.findall(r"^([\w-]+\.txt),", table, re.MULTILINE), "found.txt", "list.csv"}
    assert {path.name for path in tmp_path.iterdir()} == files
    assert (tmp_path / "salt-road-1898.txt").read_text(encoding="utf-8").count("\f") > 30
