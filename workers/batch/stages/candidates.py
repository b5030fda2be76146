"""The stage of candidates."""

from workers.batch.corpus import Corpus


def run(corpus: Corpus) -> None:
    """Write `candidates`."""
    raise NotImplementedError
