"""Setting up on machines that lack something."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_venv(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run tools/make-venv where neither uv nor any other Python is on the path."""
    tools = folder.parent / "bin"
    tools.mkdir()
    for name in ("dirname", "rm"):
        (tools / name).symlink_to(shutil.which(name) or name)
    environment = {"PATH": str(tools), "PYTHON": python}
    command = ["/bin/sh", str(ROOT / "tools" / "make-venv"), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_missing_python_is_named_with_the_remedy(tmp_path: Path) -> None:
    setup = make_venv(tmp_path / "venv", "/nowhere/python3")
    assert setup.returncode == 1
    assert "needs Python 3.11 or newer, but /nowhere/python3 is missing" in setup.stderr
    assert "PYTHON=" in setup.stderr
    assert not (tmp_path / "venv").exists()
