"""The stage of relations."""

from workers.batch.corpus import Corpus


def run(corpus: Corpus) -> None:
    """Write `relations`."""
    raise NotImplementedError
