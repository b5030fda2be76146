"""`bookprint ingest`: the books of files and folders, posted to a service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from app.cli.environment import DEFAULT_URL
from app.cli.output import Reporter, UserError, complain, notices, results
from app.client import Client
from app.kernel_cache import keep_kernels

_AGAIN = "Not every book was posted. Run the same command again: books that are there already are skipped."


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, or folders to search for .txt, .jsonl and .jsonl.gz.")
    ],
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Books posted at once.")] = 4,
) -> None:
    """Post the books of text files (a form feed between pages) and of JSON Lines files, gzipped or not.

    Books that are already there stay as they are, so running the command again is harmless. A book that
    cannot be posted is named with the reason, and the exit status is 1.
    """
    keep_kernels()
    from app.cli.posting import KINDS, Outcome, Tally, post_all
    from app.readers import files
    from app.readers.record import Record

    try:
        listing = files.find(paths)
    except OSError as exc:
        raise UserError(f"{exc.filename} cannot be read: {exc.strerror}", 2) from exc
    if listing.passed_over:
        notices().print(
            f"{len(listing.passed_over):,} files are passed over, as {listing.passed_over[0]}: in folders "
            f"only {', '.join(files.SUFFIXES)} are read. Name a file to have it read as text.",
        )
    if not listing.sizes:
        raise UserError("There is nothing to post.")

    share = 0.0

    def records() -> Iterator[Record]:
        nonlocal share
        for record, position in files.read_all(listing):
            yield record
            share = position / max(listing.size, 1)

    with Client(url, connections=jobs) as service:
        service.insist()
        with Reporter("Posting", "books") as reporter:

            def report(outcome: Outcome, tally: Tally) -> None:
                if outcome.kind == "failed":
                    reporter.say(f"{outcome.record.place}: {outcome.reason}")
                reporter.advance(tally.total, share)

            tally = post_all(service, records(), jobs, report)
    results().print(", ".join(f"{tally.counts[kind]:,} {kind}" for kind in KINDS))
    if tally.stopped is not None:
        complain(f"{tally.stopped}\n{_AGAIN}")
    if tally.interrupted:
        complain(f"Interrupted. {_AGAIN}")
        raise typer.Exit(130)
    if not tally.complete:
        raise typer.Exit(1)
