"""The engine that computes a corpus: Sail in this process, or an existing Spark cluster.

Only Spark Connect is used: data frames, and Python functions on Arrow batches.
"""

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bookprint_core.errors import InvalidInput
from bookprint_readers.processes import cores

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

LOCAL = "local"

_PORT = 15002
"""Default port of Spark Connect."""

_SECONDS_TO_CONNECT = 10.0

_SAIL = {
    # Logs of every session would hide this program's messages.
    "RUST_LOG": "error",
    # By default, 8,192 rows of 42 KB are in memory at a time.
    "SAIL_EXECUTION__BATCH_SIZE": "1024",
    # Larger sorts of candidates and relations use the disk.
    "SAIL_RUNTIME__MEMORY_POOL__TYPE": "greedy",
    "SAIL_RUNTIME__MEMORY_POOL__GREEDY__MAX_SIZE": str(2 << 30),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """A session of an engine."""

    spark: "SparkSession"
    address: str | None = None  # None: local; ends with this process and runs tasks as its threads

    @property
    def tasks_at_once(self) -> int | None:
        """Number of tasks that run at once: one per core of this machine; None if a cluster decides."""
        return cores() if self.address is None else None

    def end_session(self, session: str) -> None:
        """End a session of an earlier driver, with all work that still runs in it.

        A cluster continues the work of a killed driver, which would overwrite the next driver's tables.
        """
        if self.address is None or not session:
            return
        from pyspark.errors import PySparkException

        separator = ";" if "/;" in self.address else "/;"
        with suppress(PySparkException):  # the session has ended, or the cluster was restarted
            left = type(self.spark).builder.remote(f"{self.address}{separator}session_id={session}").create()
            left.interruptAll()
            left.stop()


@contextmanager
def started(address: str) -> Iterator[Engine]:
    """Yield the engine at `local`, with one task per core, or at `sc://host:port`. Raises InvalidInput."""
    if address != LOCAL and not address.startswith("sc://"):
        raise InvalidInput(f"--engine takes {LOCAL} or sc://host:port, not {address!r}.", "engine")
    os.environ.update({name: value for name, value in _SAIL.items() if name not in os.environ})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyspark.sql.connect.session import SparkSession
    except ImportError as exc:
        raise InvalidInput(
            "The corpus mode needs Sail and the client of Spark, which are not installed. "
            "Install them in the folder of Bookprint's sources with: pip install ./packages/* '.[corpus]'",
            "engine",
        ) from exc
    if address != LOCAL:
        spark = _connected(SparkSession, address)
        try:
            yield Engine(spark, address)
        finally:
            spark.stop()
        return
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    spark = _connected(SparkSession, f"sc://{host}:{port}")
    try:
        yield Engine(spark)
    finally:
        spark.stop()
        server.stop()


def _connected(session: "type[SparkSession]", address: str) -> "SparkSession":
    from pyspark.errors import PySparkException

    parts = urlsplit(address)
    try:
        # If nothing answers, the client itself would retry for many minutes.
        with socket.create_connection((parts.hostname or "", parts.port or _PORT), _SECONDS_TO_CONNECT):
            pass
        spark = session.builder.remote(address).create()
        spark.range(1).collect()
    except (PySparkException, OSError, ValueError) as exc:
        reason = str(exc).strip().partition("\n")[0][:300]
        raise InvalidInput(f"The engine at {address} cannot be used: {reason}", "engine") from exc
    return spark
