"""The compiled kernels: the folder that keeps them, so that only a first start is slow, and their loading."""

import atexit
import os
import platform
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
from typing import Any

import app.core

_ANY_PROCESSOR = {"x86_64": "x86-64-v3", "aarch64": "generic"}
"""By the machine's own name, LLVM's name for the processors for which an image has its kernels."""

_HAS_X86_64_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
"""What Linux says of a processor that is an x86-64-v3."""

_CORE = Path(app.core.__path__[0])

_compiling: list[int] = []


def keep_kernels(data_dir: Path | None = None) -> None:
    """Have numba keep kernels in the user's cache folder, or else in the data folder.

    What is kept there is code, so it is a folder that no other user can write to. A NUMBA_CACHE_DIR that is
    set already stays, unless it lacks kernels for this processor and cannot take them. Where there are
    kernels for any processor like this one, they are taken. Must come before numba is imported.
    """
    if not os.environ.get("NUMBA_CACHE_DIR") or not (_serves_any() or has_kernels() or _writable()):
        caches = [Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "bookprint")]
        if data_dir is not None and data_dir.is_dir():
            caches.append(data_dir.absolute())
        folder = next((cache / "kernels" for cache in caches if _usable(cache)), None)
        if folder is None:
            # No folder of ours can be written: one for this process alone, where no other user can put code.
            folder = Path(tempfile.mkdtemp(prefix="bookprint-kernels-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
    os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] = "app.kernel_cache.KernelLocator,UserProvidedCacheLocator"
    if _serves_any():
        _compile_for(_any_processor())


class KernelLocator:
    """Where numba keeps a kernel: by its module and line, in a folder for the sources as they are.

    So all installations of a user share what is kept, wherever they lie.
    """

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba looks for it
        self._line = function.__code__.co_firstlineno
        self._path = _folder() / Path(file).relative_to(_CORE).with_suffix("")

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "KernelLocator | None":
        """The locator of a kernel; None for what other libraries compile."""
        return cls(function, file) if _CORE in Path(file).parents else None

    def get_cache_path(self) -> str:
        return str(self._path)

    def ensure_cache_path(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """What a kept kernel must agree in beside its folder: nothing."""
        return ""

    def get_disambiguator(self) -> str:
        return str(self._line)


def has_kernels() -> bool:
    """Whether all kernels are kept already."""
    return _ready(os.environ.get("NUMBA_CPU_NAME", "")).exists()


def compile_kernels() -> None:
    """Begin to compile the kernels where they are missing, side by side in forks.

    What the compiler needs is ten times their size.
    """
    from app.core.warm_up import PARTS  # late, as it imports numba

    if not has_kernels():
        _compiling.extend(_compile_apart(part) for part in PARTS)


def load_kernels() -> None:
    """Load the kernels into this process; raises SystemExit where they cannot be compiled."""
    from app.core.warm_up import warm_up

    statuses = [os.waitpid(fork, 0)[1] for fork in _compiling]
    if any(statuses):
        sys.exit("The kernels could not be compiled; the lines above say why.")
    warm_up()
    if not has_kernels():
        _ready(os.environ.get("NUMBA_CPU_NAME", "")).touch()


def main() -> None:
    """Compile the kernels for any processor and keep them: a step in the making of an image."""
    keep_kernels()
    _compile_for(_any_processor())
    compile_kernels()
    load_kernels()


def _any_processor() -> str:
    """LLVM's name for all processors like this one; empty where there is none, or this one is too old."""
    name = _ANY_PROCESSOR.get(platform.machine(), "") if sys.platform == "linux" else ""
    if name == "x86-64-v3" and not set(Path("/proc/cpuinfo").read_text().split()) >= _HAS_X86_64_V3:
        return ""
    return name


def _serves_any() -> bool:
    """Whether the folder has kernels for all processors like this one."""
    processor = _any_processor()
    return bool(processor) and _ready(processor).exists()


def _writable() -> bool:
    """Whether kernels can be put into the folder, which is made where it is missing."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK | os.X_OK)


def _compile_for(processor: str) -> None:
    if processor:
        os.environ |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}


def _ready(processor: str) -> Path:
    """The file that says that all kernels for a processor are kept; an empty name is for the one at hand."""
    return _folder() / f"{processor or 'native'}.ready"


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


def _folder() -> Path:
    """The folder for the sources of all kernels as they are, and what compiles them."""
    return Path(os.environ["NUMBA_CACHE_DIR"], _digest())


@cache
def _digest() -> str:
    """A name for the sources and what compiles them.

    The constants and functions that a kernel takes from other files are compiled into it as well.
    """
    digest = sha256(f"{sys.version_info[:2]} {version('numba')} {version('llvmlite')}".encode())
    for source in sorted(_CORE.rglob("*.py")):
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
