"""The compiled kernels: the folder that keeps them, so that only a first start is slow, and their loading."""

import atexit
import os
import shutil
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import app.core


def keep_kernels(data_dir: Path | None = None) -> None:
    """Have numba keep kernels in the data folder if there is one, else in the user's cache folder.

    What is kept there is code, so it is a folder that no other user can write to. Must come before numba is
    imported. A NUMBA_CACHE_DIR that is set already stays.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    caches = [Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bookprint")]
    if data_dir is not None and data_dir.is_dir():
        caches.insert(0, data_dir.absolute())
    version = _version_of_the_core()
    folder = next((cache / "kernels" / version for cache in caches if _usable(cache, version)), None)
    if folder is None:
        # No folder of ours can be written: one for this process alone, where no other user can put code.
        folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def has_kernels() -> bool:
    """Whether kernels are kept already."""
    return any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi"))


def load_kernels() -> None:
    """Load the kernels into this process; raises SystemExit where they cannot be compiled.

    They are compiled side by side in forks, because what the compiler needs is ten times their size.
    """
    from app.core.warm_up import PARTS, warm_up  # late, as it imports numba

    if not has_kernels():
        statuses = [os.waitpid(fork, 0)[1] for fork in [_compile_apart(part) for part in PARTS]]
        if any(statuses):
            sys.exit("The kernels could not be compiled; the lines above say why.")
    warm_up()


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


def _version_of_the_core() -> str:
    """A name for the sources of all kernels.

    numba looks only at the time and size of a kernel's own file. The constants and functions that a kernel
    takes from other files are compiled into it as well.
    """
    digest = sha256()
    for source in sorted(Path(app.core.__path__[0]).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _usable(cache: Path, version: str) -> bool:
    """Whether this user, and no other, can write to the folder of this version in the cache and to those that
    it lies in; they are made where they are missing."""
    folders = (cache, cache / "kernels", cache / "kernels" / version)
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        statuses = [folder.stat() for folder in folders]
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return os.access(folders[-1], os.W_OK | os.X_OK) and not any(
        status.st_uid != os.geteuid() or status.st_mode & others for status in statuses
    )
