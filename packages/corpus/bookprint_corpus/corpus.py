"""A corpus that is being computed: its folder, its engine, and how a stage spreads its work over tasks.

A stage computes from tasks: small rows, each of which names its part of the input. Where a table has heavy
rows, a task reads them itself, so that none goes through a shuffle or a sort of the engine.
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
"""Function of a task, from the corpus' folder and the cells of its row to batches. It can be pickled."""

_SECONDS_OF_SILENCE = 86_400.0
"""A task that sends nothing is killed once it has computed for so long, or slept."""

_MEMORY_BYTES = 1 << 40
"""Bytes that a task may map, or send: what it needs is known, so this is no limit."""

_BATCH = b"\xff\xff\xff\xff"
"""First bytes of a batch of rows in Arrow's format, which no UTF-8 text begins with."""


class TaskFailed(Exception):
    """A task ended in an error or was killed; the message says which."""


_MOST_PARTITIONS = 10_000
HEAVY_ROWS_PER_GROUP = 512
"""For tables with page signatures, whose rows take some 42 KB."""

_TASKS = "work/tasks"


@dataclass(frozen=True, slots=True)
class Options:
    """Options that decide the result, besides the input and the recipes."""

    limits: SelectionLimits = field(default_factory=SelectionLimits)
    block_books: int = 250_000  # the most books of a block that candidates are searched in


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in work."""

    out: str  # folder or URL
    engine: Engine
    options: Options

    def table(self, name: str) -> "DataFrame":
        return self.engine.spark.read.parquet(storage.url(self.out, name))

    def spread(
        self, stage: str, tasks: pa.Table, work: Work, schema: pa.Schema, *, starts_processes: bool = False
    ) -> "DataFrame":
        """Return the rows of this schema that a work yields for all tasks.

        Works run in processes of their own where the engine would have them share one, unless they start
        such processes themselves.
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
        """Write a table anew; with `by`, in a folder for each value of these columns."""
        storage.delete(self.out, name)
        # Spark has no such option and bounds row groups by their bytes.
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
    """Yield every task whose number, divided by the number of parts, leaves one of these numbers."""
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
    """Yield the results of a work for the tasks, one after the other, from one child process.

    Where an engine runs all tasks as threads of one process, one interpreter's lock would have them take
    turns.
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
    """The life of a process: one task after the other."""
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
    """Return the columns as Spark's language for data definitions has them."""
    return ", ".join(f"`{field.name}` {_spark_type(field.type)}" for field in schema)


def _spark_type(arrow: pa.DataType) -> str:
    if pa.types.is_list(arrow):
        return f"array<{_spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        fields = (f"{field.name}:{_spark_type(field.type)}" for field in arrow)
        return f"struct<{','.join(fields)}>"
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean"}
    return names.get(arrow) or str(arrow)
