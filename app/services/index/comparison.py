"""Comparing the buckets of the index with what the catalogue demands."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from app.core.index.packing import differences
from app.services.index.contents import BucketList, ExpectedIndex
from app.stores.redis.band_index import BandIndex

_READ_AT_ONCE = 1000

Progress = Callable[[int, int], None]
"""Called with the number of entries done and of all entries; a comparison takes all entries list by list."""


def part_of(progress: Progress, number: int, of: int) -> Progress:
    """The progress of one of several parts, which take about as long as each other; numbers begin at 0."""
    return lambda done, total: progress((number * total + done) // of, total)


@dataclass(frozen=True, slots=True)
class Difference:
    """A bucket that does not hold exactly what it should."""

    key: str
    missing: Sequence[bytes]  # records
    superfluous: Sequence[bytes]  # records, each as often as it is there too often
    broken: bool = False  # it does not even consist of whole records


@dataclass(slots=True)
class IndexComparison:
    """Counts of a comparison so far."""

    records: int = 0  # that the index should hold
    full: int = 0  # buckets that take no more records


async def compare(
    expected: ExpectedIndex, index: BandIndex, seen: IndexComparison, progress: Progress
) -> AsyncIterator[Difference]:
    """Every bucket of an index that differs from what it should hold."""
    known: set[str] = set()
    done = 0
    async for part in expected.lists():
        known.update(part.keys)
        for start in range(0, len(part.keys), _READ_AT_ONCE):
            keys = part.keys[start : start + _READ_AT_ONCE]
            data = part.packed.data(start, start + _READ_AT_ONCE)
            for key, target, actual in zip(keys, data, await index.read_buckets(keys), strict=True):
                seen.records += len(target) // part.width
                seen.full += part.cap is not None and len(actual or b"") >= part.cap * part.width
                difference = _difference(part, key, target, actual or b"")
                if difference is not None:
                    yield difference
        done += 1
        progress(expected.size * done // expected.list_count, expected.size)
    for prefix, width in index.widths(expected.postings).items():
        async for keys in index.list_buckets(prefix):
            unknown = [key for key in keys if key not in known]
            known.update(unknown)
            for key, actual in zip(unknown, await index.read_buckets(unknown), strict=True):
                if actual:
                    length = len(actual) - len(actual) % width
                    superfluous = differences(b"", actual[:length], width)[1]
                    yield Difference(key, [], superfluous, broken=length != len(actual))


def _difference(part: BucketList, key: str, expected: bytes, actual: bytes) -> Difference | None:
    if expected == actual:
        return None
    if len(actual) % part.width:
        return Difference(key, differences(expected, b"", part.width)[0], [], broken=True)
    missing, superfluous = differences(expected, actual, part.width)
    if part.cap is not None:
        # A full bucket lacks some by design.
        missing = missing[: max(0, part.cap - len(actual) // part.width + len(superfluous))]
    if not missing and not superfluous:
        return None
    return Difference(key, missing, superfluous)
