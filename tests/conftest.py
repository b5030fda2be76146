"""Settings of all tests: kernels, bytecode, examples of hypothesis, and the corpus of real books.

The packages are tested where nothing of the service is installed, so its fixtures are a plugin of their own.
"""

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from app.kernel_cache import keep_kernels

ROOT = Path(__file__).parent.parent

# numba looks for its cache once, when it is first imported, so it is set before any test module is.
_CACHES = Path(sys.prefix) if sys.prefix != sys.base_prefix else ROOT / ".pytest_cache"
os.environ.setdefault("NUMBA_CACHE_DIR", str(_CACHES / "kernels"))
keep_kernels()

for number in (signal.SIGINT, signal.SIGHUP):
    # What ignores a signal, as under nohup, has its children ignore it; what handles it does not.
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda number, frame: None)

if sys.dont_write_bytecode:
    # Bytecode lies there too, or the hundreds of processes that tests start would all compile the sources.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(_CACHES / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# A run must not fail by luck: the same examples come every time, and none are kept from earlier runs. On a
# busy machine any example may take long; what hangs is ended by the test's timeout. A test asks for more
# examples itself where fifty show too little.
settings.register_profile("bookprint", derandomize=True, max_examples=50, database=None, deadline=None)
settings.load_profile("bookprint")

pytest_plugins = ["tests.service_fixtures"] if find_spec("asyncpg") and find_spec("fastapi") else []

_MOST_PROCESSES = 4


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """The processes of `-n auto`: each starts servers of its own, and named servers serve one.

    There is one more than there are cores, as tests wait for other processes in a fourth of their time.
    """
    named = any(os.environ.get(name) for name in ("DATABASE_URL", "REDIS_URL"))
    return 0 if named else min(_MOST_PROCESSES, 1 + (os.cpu_count() or 1))


_REAL_MATERIAL = ("corpus", "formats", "catalogs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on real books, files and records are slow ones."""
    for item in items:
        if any(item.get_closest_marker(name) for name in _REAL_MATERIAL):
            item.add_marker("slow")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say what the run has cost in processor time, processes that were waited for included."""
    if not hasattr(config, "workerinput"):
        used = os.times()
        print(f"{used.user + used.system + used.children_user + used.children_system:.0f} CPU-s")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder with the corpus of real books."""
    folder = os.environ.get("BOOKPRINT_CORPUS")
    if not folder:
        pytest.skip("BOOKPRINT_CORPUS is not set: it names the folder with the corpus of real books")
    path = Path(folder)
    if not (path / "books.jsonl.gz").exists():
        pytest.skip(f"BOOKPRINT_CORPUS names {path}, which has no books.jsonl.gz")
    return path
