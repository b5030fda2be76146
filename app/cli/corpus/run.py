"""`bookprint corpus run`: the tables of a whole collection, computed by an engine for much data."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, NoReturn

import typer

from app.cli.ingest import ColumnOptions, column_options
from app.secrets import forget_secrets

Inputs = Annotated[
    list[str],
    typer.Argument(help="Parquet tables, JSON Lines, files of every format, archives, folders or globs."),
]
EngineOption = Annotated[
    str,
    typer.Option(
        metavar="local|sc://HOST:PORT",
        help="Sail on this machine, a task for each core; or a Spark cluster by its Spark Connect address.",
    ),
]


def run(
    inputs: Inputs,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder, or URL of an object store, that gets the tables.")
    ],
    engine: EngineOption = "local",
    column: ColumnOptions = None,
    nearest: Annotated[
        int, typer.Option(min=1, max=10_000, help="Candidates of a book that it is compared with, at most.")
    ] = 200,
    block_books: Annotated[
        int,
        typer.Option(
            min=1, max=2_000_000, help="Books of a block; a task that searches takes some 3 KB each."
        ),
    ] = 250_000,
) -> None:
    """Compute signatures, candidates, relations, page maps and clusters of a whole collection.

    The result is Parquet tables, which pandas, DuckDB and Spark read and `bookprint load` puts into a
    service. After an interruption run the command again: finished stages are skipped. Needs the extra
    `corpus`. Exit status: 0 all books are in, 1 some were refused (table `refused`), 2 it could not run.
    """
    options = {"--out": out, "--engine": engine, "--nearest": nearest, "--block-books": block_books}
    become_driver("run", inputs, options, column)


def become_driver(
    command: str,
    inputs: list[str],
    options: Mapping[str, object],
    column: list[str] | None,
    flags: Sequence[str] = (),
) -> NoReturn:
    """Let this process become the driver, which is no part of the service."""
    forget_secrets()  # files of strangers are read by processes that would inherit them
    arguments = [f"{name}={value}" for name, value in options.items()]
    arguments += [f"--column={what}={name}" for what, name in column_options(column).items()]
    os.execv(
        sys.executable, [sys.executable, "-m", "workers.batch", command, *arguments, *flags, "--", *inputs]
    )


CORPUS_COMMANDS = {"run": run}
"""The commands of the group `corpus`."""
