"""`python -m workers.batch`: the driver of a corpus, until its tables are written."""

import argparse
import sys
from collections.abc import Sequence

from app.core.errors import InvalidInput
from app.core.matching.candidates import SelectionLimits
from app.kernel_cache import keep_kernels
from workers.batch import engine
from workers.batch.corpus import Corpus, Options

_INTERRUPTED = 130
_REFUSALS_TOLD = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m workers.batch", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="compute the tables of a corpus")
    run.set_defaults(command=_run)
    run.add_argument("input", nargs="+")
    run.add_argument("--out", required=True)
    run.add_argument("--engine", default=engine.LOCAL)
    run.add_argument("--column", action="append", default=[])
    run.add_argument("--nearest", type=int, default=SelectionLimits().nearest)
    run.add_argument("--block-books", type=int, default=Options().block_books)
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

    columns = dict(pair.split("=", 1) for pair in given.column)
    source = corpus_input(given.input, columns)
    options = Options(SelectionLimits(nearest=given.nearest), given.block_books)
    with engine.started(given.engine) as started:
        pipeline.run(Corpus(given.out, started, options), source, _tell)
    return _told_refusals(given.out)


def _told_refusals(out: str) -> int:
    """The exit status, after the first refusals were named."""
    from workers.batch import storage

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
