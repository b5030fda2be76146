"""One engine for all tests of a process, and small corpora."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookprint_core.matching.candidates import SelectionLimits
from bookprint_corpus import engine
from bookprint_corpus.corpus import Corpus, Options
from bookprint_corpus.engine import Engine

NewCorpus = Callable[..., Corpus]


@pytest.fixture(scope="session")
def sail() -> Iterator[Engine]:
    with engine.started(engine.LOCAL) as started:
        yield started


@pytest.fixture
def corpus(sail: Engine, tmp_path: Path) -> Corpus:
    """An empty corpus."""
    return Corpus(str(tmp_path / "corpus"), sail, Options())


@pytest.fixture
def new_corpus(sail: Engine, tmp_path: Path) -> NewCorpus:
    """Makes empty corpora with these options."""

    def new(name: str = "corpus", nearest: int = 200, block_books: int = 250_000) -> Corpus:
        return Corpus(str(tmp_path / name), sail, Options(SelectionLimits(nearest=nearest), block_books))

    return new
