"""One engine for all tests of a process, and small corpora."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bookprint_corpus import engine
from bookprint_corpus.corpus import Corpus, Options
from bookprint_corpus.engine import Engine


@pytest.fixture(scope="session")
def sail() -> Iterator[Engine]:
    with engine.started(engine.LOCAL) as started:
        yield started


@pytest.fixture
def corpus(sail: Engine, tmp_path: Path) -> Corpus:
    """An empty corpus."""
    return Corpus(str(tmp_path / "corpus"), sail, Options())
