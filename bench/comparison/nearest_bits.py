"""Fingerprints near a given one, asked of pgvector: complete or not, and how fast.

pgvector keeps the bits of a fingerprint in a column `bit(128)`. Its index HNSW follows a graph of neighbours
and looks at `ef_search` of them, so an answer may lack some; without an index every row is compared.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

from app.core.index.flat_index import FlatIndex
from app.core.index.records import FLAT_RECORD
from app.core.matching.verification import VERIFICATION
from app.embedded import EmbeddedServers
from bench.comparison.document import write_document
from bench.data.simulated_books import simulate
from bench.harness.report import CannotMeasure, Cell, Section, Table

BOOKS = 50_000
QUERIES = 200
SEED = 7
WITHIN = VERIFICATION.distance_alone
EF_SEARCH = (40, 400)
"""pgvector's default, and ten times that."""

Fingerprints = NDArray[np.uint8]
"""(books, 16)."""
Ask = Callable[[int], frozenset[int]]
"""The books within the distance of the one in this place."""


@dataclass(frozen=True, slots=True)
class _Answers:
    """What was answered, and how long the median question took."""

    hits: Sequence[frozenset[int]]
    milliseconds: float


def run(out_dir: Path) -> Section:
    """A minute or two, most of it for the index; writes docs/methods.md as well."""
    section = Section(
        title="Looking up bits: pgvector",
        command="python -m bench nearest_bits",
        tables=[lookups()],
        notes=[
            "One client asks one question after another, in wall-clock time. Bookprint's flat index is asked "
            "in its own process, pgvector over a socket with SQL; beside it stands what an empty question "
            "takes. pgvector answers the nearest 100, which are cut at the distance. What Bookprint takes "
            "over the network stands in “Against datasketch, faiss and gaoya”."
        ],
    )
    write_document(out_dir, bits=section)
    return section


def lookups() -> Table:
    """The table; raises CannotMeasure where PostgreSQL has no pgvector."""
    fingerprints = np.concatenate([batch.fingerprints for batch in simulate(BOOKS, texts=False)])
    asked = _asked(fingerprints)
    index = _flat_index(fingerprints)

    def ask_index(row: int) -> frozenset[int]:
        return frozenset(index.within(fingerprints[row].tobytes(), WITHIN).entry_ids.tolist())

    true = _answers(ask_index, asked)
    rows: list[list[Cell]] = [_row("Bookprint, flat index", true, true, FLAT_RECORD.itemsize, None)]
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder)) as servers:
        url = servers.database_url.replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as connection:
            version = _load(connection, fingerprints)
            size = _size(connection, "pg_table_size")
            rows.append(["PostgreSQL, a question of no book", None, None, _empty(connection), None, None])
            ask = _ask(connection, fingerprints)
            rows.append(_row(f"pgvector {version}, no index", _answers(ask, asked), true, size, None))
            started = time.perf_counter()
            connection.execute("CREATE INDEX ON books USING hnsw (bits bit_hamming_ops)")
            seconds = time.perf_counter() - started
            size += _size(connection, "pg_indexes_size")
            for ef_search in EF_SEARCH:
                connection.execute(f"SET hnsw.ef_search = {ef_search}")
                name = f"pgvector {version}, HNSW, ef_search {ef_search}"
                rows.append(_row(name, _answers(ask, asked), true, size, seconds))
    return Table(
        ["index", "neighbours found", "answers complete", "ms per question", "bytes per book", "build, s"],
        rows,
        f"{BOOKS:,} simulated fingerprints; wanted are all within {WITHIN} bits, of {QUERIES} that have such",
    )


def _asked(fingerprints: Fingerprints) -> list[int]:
    """Books that have a neighbour within the distance."""
    index = _flat_index(fingerprints)
    asked: list[int] = []
    for row in np.random.default_rng(SEED).permutation(len(fingerprints)).tolist():
        if index.within(fingerprints[row].tobytes(), WITHIN).entry_ids.size > 1:
            asked.append(row)
        if len(asked) == QUERIES:
            break
    return asked


def _flat_index(fingerprints: Fingerprints) -> FlatIndex:
    records = np.zeros(len(fingerprints), dtype=FLAT_RECORD)
    records["entry_id"] = np.arange(len(fingerprints))
    records["bits"], records["signed"] = fingerprints, True
    return FlatIndex(records)


def _load(connection: "psycopg.Connection[tuple[object, ...]]", fingerprints: Fingerprints) -> str:
    """Write the fingerprints into a table; the version of pgvector."""
    try:
        connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        raise CannotMeasure(f"PostgreSQL has no pgvector here: {error}") from None
    connection.execute("SET maintenance_work_mem = '512MB'")
    connection.execute("CREATE TABLE books (id int, bits bit(128))")
    with connection.cursor().copy("COPY books FROM STDIN") as copy:
        for row, bits in enumerate(np.unpackbits(fingerprints, axis=1)):
            copy.write_row((row, _written(bits)))
    connection.execute("ANALYZE books")
    (version,) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchall()
    return str(version[0])


def _ask(connection: "psycopg.Connection[tuple[object, ...]]", fingerprints: Fingerprints) -> Ask:
    """Questions as pgvector's users put them: the nearest first, then cut at the distance."""

    def ask(row: int) -> frozenset[int]:
        bits = _written(np.unpackbits(fingerprints[row]))
        near = connection.execute(
            f"SELECT id, bits <~> B'{bits}' FROM books ORDER BY bits <~> B'{bits}' LIMIT 100"
        )
        return frozenset(int(str(book)) for book, distance in near if float(str(distance)) <= WITHIN)

    return ask


def _empty(connection: "psycopg.Connection[tuple[object, ...]]") -> float:
    """Milliseconds of a question that reads nothing: what the way to the server costs."""
    return _answers(
        lambda _: frozenset({len(connection.execute("SELECT 1").fetchall())}), range(QUERIES)
    ).milliseconds


def _size(connection: "psycopg.Connection[tuple[object, ...]]", function: str) -> float:
    """Bytes per book."""
    (size,) = connection.execute(f"SELECT {function}('books')").fetchall()
    return int(str(size[0])) / BOOKS


def _written(bits: Fingerprints) -> str:
    return "".join(map(str, bits.tolist()))


def _answers(ask: Ask, asked: Sequence[int]) -> _Answers:
    ask(asked[0])
    hits, times = [], []
    for row in asked:
        started = time.perf_counter()
        hits.append(ask(row))
        times.append(time.perf_counter() - started)
    return _Answers(hits, 1_000 * statistics.median(times))


def _row(name: str, given: _Answers, true: _Answers, size: float, seconds: float | None) -> list[Cell]:
    pairs = list(zip(given.hits, true.hits, strict=True))
    found = sum(len(hits & wanted) for hits, wanted in pairs) / sum(map(len, true.hits))
    complete = sum(hits >= wanted for hits, wanted in pairs) / len(pairs)
    return [name, found, complete, given.milliseconds, size, seconds]
