"""The program `bookprint`: its commands, and one message for each error that the user can mend."""

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Annotated, ParamSpec

import typer

from app.cli.access.audit import audit
from app.cli.access.keys import KEY_COMMANDS
from app.cli.asking.compare import compare
from app.cli.asking.conflicts import conflicts
from app.cli.asking.lookup import lookup
from app.cli.asking.master_copy import master_copy
from app.cli.asking.similar import similar
from app.cli.changes import changes
from app.cli.corpus.dedupe import dedupe
from app.cli.corpus.run import CORPUS_COMMANDS
from app.cli.demo.command import demo
from app.cli.ingest import ingest
from app.cli.jobs import jobs
from app.cli.load import load
from app.cli.maintenance import migrate, reindex, verify
from app.cli.output import UserError, complain, results
from app.cli.serve import serve, worker
from app.cli.sign import sign
from app.core.errors import BookprintError
from app.embedded import DataDirInUse, ServerFailed
from bookprint_client import ClientError, InvalidUrl

P = ParamSpec("P")

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def run() -> None:
    """Run the command that the arguments name, and exit with its status."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in (
        *(demo, serve, worker, jobs, migrate, ingest, load, lookup, similar, compare, conflicts, changes),
        *(sign, dedupe, reindex, verify, audit, master_copy),
    ):
        app.command()(_with_plain_errors(command))
    app.callback()(_bookprint)
    keys = typer.Typer(help="Make, list and end API keys.", no_args_is_help=True)
    for name, key_command in KEY_COMMANDS.items():
        keys.command(name)(_with_plain_errors(key_command))
    app.add_typer(keys, name="keys")
    corpus = typer.Typer(help="Compute a whole collection on an engine for much data.", no_args_is_help=True)
    for name, corpus_command in CORPUS_COMMANDS.items():
        corpus.command(name)(_with_plain_errors(corpus_command))
    app.add_typer(corpus, name="corpus")
    app(prog_name="bookprint")


def _show_version(wanted: bool) -> None:
    if wanted:
        results().print(f"bookprint {version('bookprint')}")
        raise typer.Exit


def _bookprint(
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Find near-duplicate books by their text. Try `demo`; then `serve`, and `ingest` a folder."""


def _with_plain_errors(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with expected errors printed as one message instead of a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except UserError as exc:
            complain(str(exc))
            raise typer.Exit(exc.status) from exc
        except InvalidUrl as exc:
            complain(str(exc))
            raise typer.Exit(2) from exc
        except (BookprintError, ClientError, DataDirInUse, ServerFailed) as exc:
            complain(str(exc))
            raise typer.Exit(1) from exc
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    return run
