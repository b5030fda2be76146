"""`python -m bench.corpus.one_stage OUT STAGE`: one stage of a corpus whose earlier tables are written.

It runs in a process of its own, so that what it and its children spend can be told apart.
"""

import argparse
import sys
from collections.abc import Callable, Mapping

from app.kernel_cache import keep_kernels
from workers.batch import engine
from workers.batch.corpus import Corpus, Options
from workers.batch.stages import books, candidates, clusters, postings, relations

NOTHING = "start of the engine"
STAGES: Mapping[str, Callable[[Corpus], None]] = {
    "postings": postings.run,
    "candidates": candidates.run,
    "relations": relations.run,
    "clusters": clusters.run,
    "books": books.run,
}


def main() -> int:
    """Run the stage named; `start of the engine` runs none."""
    parser = argparse.ArgumentParser(prog="python -m bench.corpus.one_stage", description=__doc__)
    parser.add_argument("out")
    parser.add_argument("stage", choices=[NOTHING, *STAGES])
    parser.add_argument("--block-books", type=int, default=Options().block_books)
    given = parser.parse_args()
    keep_kernels()
    with engine.started(engine.LOCAL) as started:
        corpus = Corpus(given.out, started, Options(block_books=given.block_books))
        STAGES.get(given.stage, lambda _: None)(corpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
