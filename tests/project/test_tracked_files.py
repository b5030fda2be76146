"""Text that no file of the project may hold."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# a folder of one machine: home folders and mounts, or an absolute path of this checkout
MACHINE_PATH = re.compile(r"(?<![\w.$}~/-])/(?:root|home|Users|work|mnt|farm)/[\w.-]+")


def tracked_texts() -> dict[str, str]:
    """Every tracked text file by its path."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    texts = {}
    for name in filter(None, listing.stdout.split("\0")):
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b"\0"
        if b"\0" not in data[:8192]:
            texts[name] = data.decode("utf-8")
    return texts


def test_no_file_holds_a_path_of_one_machine() -> None:
    lines = {
        name: sorted(set(paths))
        for name, text in tracked_texts().items()
        if (paths := MACHINE_PATH.findall(text)) or str(ROOT) in text
    }
    assert lines == {}


def test_no_file_is_left_unfinished() -> None:
    marks = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
    code = {name: text for name, text in tracked_texts().items() if name.endswith((".py", ".sh", "Makefile"))}
    assert [
        name
        for name, text in code.items()
        if marks.search(text) and name != "tests/project/test_tracked_files.py"
    ] == []
