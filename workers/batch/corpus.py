"""A corpus that is being computed: its folder, its engine, and how a stage spreads its work over tasks.

A stage computes from tasks: small rows, each of which names its part of the input. Where a table has heavy
rows, a task reads them itself, so that none goes through a shuffle or a sort of the engine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from app.core.matching.candidates import SelectionLimits
from workers.batch import storage
from workers.batch.engine import Engine
from workers.batch.processes import in_own_process

if TYPE_CHECKING:
    from pyspark.sql.dataframe import DataFrame

Work = Callable[[str, dict[str, Any]], Iterator[pa.RecordBatch]]
"""What a task does: from the corpus' folder and the cells of the task's row to batches. It can be pickled."""

_MOST_PARTITIONS = 10_000
HEAVY_ROWS_PER_GROUP = 512
"""For tables with page signatures, whose rows take some 42 KB."""

_TASKS = "work/tasks"


@dataclass(frozen=True, slots=True)
class Options:
    """What decides the result, beside the input and the recipes."""

    limits: SelectionLimits = field(default_factory=SelectionLimits)
    block_books: int = 250_000  # the most books of a block that candidates are searched in


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in work."""

    out: str  # folder or URL
    engine: Engine
    options: Options

    def table(self, name: str) -> "DataFrame":
        """A table that is written."""
        return self.engine.spark.read.parquet(storage.url(self.out, name))

    def spread(
        self, stage: str, tasks: pa.Table, work: Work, schema: pa.Schema, *, starts_processes: bool = False
    ) -> "DataFrame":
        """The rows of this schema that a work yields for all tasks.

        Works run in processes of their own where the engine would have them share one, unless they start
        such processes themselves.
        """
        storage.delete(self.out, f"{_TASKS}/{stage}")
        storage.write(self.out, f"{_TASKS}/{stage}", tasks)
        parts = max(1, min(tasks.num_rows, self.engine.tasks_at_once or _MOST_PARTITIONS))
        apart = self.engine.shares_one_process and not starts_processes
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
    """Every task whose number, divided by the number of parts, leaves one of these numbers."""
    for part in [number for batch in numbers for number in batch.column(0).to_pylist()]:
        mine = storage.read(out, tasks).to_pylist()[part::parts]
        if apart and mine:
            yield from in_own_process(work, out, mine, schema)
        else:
            for task in mine:
                yield from work(out, task)


def _declared(schema: pa.Schema) -> str:
    """The columns as Spark's language for data definitions has them."""
    return ", ".join(f"`{field.name}` {_spark_type(field.type)}" for field in schema)


def _spark_type(arrow: pa.DataType) -> str:
    if pa.types.is_list(arrow):
        return f"array<{_spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        fields = (f"{field.name}:{_spark_type(field.type)}" for field in arrow)
        return f"struct<{','.join(fields)}>"
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean"}
    return names.get(arrow) or str(arrow)
