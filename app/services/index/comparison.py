"""Holding the buckets of the index against what the catalogue demands."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from app.core.index.packing import differences
from app.services.index.contents import BucketList, ExpectedIndex
from app.stores.redis.band_index import BandIndex
from app.stores.redis.nodes import ReadAll

_READ_AT_ONCE = 1000

Progress = Callable[[int, int], None]
"""Called with the number of entries done and of all entries; an inspection takes all entries list by list."""


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
    """What was inspected so far."""

    records: int = 0  # that the index should hold
    full: int = 0  # buckets that take no more records


async def inspect(
    projection: ExpectedIndex, index: BandIndex, seen: IndexComparison, progress: Progress
) -> AsyncIterator[Difference]:
    """Every bucket of an index that differs from the projection."""
    known: set[str] = set()
    done = 0
    async for part in projection.lists():
        keys = part.keys
        known.update(keys)
        for start in range(0, len(keys), _READ_AT_ONCE):
            some, data = keys[start : start + _READ_AT_ONCE], part.filled.data(start, start + _READ_AT_ONCE)
            [held] = await index.nodes.run([ReadAll(some)])
            for key, wanted, there in zip(some, data, held, strict=True):
                seen.records += len(wanted) // part.width
                seen.full += part.cap is not None and len(there or b"") >= part.cap * part.width
                found = _difference(part, key, wanted, there or b"")
                if found is not None:
                    yield found
        done += 1
        progress(projection.size * done // projection.list_count, projection.size)
    for prefix, width in index.prefixes(projection.postings):
        async for names in index.nodes.names(prefix):
            unknown = [name for name in names if name not in known]
            known.update(unknown)
            [held] = await index.nodes.run([ReadAll(unknown)])
            for key, there in zip(unknown, held, strict=True):
                if there:
                    whole = len(there) - len(there) % width
                    superfluous = differences(b"", there[:whole], width)[1]
                    yield Difference(key, [], superfluous, broken=whole != len(there))


def _difference(part: BucketList, key: str, wanted: bytes, there: bytes) -> Difference | None:
    if wanted == there:
        return None
    if len(there) % part.width:
        return Difference(key, differences(wanted, b"", part.width)[0], [], broken=True)
    missing, superfluous = differences(wanted, there, part.width)
    if part.cap is not None:
        # A full bucket lacks some by design.
        missing = missing[: max(0, part.cap - len(there) // part.width + len(superfluous))]
    if not missing and not superfluous:
        return None
    return Difference(key, missing, superfluous)
