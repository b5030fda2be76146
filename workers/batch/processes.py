"""Tasks in a process of their own, where the engine runs all tasks as threads of one process.

There one interpreter's lock would have them take turns.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from app.readers.killable import Bounds, Children, Died, Parent

if TYPE_CHECKING:
    from workers.batch.corpus import Work

_SECONDS = 86_400.0
"""A task that sends nothing for so long is killed."""

_MEMORY_BYTES = 1 << 40
"""Bytes that a task may map, or send: what it needs is known, so this is no limit."""

_BATCH = b"\xff\xff\xff\xff"
"""How a batch of rows begins in Arrow's format, and no text in UTF-8."""


class TaskFailed(Exception):
    """A task ended in an error or was killed; the message says which."""


def in_own_process(
    work: "Work", out: str, tasks: list[dict[str, Any]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """What a work yields for the tasks, one after the other, done in one child process."""
    with Children(Bounds(_SECONDS, _MEMORY_BYTES, _MEMORY_BYTES)).start(_live, work, out) as child:
        try:
            for task in tasks:
                child.send(task)
                while message := child.receive_bytes():
                    if not message.startswith(_BATCH):
                        raise TaskFailed(message.decode())
                    yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        except Died as exc:
            raise TaskFailed(f"The process of a task ended with {exc}. Run the same command again.") from exc


def _live(parent: Parent, work: "Work", out: str) -> None:
    """The life of a process: one task after the other."""
    import traceback

    from app.kernel_cache import keep_kernels

    keep_kernels()
    while True:
        task = parent.receive()
        try:
            for batch in work(out, task):
                parent.send(batch.serialize().to_pybytes())
            parent.send(b"")
        except Exception:
            parent.send(traceback.format_exc().encode(errors="replace"))
