"""The stage of clusters."""

from workers.batch.corpus import Corpus


def run(corpus: Corpus) -> None:
    """Write `clusters`."""
    raise NotImplementedError
