"""The progress of a corpus: what it was computed from, and which stages are finished."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from app.core.errors import InvalidInput
from app.corpus.tables import PROGRESS, VERSION
from workers.batch import storage


@dataclass(frozen=True, slots=True)
class FinishedStage:
    """A stage that has written its tables."""

    key: str  # of all that they depend on
    seconds: float
    rows: Mapping[str, int]  # of each table
    finished_at: str  # ISO 8601


@dataclass(slots=True)
class CorpusProgress:
    """What a corpus' folder says of itself."""

    input: str = ""  # key of the input
    recipes: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, int] = field(default_factory=dict)
    program: str = ""  # version of Bookprint
    session: str = ""  # the engine's, which a driver that was killed has left open
    stages: dict[str, FinishedStage] = field(default_factory=dict)
    complete: bool = False
    version: int = VERSION

    def write(self, out: str) -> None:
        """Write it into the folder; raises InvalidInput where that cannot be."""
        with _usable(out):
            storage.write_text(out, PROGRESS, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, out: str) -> "CorpusProgress":
        """The progress that a folder tells of, an empty one where there is none; raises InvalidInput."""
        with _usable(out):
            text = storage.read_text(out, PROGRESS)
        if text is None:
            return cls()
        try:
            document: dict[str, Any] = json.loads(text)
            stages = {name: FinishedStage(**stage) for name, stage in document.pop("stages").items()}
            progress = cls(**document, stages=stages)
        except (ValueError, TypeError, KeyError) as exc:
            raise InvalidInput(
                f"{out}/{PROGRESS} tells of no corpus. Choose another --out, or remove the file.", "out"
            ) from exc
        if progress.version != VERSION:
            raise InvalidInput(
                f"{out} was written by another version of Bookprint. Choose another --out.", "out"
            )
        return progress


@contextmanager
def _usable(out: str) -> Iterator[None]:
    """Raises InvalidInput where the folder cannot be read or written."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as exc:
        reason = os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else exc
        raise InvalidInput(f"{out} cannot be used: {reason}. Choose another --out.", "out") from exc
