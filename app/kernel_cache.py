"""The compiled kernels, and the folder in which numba stores them, so that only the first start is slow.

Call `keep_kernels` before numba is imported.
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
"""Name of the file that marks all kernels as stored."""

_compiling: list[int] = []


def keep_kernels(data_dir: Path | None = None) -> None:
    """Make numba store kernels in NUMBA_CACHE_DIR, the user's cache folder or the data folder.

    Each version of the sources and compilers has its own folder. The folders contain code, so only this user
    may write to them. Numba needs a writable folder: kernels from a read-only NUMBA_CACHE_DIR are copied.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given and Path(given).name == _stamp():
        return  # set by the parent process
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
        # No folder is writable. Make one for this process, where no other user can write code.
        folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if given and Path(given, _stamp(), _READY).exists() and not (folder / _stamp()).exists():
        fresh = Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(Path(given, _stamp()), fresh, dirs_exist_ok=True)
        with suppress(OSError):  # another process was faster
            fresh.rename(folder / _stamp())
    os.environ["NUMBA_CACHE_DIR"] = str(folder / _stamp())


def has_kernels() -> bool:
    """Return whether all kernels are stored."""
    return Path(os.environ["NUMBA_CACHE_DIR"], _READY).exists()


def compile_kernels() -> None:
    """Start to compile missing kernels, in parallel forks.

    Forks, because the compiler needs ten times the memory of the kernels.
    """
    from bookprint_core.warm_up import PARTS  # late, because it imports numba

    if not has_kernels():
        _compiling.extend(_compile_apart(part) for part in PARTS)


def load_kernels() -> None:
    """Load the kernels into this process; raises SystemExit if they cannot be compiled."""
    from bookprint_core.warm_up import warm_up

    statuses = [os.waitpid(fork, 0)[1] for fork in _compiling]
    if any(statuses):
        sys.exit("The kernels could not be compiled; the lines above say why.")
    warm_up()
    if not has_kernels():
        Path(os.environ["NUMBA_CACHE_DIR"], _READY).touch()


def main() -> None:
    """Compile and store the kernels, as a step in building an image."""
    keep_kernels()
    compile_kernels()
    load_kernels()


def _compile_apart(part: Callable[[], None]) -> int:
    """Call a function in a fork, and return the pid."""
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
    """Return the name of the folder for these sources, versions and processor.

    Kernels contain constants and functions of other files too, but numba checks only the kernel's own file.
    """
    versions = (sys.version_info[:2], version("numba"), version("llvmlite"), os.environ.get("NUMBA_CPU_NAME"))
    digest = sha256(repr(versions).encode())
    for source in sorted(Path(bookprint_core.__path__[0]).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _usable(folder: Path) -> bool:
    """Return whether only this user can write to a cache folder and its folder of kernels.

    Missing folders are created."""
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
