"""Counts of all API processes in shared memory.

The memory is not a file on disk: on a full disk, a write to a mapped file would kill the process (SIGBUS).
"""

import fcntl
import json
import mmap
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, ClassVar

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

_PART_BYTES = 1 << 22
"""Bytes for the counts of one process; counts beyond them are left out."""

_HEAD = 8
_USED = struct.Struct("q")
_LENGTH = struct.Struct("q")
_VALUE = struct.Struct("d")


class ProcessCounts:
    """The part of the memory with the counts of this process, locked until the process ends.

    It is the first part that no other process has locked. The counts of an ended process stay and continue.
    """

    def __init__(self, memory: int) -> None:
        self.memory = mmap.mmap(memory, 0)  # all of it
        self._start = _taken(memory, range(0, len(self.memory), _PART_BYTES))
        self._places = dict(_entries(self.memory, self._start))
        self._lock = Lock()

    def place(self, key: str) -> int | None:
        """Return the offset of the count with this name; None: no room."""
        with self._lock:
            if key not in self._places:
                name = key.encode()
                [used] = _USED.unpack_from(self.memory, self._start)
                entry = _LENGTH.pack(len(name)) + name + _VALUE.pack(0.0)
                if _HEAD + used + len(entry) > _PART_BYTES:
                    return None
                start = self._start + _HEAD + used
                self.memory[start : start + len(entry)] = entry
                _USED.pack_into(self.memory, self._start, used + len(entry))
                self._places[key] = start + len(entry) - _VALUE.size
            return self._places[key]

    def add(self, place: int, amount: float) -> None:
        with self._lock:
            [value] = _VALUE.unpack_from(self.memory, place)
            # One assignment, because `pack_into` writes zeros first, which others could read.
            self.memory[place : place + _VALUE.size] = _VALUE.pack(value + amount)


class SharedValue:
    """A number of a metric, with the interface of prometheus_client's values."""

    _multiprocess = True
    part: ClassVar[ProcessCounts]

    def __init__(
        self,
        typ: str,
        metric: str,
        name: str,
        labels: tuple[str, ...],
        values: tuple[str, ...],
        text: str,
        **_: Any,
    ) -> None:
        self._place = self.part.place(
            json.dumps([typ, metric, name, dict(zip(labels, values, strict=True)), text])
        )

    def inc(self, amount: float) -> None:
        if self._place is not None:
            self.part.add(self._place, amount)

    def get(self) -> float:
        """Return the value counted by this process alone."""
        return 0.0 if self._place is None else float(_VALUE.unpack_from(self.part.memory, self._place)[0])


class SummedCounts(Collector):
    """The sums of the counts of all processes."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, with cumulative histogram buckets as in Prometheus."""
        sums: defaultdict[str, float] = defaultdict(float)
        memory = SharedValue.part.memory
        for start in range(0, len(memory), _PART_BYTES):
            for key, place in _entries(memory, start):
                sums[key] += _VALUE.unpack_from(memory, place)[0]
        metrics: dict[str, Metric] = {}
        counts: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for key, value in sums.items():
            typ, metric, name, labels, text = json.loads(key)
            samples = metrics.setdefault(metric, Metric(metric, text, typ)).samples
            if name.endswith("_bucket"):  # in ascending order
                others = {label: labels[label] for label in labels if label != "le"}
                counts[metric, *others.values()] += value
                value = counts[metric, *others.values()]
                if labels["le"] == "+Inf":
                    samples.append(Sample(f"{metric}_count", others, value))
            samples.append(Sample(name, labels, value))
        yield from metrics.values()


def _taken(memory: int, starts: Sequence[int]) -> int:
    for start in starts:
        try:
            fcntl.lockf(memory, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, start)
        except OSError:
            continue
        return start
    raise RuntimeError(f"more than {len(starts)} processes count")


def _entries(memory: mmap.mmap, start: int) -> Iterator[tuple[str, int]]:
    """Yield the name of each count of a part, and the offset of its value."""
    at = start + _HEAD
    end = at + _USED.unpack_from(memory, start)[0]
    while at < end:
        [length] = _LENGTH.unpack_from(memory, at)
        at += _LENGTH.size + length
        yield memory[at - length : at].decode(), at
        at += _VALUE.size
