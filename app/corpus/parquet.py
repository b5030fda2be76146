"""Parquet through pyarrow, which is installed with the extra `parquet`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.core.errors import BrokenFile, UnusableFile


def require_pyarrow() -> Any:
    """The module `pyarrow.parquet`; raises UnusableFile that names the extra where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as exc:
        raise UnusableFile(
            "Parquet needs pyarrow, which is not installed. "
            "Install it in the folder of Bookprint's sources with: pip install '.[parquet]'"
        ) from exc
    return pyarrow.parquet


@contextmanager
def damage_named(where: str) -> Iterator[None]:
    """Turn what pyarrow raises for damaged files into BrokenFile."""
    try:
        yield
    except UnusableFile:
        raise
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError, MemoryError) as exc:
        # pyarrow's own errors are subclasses of these.
        reason = " ".join(str(exc).split())[:300].rstrip(".")
        raise BrokenFile(f"The Parquet file is damaged at {where}: {reason}.") from exc
