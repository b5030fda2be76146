"""A corpus in computation: its folder, its engine, and the distribution of a stage's work over tasks.

A task is a small row that names a part of the input. Tasks read large rows themselves, so that no large row
goes through a shuffle or a sort of the engine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bookprint_core.matching.candidates import SelectionLimits
from bookprint_corpus import storage
from bookprint_corpus.engine import Engine
from bookprint_readers.killable import Bounds, Children, Died, Parent

if TYPE_CHECKING:
    from pyspark.sql.dataframe import DataFrame

Work = Callable[[str, dict[str, Any]], Iterator[pa.RecordBatch]]
"""Picklable function that yields batches for the folder of a corpus and the cells of a task's row."""

_SECONDS_OF_SILENCE = 86_400.0
"""Seconds of processor time, or of sleep, after which a task that has sent nothing is killed."""

_MEMORY_BYTES = 1 << 40
"""Bytes that a task may map or send; practically unlimited, because a task's needs are known."""

_BATCH = b"\xff\xff\xff\xff"
"""First bytes of a batch of rows in Arrow's format. No UTF-8 text begins with them."""


class TaskFailed(Exception):
    """A task raised an error or was killed. The message contains the cause."""


_MOST_PARTITIONS = 10_000
HEAVY_ROWS_PER_GROUP = 512
"""Rows per row group of tables with page signatures, at about 42 KB per row."""

_TASKS = "work/tasks"


@dataclass(frozen=True, slots=True)
class Options:
    """Options that decide the result, besides the input and the recipes."""

    limits: SelectionLimits = field(default_factory=SelectionLimits)
    block_books: int = 250_000  # maximum number of books per block of the candidate join


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in computation."""

    out: str  # folder or URL
    engine: Engine
    options: Options

    def table(self, name: str) -> "DataFrame":
        return self.engine.spark.read.parquet(storage.url(self.out, name))

    def spread(
        self, stage: str, tasks: pa.Table, work: Work, schema: pa.Schema, *, starts_processes: bool = False
    ) -> "DataFrame":
        """Return the rows that `work` yields for all tasks, in this schema.

        On an engine of one process, `work` runs in child processes. With `starts_processes`, `work` starts
        its own processes instead.
        """
        storage.delete(self.out, f"{_TASKS}/{stage}")
        storage.write(self.out, f"{_TASKS}/{stage}", tasks)
        parts = max(1, min(tasks.num_rows, self.engine.tasks_at_once or _MOST_PARTITIONS))
        apart = self.engine.address is None and not starts_processes
        function = partial(_part, self.out, f"{_TASKS}/{stage}", parts, work, schema, apart)
        numbers = self.engine.spark.range(0, parts, 1, parts)
        return numbers.mapInArrow(function, _declared(schema))

    def write(
        self,
        name: str,
        frame: "DataFrame",
        schema: pa.Schema,
        *,
        by: Sequence[str] = (),
        rows_per_group: int = 1 << 17,
    ) -> None:
        """Replace a table. With `by`, write one folder for each value of these columns."""
        storage.delete(self.out, name)
        # Spark ignores this option and limits row groups by bytes.
        writer = frame.write.mode("overwrite").option("max_row_group_size", str(rows_per_group))
        (writer.partitionBy(*by) if by else writer).parquet(storage.url(self.out, name))
        if not by and not storage.files(self.out, name):
            storage.write(self.out, name, schema.empty_table())


def _part(
    out: str,
    tasks: str,
    parts: int,
    work: Work,
    schema: pa.Schema,
    apart: bool,
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the results of every task whose number modulo `parts` is in `numbers`."""
    for part in [number for batch in numbers for number in batch.column(0).to_pylist()]:
        mine = storage.read(out, tasks).to_pylist()[part::parts]
        if apart and mine:
            yield from _in_own_process(work, out, mine, schema)
        else:
            for task in mine:
                yield from work(out, task)


def _in_own_process(
    work: Work, out: str, tasks: list[dict[str, Any]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the results of `work` for the tasks, one after the other, from one child process.

    If an engine runs all tasks as threads of one process, the interpreter's lock lets only one thread run at
    a time.
    """
    bounds = Bounds(_SECONDS_OF_SILENCE, _SECONDS_OF_SILENCE, _MEMORY_BYTES, _MEMORY_BYTES)
    with Children(bounds).start(_live, work, out) as child:
        try:
            for task in tasks:
                child.send(task)
                while message := child.receive_bytes():
                    if not message.startswith(_BATCH):
                        raise TaskFailed(message.decode())
                    yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        except Died as exc:
            raise TaskFailed(f"The process of a task ended with {exc}. Run the same command again.") from exc


def _live(parent: Parent, work: Work, out: str) -> None:
    """Send the results of one task after the other; runs in the child."""
    import traceback

    while True:
        task = parent.receive()
        try:
            for batch in work(out, task):
                parent.send(batch.serialize().to_pybytes())
            parent.send(b"")
        except Exception:
            parent.send(traceback.format_exc().encode(errors="replace"))


def _declared(schema: pa.Schema) -> str:
    """Return the columns in Spark's data definition language."""
    return ", ".join(f"`{field.name}` {_spark_type(field.type)}" for field in schema)


def _spark_type(arrow: pa.DataType) -> str:
    if pa.types.is_list(arrow):
        return f"array<{_spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        fields = (f"{field.name}:{_spark_type(field.type)}" for field in arrow)
        return f"struct<{','.join(fields)}>"
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean"}
    return names.get(arrow) or str(arrow)
