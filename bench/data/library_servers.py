"""Embedded servers with a simulated library in them."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from app.embedded import EmbeddedServers, Servers
from app.settings import Settings
from app.wiring import open_services
from bench.data.bulk_load import load
from bench.harness.report import CannotMeasure


@dataclass(frozen=True, slots=True)
class Library:
    """A simulated library."""

    books: int
    texts: bool = True  # False: fingerprints only

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.books}-{'all' if self.texts else 'fingerprints'}"

    @property
    def title(self) -> str:
        """Its name in the report."""
        return f"{self.books:,}" if self.texts else f"{self.books:,}, fingerprints only"


@contextmanager
def opened(library: Library, folder: Path) -> Iterator[Servers]:
    """Embedded servers with this library in Postgres; loaded first where it is not there."""
    data_dir = folder / library.name
    with EmbeddedServers(data_dir) as servers:
        loaded = load(servers.database_url, library.books, texts=library.texts)
        if loaded is not None:
            print(f"  loaded {loaded.books:,} books of {library.title} in {loaded.seconds:.0f} s", flush=True)
        yield servers


def client_of(servers: Servers) -> "redis.Redis":
    """A plain connection to the library's Redis."""
    return redis.Redis.from_url(servers.redis_url, socket_timeout=600)


def reconcile(servers: Servers) -> float:
    """Bring the index in step with the catalogue as the product does, or build it if lost; the seconds."""

    async def run() -> float:
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        async with open_services(settings) as services:
            started = time.perf_counter()
            if await services.upkeep.catch_up() is None:
                raise CannotMeasure("Another process is reconciling the index of this library.")
            return time.perf_counter() - started

    return asyncio.run(run())
