"""`python -m bench.corpus.one_stage OUT [MODULE:FUNCTION [NUMBER]]`: one stage of a corpus, by its function.

It runs in a process of its own, so that what it and its children spend can be told apart. Without a function
the engine is started, and nothing else.
"""

import argparse
import importlib
import sys

from app.kernel_cache import keep_kernels
from workers.batch import engine
from workers.batch.corpus import Corpus, Options


def main() -> int:
    """Call the function with the corpus and the numbers."""
    parser = argparse.ArgumentParser(prog="python -m bench.corpus.one_stage", description=__doc__)
    parser.add_argument("out")
    parser.add_argument("function", nargs="?", default="")
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--block-books", type=int, default=Options().block_books)
    given = parser.parse_args()
    keep_kernels()
    with engine.started(engine.LOCAL) as started:
        corpus = Corpus(given.out, started, Options(block_books=given.block_books))
        module, _, function = given.function.partition(":")
        if module:
            getattr(importlib.import_module(module), function)(corpus, *given.numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
