"""The folder of compiled code."""

import os
from pathlib import Path

import pytest

from app.kernel_cache import keep_kernels


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No folder is named yet; returns the user's cache folder."""
    # Set before it is removed, so that what the test makes of it is undone.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_kernels_are_kept_in_the_data_folder_where_there_is_one(unset: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    keep_kernels(data_dir)
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == data_dir / "kernels"


def test_kernels_are_kept_in_the_cache_folder_of_the_user_otherwise(unset: Path, tmp_path: Path) -> None:
    keep_kernels(tmp_path / "none")
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == unset / "bookprint" / "kernels"
    assert not (tmp_path / "none").exists()


def test_a_folder_that_is_set_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/somewhere")
    keep_kernels(tmp_path)
    assert os.environ["NUMBA_CACHE_DIR"] == "/somewhere"


def test_where_nothing_can_be_written_a_temporary_folder_serves(unset: Path) -> None:
    unset.write_text("a file where the folder would be")
    keep_kernels()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()
