"""The compiled kernels: the folder in which numba keeps them, so that only a first start is slow.

Must come before numba is imported.
"""

import atexit
import os
import shutil
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import bookprint_core

_READY = "ready"
"""The file that says that all kernels are kept."""

_compiling: list[int] = []


def keep_kernels(data_dir: Path | None = None) -> None:
    """Have numba keep kernels in NUMBA_CACHE_DIR, the user's cache folder or the data folder.

    The kernels are in a folder of their own for the sources and versions that they are compiled from. The
    folders hold code, so no other user can write to them. Numba needs to write:
    kernels in a NUMBA_CACHE_DIR that cannot be written to, as in an image, are copied.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given and Path(given).name == _stamp():
        return  # by the process that started this one
    folder = None
    if given:
        with suppress(OSError):
            Path(given, _stamp()).mkdir(parents=True, exist_ok=True)
        if os.access(Path(given, _stamp()), os.W_OK | os.X_OK):
            folder = Path(given)
    if folder is None:
        caches = [Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bookprint")]
        if data_dir is not None and data_dir.is_dir():
            caches.append(data_dir.absolute())
        folder = next((cache / "kernels" for cache in caches if _usable(cache)), None)
    if folder is None:
        # No folder of ours can be written: one for this process alone, where no other user can put code.
        folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if given and Path(given, _stamp(), _READY).exists() and not (folder / _stamp()).exists():
        fresh = Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(Path(given, _stamp()), fresh, dirs_exist_ok=True)
        with suppress(OSError):  # another process was faster
            fresh.rename(folder / _stamp())
    os.environ["NUMBA_CACHE_DIR"] = str(folder / _stamp())


def has_kernels() -> bool:
    """Whether all kernels are kept already."""
    return Path(os.environ["NUMBA_CACHE_DIR"], _READY).exists()


def compile_kernels() -> None:
    """Begin to compile the kernels where they are missing, side by side in forks.

    The compiler needs ten times the memory of the kernels.
    """
    from bookprint_core.warm_up import PARTS  # late, as it imports numba

    if not has_kernels():
        _compiling.extend(_compile_apart(part) for part in PARTS)


def load_kernels() -> None:
    """Load the kernels into this process; raises SystemExit where they cannot be compiled."""
    from bookprint_core.warm_up import warm_up

    statuses = [os.waitpid(fork, 0)[1] for fork in _compiling]
    if any(statuses):
        sys.exit("The kernels could not be compiled; the lines above say why.")
    warm_up()
    if not has_kernels():
        Path(os.environ["NUMBA_CACHE_DIR"], _READY).touch()


def main() -> None:
    """Compile the kernels and keep them: a step in the making of an image."""
    keep_kernels()
    compile_kernels()
    load_kernels()


def _compile_apart(part: Callable[[], None]) -> int:
    """Call a function in a fork; returns its pid."""
    pid = os.fork()
    if not pid:
        try:
            part()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return pid


@cache
def _stamp() -> str:
    """The name of the folder for these sources, versions and processor.

    The constants and functions that a kernel takes from other files are compiled into it as well, and numba
    compares its own file alone.
    """
    versions = (sys.version_info[:2], version("numba"), version("llvmlite"), os.environ.get("NUMBA_CPU_NAME"))
    digest = sha256(repr(versions).encode())
    for source in sorted(Path(bookprint_core.__path__[0]).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _usable(folder: Path) -> bool:
    """Whether this user, and no other, can write to the kernels in a cache folder and to that; they are made
    where they are missing."""
    folders = (folder, folder / "kernels")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for each in folders:
            with suppress(FileExistsError):
                each.mkdir(mode=0o700)
        statuses = [each.stat() for each in folders]
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return os.access(folders[-1], os.W_OK | os.X_OK) and not any(
        status.st_uid != os.geteuid() or status.st_mode & others for status in statuses
    )


if __name__ == "__main__":
    main()
