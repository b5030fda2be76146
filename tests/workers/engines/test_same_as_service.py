"""The corpus mode and the service find the same in the same books, row by row and on every engine.

The candidates of a book are those that the service's index names when all books are in it. Where a book has
more than are compared, the service's jobs also compare it with representatives of clusters that are known by
then, so with which depends on their order. Then every relation of the corpus mode must be one of the service,
and only representatives beside them.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.matching.candidates import SelectionLimits
from tests.workers.engines.by_corpus import findings_of_corpus
from tests.workers.engines.by_service import findings_of_service
from tests.workers.engines.findings import Findings, differences, map_differences
from tests.workers.engines.made_libraries import library_with_many_copies, small_library, write_library
from workers.batch import engine, pipeline
from workers.batch.corpus import Corpus, Options
from workers.batch.splits import corpus_input

FindByService = Callable[[Path, SelectionLimits], Findings]


@pytest.fixture
def find_by_service(database_url: str, redis_url: str) -> FindByService:
    return lambda path, limits: asyncio.run(findings_of_service(database_url, redis_url, [path], limits))


def find_by_corpus(path: Path, folder: Path, address: str, limits: SelectionLimits) -> Findings:
    with engine.started(address) as started:
        corpus = Corpus(str(folder), started, Options(limits))
        pipeline.run(corpus, corpus_input([str(path)], {}), lambda line: None)
    return findings_of_corpus(folder)
