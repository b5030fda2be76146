"""The program `bookprint`: its commands, and one message for each error that the user can mend."""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib.metadata import version
from typing import Annotated, ParamSpec

import typer

from app.cli.check import check, export
from app.cli.decide import decide
from app.cli.demo import demo
from app.cli.ingest import corpus, dedupe, ingest, load
from app.cli.keys import KEY_COMMANDS
from app.cli.lists import audit, changes, clusters, completeness, conflicts, decisions, reviews
from app.cli.lookup import lookup, master_copy, relation, similar
from app.cli.maintenance import jobs, migrate, reindex, verify
from app.cli.output import UserError, complain, results
from app.cli.serve import serve, worker
from app.cli.sign import compare, sign
from app.embedded import DataDirInUse, ServerFailed
from bookprint_client import ClientError, InvalidUrl
from bookprint_core.errors import BookprintError, InvalidInput

P = ParamSpec("P")

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_GROUPS: Mapping[str, Sequence[Callable[..., None]]] = {
    "Use": (demo, serve, ingest, lookup, check, similar, relation, clusters, completeness, sign, compare),
    "Curate": (reviews, decide, decisions, conflicts, master_copy, export, changes),
    "Operate": (worker, jobs, migrate, load, reindex, verify, audit),
}
"""The commands by what people do with them, as the help lists them."""

_FAILED: Mapping[Callable[..., None], int] = dict.fromkeys((ingest, load, compare), 2)
"""Exit statuses of commands that could not run, where 1 means something else."""

_UNREAD = {"ignore_unknown_options": True, "allow_extra_args": True}
"""For commands whose arguments another program reads."""


def run() -> None:
    """Run the command that the arguments name, and exit with its status."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for group, commands in _GROUPS.items():
        for command in commands:
            app.command(rich_help_panel=group)(_with_plain_errors(command))
    for unread in (corpus, dedupe):
        app.command(add_help_option=False, context_settings=_UNREAD, rich_help_panel="Curate")(unread)
    app.callback()(_bookprint)
    keys = typer.Typer(help="Make, list and end API keys.", no_args_is_help=True)
    for name, key_command in KEY_COMMANDS.items():
        keys.command(name)(_with_plain_errors(key_command))
    app.add_typer(keys, name="keys", rich_help_panel="Operate")
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
    failed = _FAILED.get(command, 1)

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            command(*args, **kwargs)
        except UserError as exc:
            complain(str(exc))
            raise typer.Exit(exc.status) from exc
        except (InvalidInput, InvalidUrl) as exc:
            complain(str(exc))
            raise typer.Exit(2) from exc
        except (BookprintError, ClientError, DataDirInUse, ServerFailed) as exc:
            complain(str(exc))
            raise typer.Exit(failed) from exc
        except OSError as exc:
            named = exc.filename is not None
            complain(f"{exc.filename} cannot be read or written: {exc.strerror}." if named else str(exc))
            raise typer.Exit(2) from exc
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None

    return run
