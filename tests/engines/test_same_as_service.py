"""The corpus mode and the service find the same in the same books, row by row and on every engine.

The service's candidates are those that its index names when all books are in it. Where a book has more than
are compared, its job also compares it with representatives of clusters that are known by then. With which
depends on the order of the jobs. So there every relation of the corpus mode must be one of the service's, and
the best copies of clusters with a representative among their relations are not compared.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from app.embedded import Servers
from app.synthesis.library import synthetic_library
from bookprint_core.matching.candidates import SelectionLimits
from bookprint_core.relations.classification import RELATED
from bookprint_corpus import engine, pipeline
from bookprint_corpus.corpus import Corpus, Options
from bookprint_corpus.splits import corpus_input
from tests.engines.by_corpus import findings_of_corpus
from tests.engines.by_service import findings_of_service
from tests.engines.findings import Findings, differences, without
from tests.engines.made_libraries import library_with_many_copies, paged, small_library, write_library
from tests.servers import flushed_redis, fresh_database

pytestmark = pytest.mark.engine

FindByService = Callable[[Path, SelectionLimits], Findings]

_BOOKS = 600
"""Sail deals 128 books to each of four files, and then to the first again."""

_WORKS, _COPIES = 500, 1_500
"""The service lists all copies as candidates of each: 5,000 take it ten minutes."""


@pytest.fixture(scope="module")
def find_by_service(servers: Servers, template_database: str) -> FindByService:
    """The findings of the service, computed once for all engines."""

    @cache
    def find(path: Path, limits: SelectionLimits) -> Findings:
        with (
            fresh_database(servers.database_url, template_database) as database_url,
            flushed_redis(servers.redis_url) as redis_url,
        ):
            return asyncio.run(findings_of_service(database_url, redis_url, path, limits))

    return find


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("small") / "books.jsonl", small_library())


@pytest.fixture(scope="module")
def many_copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "books.jsonl"
    return write_library(path, library_with_many_copies(_WORKS, _COPIES))


def find_by_corpus(path: Path, folder: Path, address: str, limits: SelectionLimits) -> Findings:
    with engine.started(address) as started:
        corpus = Corpus(str(folder), started, Options(limits))
        pipeline.run(corpus, corpus_input([str(path)], {}), lambda line: None)
    return findings_of_corpus(folder)


def assert_same(corpus: Findings, service: Findings) -> None:
    """Every row of every table."""
    assert not service.passed_over
    assert corpus.candidates.keys() == corpus.relations.keys()
    assert differences(corpus, service) == []


def assert_same_but_representatives(corpus: Findings, service: Findings) -> None:
    """All that does not depend on the order of the service's jobs."""
    assert corpus.candidates.keys() == corpus.relations.keys()
    assert service.passed_over.keys() <= corpus.passed_over.keys()
    representatives = service.relations.keys() - corpus.relations.keys()
    assert differences(without(corpus, representatives), without(service, representatives)) == []


def test_a_small_library(
    engine_address: str, small: Path, folder: Path, find_by_service: FindByService
) -> None:
    limits = SelectionLimits()
    service = find_by_service(small, limits)
    assert {row["kind"] for row in service.relations.values()} >= {
        "DIFFERENT_PAGINATION",
        "CONTIGUOUS_SUBSET",
    }
    # Some relations join no books, and both sides agree which.
    assert {row["link"] is None for row in service.relations.values() if row["kind"] in RELATED} == {
        True,
        False,
    }
    assert_same(find_by_corpus(small, folder, engine_address, limits), service)


def test_a_corpus_in_which_every_book_is_refused(engine_address: str, tmp_path: Path, folder: Path) -> None:
    path = write_library(tmp_path / "books.jsonl", [{"id": "empty", "text": "—"}])
    nothing = find_by_corpus(path, folder, engine_address, SelectionLimits())
    assert nothing == Findings({}, {}, {}, {}, {})


def test_a_loaded_corpus_of_more_books_than_an_engine_deals_to_files_in_one_turn(
    engine_address: str, tmp_path: Path, find_by_service: FindByService
) -> None:
    # Short books, many of them copies. The paths are those of the driver's own folder.
    made = synthetic_library(29, _BOOKS, copies=(0, 2), characters=(1_500, 2_500))
    write_library(tmp_path / "books.jsonl", map(paged, islice(made, _BOOKS)))
    command = ["corpus", "run", "books.jsonl", "--out", "corpus", "--engine", engine_address]
    subprocess.run([sys.executable, "-m", "bookprint_corpus", *command], cwd=tmp_path, check=True)
    corpus = findings_of_corpus(tmp_path / "corpus")
    assert corpus.clusters
    assert_same(corpus, find_by_service(tmp_path / "corpus", SelectionLimits()))


def test_a_small_library_with_more_candidates_than_are_compared(
    engine_address: str, small: Path, folder: Path, find_by_service: FindByService
) -> None:
    limits = SelectionLimits(nearest=3, representatives=3)
    service = find_by_service(small, limits)
    assert service.passed_over
    assert_same_but_representatives(find_by_corpus(small, folder, engine_address, limits), service)


@pytest.mark.long
@pytest.mark.corpus
@pytest.mark.timeout(600)
def test_real_books(engine_address: str, corpus: Path, folder: Path, find_by_service: FindByService) -> None:
    books, limits = corpus / "books.jsonl.gz", SelectionLimits()
    service = find_by_service(books, limits)
    assert_same(find_by_corpus(books, folder, engine_address, limits), service)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_thousands_of_copies_of_one_book(
    engine_address: str, many_copies: Path, folder: Path, find_by_service: FindByService
) -> None:
    # Comparing 200 copies with each would take the service long, and show no more.
    limits = SelectionLimits(nearest=5, representatives=5)
    service = find_by_service(many_copies, limits)
    assert max(cluster.size for cluster in service.clusters.values()) > _COPIES
    assert_same_but_representatives(find_by_corpus(many_copies, folder, engine_address, limits), service)
