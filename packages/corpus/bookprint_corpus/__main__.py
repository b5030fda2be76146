"""`python -m bookprint_corpus`: the driver of a corpus, with the commands `corpus run` and `dedupe`.

The program `bookprint` replaces itself with this process and passes its arguments on.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from inspect import cleandoc
from types import FrameType
from typing import TYPE_CHECKING, Annotated, ParamSpec

import typer

from bookprint_core.errors import InvalidInput
from bookprint_core.matching.candidates import SelectionLimits
from bookprint_corpus import engine
from bookprint_corpus.dedupe.sections import Keep, Same

if TYPE_CHECKING:
    from bookprint_corpus.corpus import Corpus

P = ParamSpec("P")

_INTERRUPTED = 130
_TOLD_AT_INTERRUPT = "Interrupted. Run the same command again: finished stages are skipped.\n"
_REFUSALS_TOLD = 20

_Inputs = Annotated[
    list[str],
    typer.Argument(help="Parquet tables, JSON Lines, files of every format, archives, folders or globs."),
]
_EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|sc://HOST:PORT",
        help="Sail on this machine, or the Spark Connect address of a cluster.",
    ),
]
_ColumnOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="FIELD=NAME", help="Column of a Parquet table with text, pages, id, title, …"
    ),
]


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    corpus = typer.Typer(help="Compute a whole collection without a service.", no_args_is_help=True)
    corpus.command(help=_help(run, "bookprint corpus run scans/ --out corpus"))(_with_plain_errors(run))
    app.add_typer(corpus, name="corpus")
    app.command(help=_help(dedupe, "bookprint dedupe books.parquet --out kept"))(_with_plain_errors(dedupe))
    app(prog_name="bookprint")


def run(
    inputs: _Inputs,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder, or URL of an object store, for the tables.")
    ],
    engine_address: _EngineOption = engine.LOCAL,
    column: _ColumnOptions = None,
    nearest: Annotated[
        int, typer.Option(min=1, max=10_000, help="Maximum number of candidates per book.")
    ] = SelectionLimits().nearest,
    block_books: Annotated[
        int,
        typer.Option(
            min=1, max=2_000_000, help="Books per block; a task needs about 3 KB of memory per book."
        ),
    ] = 250_000,
) -> None:
    """Compute signatures, candidates, relations, page maps and clusters of a whole collection.

    The results are Parquet tables for pandas, DuckDB and Spark. `bookprint load` adds them to a
    service. After an interruption, run the command again: finished stages are skipped. The command needs the
    extra `corpus`. Exit status: 0 all books are computed, 1 some were refused (table `refused`), 2 failed.
    """
    from bookprint_corpus import pipeline
    from bookprint_corpus.corpus import Corpus, Options
    from bookprint_corpus.splits import corpus_input
    from bookprint_corpus.storage import absolute

    source = corpus_input(inputs, _columns(column))
    with _started(engine_address) as started:
        corpus = Corpus(absolute(out), started, Options(SelectionLimits(nearest=nearest), block_books))
        pipeline.run(corpus, source, _tell)
    _exit_after_refusals(corpus)


def dedupe(
    inputs: _Inputs,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder, or URL of an object store, for the result.")
    ],
    keep: Annotated[Keep, typer.Option(help="Which copy to keep.")] = "best",
    same: Annotated[
        Same,
        typer.Option(
            help="Books to leave out: copies of a printing, copies of a text, or also parts of other books."
        ),
    ] = "same-text",
    mark: Annotated[
        bool,
        typer.Option(
            "--mark",
            help="Leave no row out; list each row's copies in likely_duplicates_barcodes_gen.",
        ),
    ] = False,
    engine_address: _EngineOption = engine.LOCAL,
    column: _ColumnOptions = None,
) -> None:
    """Find the copies in a collection and keep one of each.

    DIR/dedupe/clusters.parquet lists all books, whether they are kept, and why. DIR/dedupe/tables contains
    copies of the input's Parquet tables without the rows left out. DIR/dedupe/keep.txt lists other books to
    keep. Unreadable books are kept. A later run with another --keep or --same reuses the corpus in DIR. The
    command needs the extra `corpus`. Exit status: 0 all books were compared, 1 some were refused, 2 failed.
    """
    from bookprint_corpus.corpus import Corpus, Options
    from bookprint_corpus.dedupe import command
    from bookprint_corpus.splits import corpus_input
    from bookprint_corpus.storage import absolute

    command.require_apart(inputs, absolute(out))
    source = corpus_input(inputs, _columns(column))
    with _started(engine_address) as started:
        corpus = Corpus(absolute(out), started, Options())
        result = command.dedupe(corpus, source, command.Choice(same, keep, mark), _tell)
    kept = result.books - result.left_out
    counted = f"{kept:,} of {result.books:,} books are kept, {result.left_out:,} are left out"
    _tell(counted if result.books else "No book could be read.")
    for problem in result.problems:
        sys.stderr.write(f"not copied: {problem}\n")
    _exit_after_refusals(corpus, failed=bool(result.problems))


def _help(command: Callable[..., None], example: str) -> str:
    return f"Example: `{example}`\n\n{cleandoc(command.__doc__ or '')}"


def _with_plain_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command, with expected errors printed as one message instead of a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            command(*args, **kwargs)
        except InvalidInput as exc:
            sys.stderr.write(f"{exc}\n")
            raise typer.Exit(2) from exc
        except KeyboardInterrupt:
            sys.stderr.write(_TOLD_AT_INTERRUPT)
            raise typer.Exit(_INTERRUPTED) from None

    return run


def _started(address: str) -> AbstractContextManager[engine.Engine]:
    if address == engine.LOCAL:
        signal.signal(signal.SIGINT, _end)
    return engine.started(address)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: Sail stops serving at SIGINT, and its client in this process would retry for minutes."""
    os.write(sys.stderr.fileno(), _TOLD_AT_INTERRUPT.encode())
    os._exit(_INTERRUPTED)


def _columns(options: list[str] | None) -> dict[str, str]:
    """Return the named columns by field."""
    from bookprint_readers.table import named_columns

    return named_columns(options or ())


def _exit_after_refusals(corpus: "Corpus", failed: bool = False) -> None:
    """Print the first refusals. Exit with status 1 if there are refusals or if `failed` is true."""
    from bookprint_corpus import storage

    refused = storage.read(corpus.out, "refused").slice(0, _REFUSALS_TOLD).to_pylist()
    for row in refused:
        sys.stderr.write(f"refused: {row['place']}: {row['reason']}\n")
    count = storage.row_count(corpus.out, "refused")
    if count > len(refused):
        more = f"{count - len(refused):,} more are refused: see {storage.url(corpus.out, 'refused')}"
        sys.stderr.write(f"{more}\n")
    if count or failed:
        raise typer.Exit(1)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
