"""The engine that computes a corpus: Sail in this process, or a Spark cluster that is there already.

Only Spark Connect is spoken: data frames, and Arrow batches in Python functions.
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
"""Port of Spark Connect if the address has none."""

_SECONDS_TO_CONNECT = 10.0

_SAIL = {
    # Logs of every session would bury what this program says.
    "RUST_LOG": "error",
    # By default 8,192 rows of 42 KB are held at a time.
    "SAIL_EXECUTION__BATCH_SIZE": "1024",
    # Sorts of candidates and relations go to disk beyond it.
    "SAIL_RUNTIME__MEMORY_POOL__TYPE": "greedy",
    "SAIL_RUNTIME__MEMORY_POOL__GREEDY__MAX_SIZE": str(2 << 30),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """A session of an engine."""

    spark: "SparkSession"
    address: str | None = None  # None: it ends with this process, and its tasks are threads of one process

    @property
    def tasks_at_once(self) -> int | None:
        """One for each core of this machine; None: the engine knows, which has any number of machines."""
        return cores() if self.address is None else None

    def end_session(self, session: str) -> None:
        """End a session that an earlier driver has opened, with all that still runs for it.

        A cluster goes on with the work of a driver that was killed, and would write into the next one's.
        """
        if self.address is None or not session:
            return
        from pyspark.errors import PySparkException

        separator = ";" if "/;" in self.address else "/;"
        with suppress(PySparkException):  # it has ended, or the cluster was restarted
            left = type(self.spark).builder.remote(f"{self.address}{separator}session_id={session}").create()
            left.interruptAll()
            left.stop()


@contextmanager
def started(address: str) -> Iterator[Engine]:
    """Yield the engine at `local`, with a task for each core, or at `sc://host:port`; raises InvalidInput."""
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
        # The client itself would try for many minutes to reach nobody.
        with socket.create_connection((parts.hostname or "", parts.port or _PORT), _SECONDS_TO_CONNECT):
            pass
        spark = session.builder.remote(address).create()
        spark.range(1).collect()
    except (PySparkException, OSError, ValueError) as exc:
        reason = str(exc).strip().partition("\n")[0][:300]
        raise InvalidInput(f"The engine at {address} cannot be used: {reason}", "engine") from exc
    return spark
