"""Where compiled kernels and compiled modules are kept, so that only the first start is slow."""

import atexit
import os
import shutil
import sys
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
    version = _version_of_the_core()
    folder = None
    if data_dir is not None and data_dir.is_dir():
        folder = _usable(data_dir / "kernels" / version)
    folder = folder or _usable(_user_cache() / "kernels" / version)
    if folder is None:
        # Nothing of ours can be written: a folder for this process alone, where nobody else can put code.
        folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def keep_modules(data_dir: Path | None = None) -> None:
    """Have Python keep compiled modules apart where it was told not to write them beside their sources.

    Containers and test runs often set PYTHONDONTWRITEBYTECODE to leave the source folders clean; but then
    every process compiles numba and the others again, which takes seconds.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    folder = _usable((_user_cache() if data_dir is None else data_dir) / "bytecode")
    if folder is not None:
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(folder)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def _version_of_the_core() -> str:
    """A name for the sources of the kernels and of all that is compiled into them.

    numba looks only at the time and size of the file that a kernel stands in, not at the constants and
    functions that it takes from others; after an upgrade it could go on with code of both versions.
    """
    digest = sha256()
    for source in sorted(Path(app.core.__path__[0]).rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bookprint")


def _usable(folder: Path) -> Path | None:
    """The folder, made if need be, as an absolute path; None where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder.absolute() if os.access(folder, os.W_OK | os.X_OK) else None
