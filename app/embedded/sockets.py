"""A private folder for unix sockets, whose paths must stay under 104 bytes (108 on Linux)."""

import os
import shutil
import tempfile
from pathlib import Path

_LONGEST_FOLDER = 80  # bytes; the longest name within is `.s.PGSQL.5432.lock`
_PREFIX = "bookprint-"


def make_folder() -> Path:
    """A new folder that only this user can enter, in the temporary folder or, if that is long, in /tmp."""
    for parent in (Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve()):
        if len(os.fsencode(parent)) + 1 + len(_PREFIX) + 8 <= _LONGEST_FOLDER:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    raise AssertionError("/tmp is short enough")


def remove_folder(folder: Path) -> None:
    """Remove a folder made here, and nothing else."""
    if folder.name.startswith(_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
