"""`bookprint dedupe`: what to keep of a collection, for those who want no service."""

from typing import Annotated

import typer

from app.cli.corpus.run import EngineOption, Inputs, become_driver
from app.cli.ingest import ColumnOptions
from app.core.clusters.deduplication import Keep, Same


def dedupe(
    inputs: Inputs,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder, or URL of an object store, that gets the result.")
    ],
    keep: Annotated[Keep, typer.Option(help="Which of several copies is kept.")] = "best",
    same: Annotated[
        Same,
        typer.Option(
            help="What is left out: copies of one printing, of one text, or also what another book contains."
        ),
    ] = "same-text",
    mark: Annotated[
        bool,
        typer.Option(
            "--mark",
            help="Leave no row out; list in each what it is a copy of (likely_duplicates_barcodes_gen).",
        ),
    ] = False,
    engine: EngineOption = "local",
    column: ColumnOptions = None,
) -> None:
    """Find the copies in a collection, and keep one of each.

    DIR/dedupe gets clusters.parquet, with what is kept and why. Parquet tables of the input stand in tables/,
    without the rows that are left out; other books to keep are listed in keep.txt. What cannot be read is
    kept. The rest of DIR is as `corpus run` writes it: another --keep or --same computes nothing anew. Needs
    the extra `corpus`. Exit status: 0 all books were compared, 1 some were refused, 2 it could not run.
    """
    options = {"--out": out, "--keep": keep, "--same": same, "--engine": engine}
    become_driver("dedupe", inputs, options, column, flags=["--mark"] if mark else [])
