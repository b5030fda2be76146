"""`bookprint sign`: the signatures of books, computed without any service."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from app.cli.ingest import ColumnOptions, Paths, Processes, column_options, find_files
from app.cli.output import Reporter, UserError, print_json, results
from app.cli.refusals import Refusals, Report
from app.core.errors import InvalidInput
from app.core.recipe import DEFAULT_FINGERPRINT
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets


def sign(
    paths: Paths,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet", help="Write a table that ingest takes elsewhere.", dir_okay=False
        ),
    ] = None,
    pages: Annotated[bool, typer.Option("--pages/--no-pages", help="Sign each page as well.")] = True,
    recipe: Annotated[str, typer.Option(help="The fingerprint recipe.")] = DEFAULT_FINGERPRINT,
    processes: Processes = None,
    report: Report = None,
    column: ColumnOptions = None,
) -> None:
    """Compute the signatures of books; nothing is stored, and no text leaves this machine.

    Without --out they are printed as JSON, a book a line, which POST /v1/books takes instead of the text.
    Exit status: 0 all are signed, 1 some books were refused, each with its reason, 2 it could not run.
    """
    keep_kernels()
    forget_secrets()  # files of strangers are read by processes that would inherit them
    from app.cli.checking import checked
    from app.core.errors import Refusal
    from app.core.recipe import fingerprint_recipe
    from app.core.signatures.json_codec import encode
    from app.readers.files import unread_books
    from app.readers.processes import ReadingProcesses, cores
    from app.readers.reading import Sign, SignedBook, results_of
    from app.readers.tables import signature_table

    fingerprint_recipe(recipe)
    listing, columns, signed = find_files(paths), column_options(column), 0
    # A few books are signed in the time that more processes would take to start.
    count = processes or min(cores(), len(listing.sizes) if listing.size < 1 << 20 else cores())
    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter("Signing", "books"))
        refusals = stack.enter_context(Refusals(report, reporter))
        try:
            table = None if out is None else stack.enter_context(signature_table.written(out))
        except InvalidInput as exc:
            raise UserError(str(exc), 2) from exc
        except OSError as exc:
            raise UserError(f"{out} cannot be written: {exc.strerror or exc}.", 2) from exc
        reading = stack.enter_context(ReadingProcesses(count, Sign(checked, recipe), (SignedBook, Refusal)))
        for book, result in results_of(reading, unread_books(listing, columns)):
            if isinstance(result, Refusal):
                refusals.add(book.path, book.part, result)
            elif table is not None:
                table.add(book.place, result.metadata, result.sketch, result.page_labels, pages=pages)
                signed += 1
            else:
                document = encode(result.sketch, pages=pages)
                print_json(document)
                signed += 1
            reporter.advance(signed + refusals.count, book.position / max(listing.size, 1))
    if out is not None:
        results().print(f"{signed:,} signed, {refusals.count:,} refused")
    if refusals.count:
        raise typer.Exit(1)
