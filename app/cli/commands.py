"""The program `bookprint`: its commands, and a plain message for each error that the user can fix."""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib.metadata import version
from inspect import cleandoc
from itertools import chain, zip_longest
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperGroup

from app.cli.check import check, export
from app.cli.decide import decide
from app.cli.demo import demo
from app.cli.ingest import corpus, dedupe, ingest, load
from app.cli.keys import KEY_COMMANDS
from app.cli.lists import audit, changes, clusters, completeness, conflicts, contents, decisions, reviews
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
"""Exit status after Ctrl-C, as in shells."""

_Command = tuple[Callable[..., None], str, str]
"""A command, its purpose in a few words, and an example."""

_GROUPS: Mapping[str, Sequence[_Command]] = {
    "Start a library": (
        (demo, "try synthetic books", "bookprint demo --keep"),
        (serve, "run service and pages", "bookprint serve --data-dir library"),
        (ingest, "add books from files", "bookprint ingest scans/ --report refused.csv"),
        (load, "add a computed corpus", "bookprint load corpus/ --data-dir library"),
    ),
    "Find": (
        (lookup, "copies of a book", "bookprint lookup book.epub --d 10"),
        (check, "check a list of books", "bookprint check wanted.csv --out answers.csv"),
        (relation, "two books page by page", "bookprint relation emma-1816 emma-1833"),
        (similar, "books on similar topics", "bookprint similar emma-1816 --k 5"),
        (clusters, "groups of copies", "bookprint clusters --min-size 3 --csv clusters.csv"),
        (completeness, "pages lost or doubled", "bookprint completeness emma-1816"),
        (contents, "works in a volume", "bookprint contents tales-1850 --csv contents.csv"),
        (conflicts, "records against texts", "bookprint conflicts --by isbn"),
        (changes, "what changed, and when", "bookprint changes --after now --follow"),
    ),
    "Decide": (
        (reviews, "pairs to look at", "bookprint reviews --csv pairs.csv"),
        (decide, "confirm or reject pairs", "bookprint decide emma-1816 emma-1833 confirmed"),
        (decisions, "history of decisions", "bookprint decisions --limit 20"),
        (master_copy, "one text from copies", "bookprint master-copy emma-1816 > emma.txt"),
    ),
    "Work without a service": (
        (compare, "two files or identifiers", "bookprint compare one.pdf other.epub --html pair.html"),
        (sign, "signatures of files", "bookprint sign scans/ --out signatures.parquet"),
        (dedupe, "one copy of each book", "bookprint dedupe books.parquet --out kept"),
        (corpus, "a whole collection", "bookprint corpus run scans/ --out corpus"),
    ),
    "Operate": (
        (jobs, "background jobs", "bookprint jobs --retry all"),
        (worker, "one more worker", "bookprint worker --concurrency 2"),
        (verify, "check the index", "bookprint verify"),
        (reindex, "rebuild the index", "bookprint reindex"),
        (migrate, "update the database", "bookprint migrate --data-dir library"),
        (export, "holdings for a partner", "bookprint export --identifiers --out holdings.csv"),
        (audit, "who wrote what, and when", "bookprint audit --since 2027-01-31"),
    ),
}
"""The commands, grouped by purpose, in the order of the help."""

_KEY_ID = "0199c2f0-4d5e-7a31-8f6b-2c9d1e0a7b54"
_KEY_EXAMPLES = {"create": "--name library --scope ingest", "list": "", "revoke": _KEY_ID, "rotate": _KEY_ID}
"""Arguments for the examples of `bookprint keys`."""

_FAILED: Mapping[Callable[..., None], int] = dict.fromkeys((ingest, load, compare), 2)
"""Exit statuses for errors, of commands where status 1 has another meaning."""

_UNREAD = {"ignore_unknown_options": True, "allow_extra_args": True}
"""Context settings of commands that pass their arguments on to another program."""


class _Program(TyperGroup):
    """The program. Its help lists every command on one screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, two per line."""
        lines = [
            "Usage: bookprint COMMAND [OPTIONS]; for an example: bookprint COMMAND --help",
            "Finds near-duplicate books by their text. To try it: bookprint demo --keep",
            "",
        ]
        for group, commands in _GROUPS.items():
            entries = [(command.__name__.replace("_", "-"), purpose) for command, purpose, _ in commands]
            if group == "Operate":
                entries.append(("keys", "make and revoke API keys"))
            lines.append(group)
            for first, second in zip_longest(entries[::2], entries[1::2], fillvalue=("", "")):
                lines.append(f"  {first[0]:<12}  {first[1]:<24}  {second[0]:<12}  {second[1]}".rstrip())
        formatter.write("\n".join((*lines, "bookprint --version prints the version.")))


def run() -> None:
    """Run the command that the arguments name, and exit with its status."""
    app = typer.Typer(
        cls=_Program,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command, _, example in chain(*_GROUPS.values()):
        if command in (corpus, dedupe):
            app.command(add_help_option=False, context_settings=_UNREAD)(command)
        else:
            app.command(help=_help(command, example))(_with_plain_errors(command))
    app.callback()(_bookprint)
    keys = typer.Typer(help="Make, list, rotate and revoke API keys.", no_args_is_help=True)
    for name, key_command in KEY_COMMANDS.items():
        example = f"bookprint keys {name} {_KEY_EXAMPLES[name]}".strip()
        keys.command(name, help=_help(key_command, example), short_help=key_command.__doc__)(
            _with_plain_errors(key_command)
        )
    app.add_typer(keys, name="keys")
    app(prog_name="bookprint")


def _help(command: Callable[..., None], example: str) -> str:
    return f"Example: `{example}`\n\n{cleandoc(command.__doc__ or '')}"


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
    """Return the command with a handler that prints expected errors as messages instead of tracebacks."""
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
