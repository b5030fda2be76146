"""The folder of compiled code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.kernel_cache import _READY, _stamp, keep_kernels

ROOT = Path(__file__).parents[1]


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No folder is named yet; returns the user's cache folder."""
    # Set before it is removed, so that what the test makes of it is undone.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept_in() -> Path:
    """The folder of all kernels, whatever they are compiled from."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    assert folder.name == _stamp()
    return folder.parent


def test_kernels_are_kept_in_the_cache_folder_of_the_user_alone(unset: Path, tmp_path: Path) -> None:
    keep_kernels(tmp_path)
    assert kept_in() == unset / "bookprint" / "kernels"
    assert {folder.stat().st_mode & 0o777 for folder in (kept_in(), kept_in().parent)} == {0o700}
    keep_kernels(tmp_path)  # as a process does that this one starts
    assert kept_in() == unset / "bookprint" / "kernels"


def test_without_a_cache_folder_the_data_folder_serves_and_then_a_temporary_one(
    unset: Path, tmp_path: Path
) -> None:
    unset.write_text("a file where the folder would be")
    keep_kernels(tmp_path)
    assert kept_in() == tmp_path / "kernels"
    os.environ["NUMBA_CACHE_DIR"] = ""
    keep_kernels()
    assert kept_in().is_dir()


def test_a_folder_that_is_set_stays_unless_it_cannot_be_written(unset: Path, tmp_path: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(tmp_path / "somewhere")
    keep_kernels(tmp_path)
    assert kept_in() == tmp_path / "somewhere"
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where the folder would be")
    os.environ["NUMBA_CACHE_DIR"] = str(occupied)
    keep_kernels()
    assert kept_in() == unset / "bookprint" / "kernels"


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
    assert kept_in() == tmp_path / "kernels"


def test_kernels_of_an_image_that_is_read_only_are_copied(
    unset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "image"
    (image / _stamp()).mkdir(parents=True)
    (image / _stamp() / _READY).touch()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: image not in Path(path).parents and may(path, mode))
    for _ in "ab":
        os.environ["NUMBA_CACHE_DIR"] = str(image)
        keep_kernels()
        assert kept_in() == unset / "bookprint" / "kernels"
        assert Path(os.environ["NUMBA_CACHE_DIR"], _READY).exists()
        assert os.listdir(kept_in()) == [_stamp()]


_CALL = """
from app.kernel_cache import keep_kernels
keep_kernels()
import numpy
from bookprint_core.jit import mix64
mix64(numpy.uint64(1))
print(*mix64.stats.cache_hits.values())
"""


@pytest.mark.slow
def test_a_change_in_any_source_compiles_kernels_anew(unset: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    for source in ("app", "packages/core/bookprint_core"):
        shutil.copytree(ROOT / source, place / Path(source).name, copy_function=shutil.copyfile)
    hits = []
    for change in ("", "", "\n"):
        with (place / "bookprint_core/errors.py").open("a") as source:
            source.write(change)
        command = [sys.executable, "-c", _CALL]
        environment = {**os.environ, "PYTHONPATH": str(place)}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
        hits.append(sum(map(int, done.stdout.split())))
    assert hits == [0, 1, 0]
