"""The folder of compiled code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.kernel_cache import _folder, keep_kernels

ROOT = Path(__file__).parents[1]


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No folder is named yet; returns the user's cache folder."""
    # Set before it is removed, so that what the test makes of it is undone.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "")
    return tmp_path / "cache"


def test_kernels_are_kept_in_the_cache_folder_of_the_user(unset: Path, tmp_path: Path) -> None:
    keep_kernels(tmp_path)
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == unset / "bookprint" / "kernels"


def test_kernels_are_kept_in_the_data_folder_where_the_user_has_none(unset: Path, tmp_path: Path) -> None:
    unset.write_text("a file where the folder would be")
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    keep_kernels(data_dir)
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == data_dir / "kernels"


def test_a_folder_that_is_set_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "somewhere"))
    keep_kernels(tmp_path)
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "somewhere")


def test_a_folder_that_cannot_take_the_kernels_it_lacks_gives_way(unset: Path, tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where the folder would be")
    os.environ["NUMBA_CACHE_DIR"] = str(occupied)
    keep_kernels()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == unset / "bookprint" / "kernels"


def test_where_nothing_can_be_written_a_temporary_folder_serves(unset: Path) -> None:
    unset.write_text("a file where the folder would be")
    keep_kernels()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()


def test_only_this_user_can_enter_the_folders_that_are_made(unset: Path) -> None:
    keep_kernels()
    made = Path(os.environ["NUMBA_CACHE_DIR"])
    assert {folder.stat().st_mode & 0o777 for folder in (made, made.parent)} == {0o700}
    os.environ["NUMBA_CACHE_DIR"] = ""
    keep_kernels()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == made


@pytest.mark.parametrize("place", [".", "kernels"])
@pytest.mark.parametrize("fault", ["group", "everybody", "owner"])
def test_code_is_not_taken_from_a_folder_in_which_somebody_else_can_put_it(
    unset: Path, tmp_path: Path, place: str, fault: str
) -> None:
    keep_kernels()
    users = unset / "bookprint" / place
    if fault != "owner":
        users.chmod(0o770 if fault == "group" else 0o707)
    elif os.geteuid() == 0:
        os.chown(users, 65534, 65534)
    else:
        pytest.skip("only root can give a folder away")
    os.environ["NUMBA_CACHE_DIR"] = ""
    keep_kernels(tmp_path)
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == tmp_path / "kernels"


_CALL = """
import numpy
from app.core.jit import mix64
mix64(numpy.uint64(1))
print(*mix64.stats.cache_hits.values())
"""


def _hits(place: Path) -> int:
    """How many kernels sources at a place load from what is kept, when one is called."""
    command = [sys.executable, "-c", _CALL]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
    return sum(map(int, done.stdout.split()))


@pytest.mark.slow
def test_sources_at_another_place_take_the_kernels_that_are_kept(unset: Path, tmp_path: Path) -> None:
    keep_kernels()
    hits = []
    for place in (ROOT, tmp_path / "copy"):
        if place != ROOT:
            shutil.copytree(ROOT / "app", place / "app", copy_function=shutil.copyfile)
        hits.append(_hits(place))
    changed = tmp_path / "copy/app/core/errors.py"
    changed.write_text(changed.read_text() + "\n")
    hits.append(_hits(tmp_path / "copy"))
    assert hits == [0, 1, 0]


def test_kernels_for_any_processor_are_taken_where_they_are_kept(
    unset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.kernel_cache._any_processor", lambda: "generic")
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    keep_kernels()
    assert "NUMBA_CPU_NAME" not in os.environ
    folder = _folder()
    folder.mkdir()
    (folder / "generic.ready").touch()
    keep_kernels()
    assert (os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"]) == ("generic", "")
