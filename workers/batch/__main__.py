"""`python -m workers.batch`: the driver of a corpus, until its tables are written."""

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

from app.core.clusters.deduplication import Keep, Same
from app.core.errors import InvalidInput
from app.core.matching.candidates import SelectionLimits
from app.kernel_cache import keep_kernels
from workers.batch import engine, storage
from workers.batch.corpus import Corpus, Options

_INTERRUPTED = 130
_REFUSALS_TOLD = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workers.batch", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="compute the tables of a corpus")
    run.set_defaults(command=_run)
    dedupe = commands.add_parser("dedupe", help="compute them, and write what to keep")
    dedupe.set_defaults(command=_dedupe)
    for command in (run, dedupe):
        command.add_argument("input", nargs="+")
        command.add_argument("--out", required=True, type=storage.absolute)
        command.add_argument("--engine", default=engine.LOCAL)
        command.add_argument("--column", action="append", default=[])
        command.add_argument("--nearest", type=int, default=SelectionLimits().nearest)
        command.add_argument("--block-books", type=int, default=Options().block_books)
    dedupe.add_argument("--same", choices=get_args(Same), required=True)
    dedupe.add_argument("--keep", choices=get_args(Keep), required=True)
    dedupe.add_argument("--mark", action="store_true")
    given = parser.parse_args(arguments)
    keep_kernels()
    try:
        return int(given.command(given))
    except InvalidInput as exc:
        sys.stderr.write(f"{exc}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Run the same command again: finished stages are skipped.\n")
        return _INTERRUPTED


def _run(given: argparse.Namespace) -> int:
    from workers.batch import pipeline
    from workers.batch.splits import corpus_input

    source = corpus_input(given.input, _columns(given))
    with engine.started(given.engine) as started:
        pipeline.run(Corpus(given.out, started, _options(given)), source, _tell)
    return _told_refusals(given.out)


def _dedupe(given: argparse.Namespace) -> int:
    from workers.batch.dedupe.command import Choice, dedupe, require_apart
    from workers.batch.splits import corpus_input

    require_apart(given.input, given.out)
    columns = _columns(given)
    source, choice = corpus_input(given.input, columns), Choice(given.same, given.keep, given.mark)
    with engine.started(given.engine) as started:
        corpus = Corpus(given.out, started, _options(given))
        result = dedupe(corpus, source, columns, choice, _tell)
    kept = result.books - result.left_out
    _tell(f"{kept:,} of {result.books:,} books are kept, {result.left_out:,} are left out")
    for problem in result.problems:
        sys.stderr.write(f"not copied: {problem}\n")
    status = _told_refusals(given.out)
    return 1 if result.problems else status


def _columns(given: argparse.Namespace) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in given.column)


def _options(given: argparse.Namespace) -> Options:
    return Options(SelectionLimits(nearest=given.nearest), given.block_books)


def _told_refusals(out: str) -> int:
    """The exit status, after the first refusals were named."""
    refused = storage.read(out, "refused").slice(0, _REFUSALS_TOLD).to_pylist()
    for row in refused:
        sys.stderr.write(f"refused: {row['place']}: {row['reason']}\n")
    count = storage.row_count(out, "refused")
    if count > len(refused):
        sys.stderr.write(f"{count - len(refused):,} more are refused: see {storage.url(out, 'refused')}\n")
    return 1 if count else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
