"""The folder of the compiled kernels; they are kept there, so that only the first start is slow."""

import atexit
import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import app.core


def keep_kernels(data_dir: Path | None = None) -> None:
    """Have numba keep kernels in the data folder if there is one, else in the user's cache folder.

    Must come before numba is imported. A NUMBA_CACHE_DIR that is set already stays.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    caches = [Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bookprint")]
    if data_dir is not None and data_dir.is_dir():
        caches.insert(0, data_dir.absolute())
    version = _version_of_the_core()
    folder = next(filter(_usable, (cache / "kernels" / version for cache in caches)), None)
    if folder is None:
        # No folder of ours can be written: one for this process alone, where no other user can put code.
        folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def _version_of_the_core() -> str:
    """A name for the sources of all kernels.

    numba looks only at the time and size of a kernel's own file. The constants and functions that a kernel
    takes from other files are compiled into it as well.
    """
    digest = sha256()
    for source in sorted(Path(app.core.__path__[0]).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _usable(folder: Path) -> bool:
    """Whether files can be written to the folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
