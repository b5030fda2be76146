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


def test_only_this_user_can_enter_the_folders_that_are_made(unset: Path) -> None:
    keep_kernels()
    made = Path(os.environ["NUMBA_CACHE_DIR"])
    assert {folder.stat().st_mode & 0o777 for folder in (made, *made.parents[:2])} == {0o700}
    os.environ["NUMBA_CACHE_DIR"] = ""
    keep_kernels()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == made


@pytest.mark.parametrize("place", [".", "kernels", "kernels/version"])
@pytest.mark.parametrize("fault", ["group", "everybody", "owner"])
def test_code_is_not_taken_from_a_folder_in_which_somebody_else_can_put_it(
    unset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, fault: str
) -> None:
    monkeypatch.setattr("app.kernel_cache._version_of_the_core", lambda: "version")
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    keep_kernels(data_dir)
    if fault != "owner":
        (data_dir / place).chmod(0o770 if fault == "group" else 0o707)
    elif os.geteuid() == 0:
        os.chown(data_dir / place, 65534, 65534)
    else:
        pytest.skip("only root can give a folder away")
    os.environ["NUMBA_CACHE_DIR"] = ""
    keep_kernels(data_dir)
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == unset / "bookprint" / "kernels"
