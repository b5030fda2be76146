"""`bookprint sign` and `compare`: compute signatures and compare books, without a service."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from app.catalog.identifiers import isbns
from app.cli.ingest import ColumnOptions, Paths, Processes, column_options, find_files
from app.cli.lookup import read_one_book, read_signatures
from app.cli.output import Refusals, Report, Reporter, UserError, print_json, results
from app.kernel_cache import keep_kernels
from app.secrets import forget_secrets
from bookprint_core.matching.identifier_comparison import LEAST_CHANCE, Comparison, compare as compared
from bookprint_core.model import Metadata
from bookprint_core.recipe import DEFAULT_FINGERPRINT
from bookprint_core.signatures import identifier as identifiers
from bookprint_core.signatures.identifier import Identifier

DIFFERENT, FAILED, UNSURE = 1, 2, 3
"""Exit statuses; 0 means that the books are the same."""

_Book = Annotated[
    str,
    typer.Argument(
        metavar="IDENTIFIER|FILE",
        help="An identifier (bp1:… or bp2:…), a file or folder with a book, or signatures as `sign` prints "
        "them (.json).",
    ),
]


def sign(
    paths: Paths,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.parquet", help="Write a table that `ingest` can read.", dir_okay=False),
    ] = None,
    pages: Annotated[bool, typer.Option("--pages/--no-pages", help="Also sign each page.")] = True,
    datasketch: Annotated[
        bool, typer.Option("--datasketch", help="Print only the MinHash, in datasketch's format.")
    ] = False,
    recipe: Annotated[str, typer.Option(help="The fingerprint recipe.")] = DEFAULT_FINGERPRINT,
    processes: Processes = None,
    report: Report = None,
    column: ColumnOptions = None,
) -> None:
    """Compute the signatures of books. Nothing is stored, and no text leaves this machine.

    Without --out the signatures are printed as JSON, one book per line. POST /v1/books accepts them instead
    of the text. Exit status: 0 all are signed, 1 some books were refused, 2 the command could not run.
    """
    keep_kernels()
    forget_secrets()  # the reading processes open untrusted files and would inherit the secrets
    from bookprint_core.errors import Refusal
    from bookprint_core.model import NewBook
    from bookprint_core.recipe import fingerprint_recipe
    from bookprint_core.signatures import lean_minhash
    from bookprint_core.signatures.json_codec import encode
    from bookprint_corpus import sketches
    from bookprint_readers.files import unread_books
    from bookprint_readers.processes import ReadingProcesses, cores
    from bookprint_readers.reading import Sign, results_of

    fingerprint_recipe(recipe)
    listing, columns, signed = find_files(paths), column_options(column), 0
    # A few books are signed faster than more processes could start.
    count = processes or min(cores(), len(listing.sizes) if listing.size < 1 << 20 else cores())
    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter("Signing", "books"))
        if out is None and results().is_terminal:
            reporter.end()
        refusals = stack.enter_context(Refusals(report, reporter))
        table = None if out is None else stack.enter_context(sketches.written(out))
        reading = stack.enter_context(ReadingProcesses(count, Sign(recipe), (NewBook, Refusal)))
        for book, result in results_of(reading, unread_books(listing, columns)):
            if isinstance(result, Refusal):
                refusals.add(book.path, book.part, result)
            elif table is not None:
                content = result.content
                table.add(book.place, result.metadata, content.sketch, content.page_labels, pages=pages)
                signed += 1
            else:
                signed_book, minhash = result.content.sketch, result.content.sketch.minhash
                if not datasketch:
                    print_json(encode(signed_book, pages=pages))
                elif minhash is not None:
                    own_id = result.metadata.external_id or book.place
                    print_json({"external_id": own_id, "datasketch": lean_minhash.encode(minhash)})
                else:
                    reporter.say(f"{book.place} is too short for a MinHash.")
                signed += 1
            reporter.advance(signed + refusals.count, book.position / max(listing.size, 1))
    if out is not None:
        results().print(f"{signed:,} signed, {refusals.count:,} refused")
    if refusals.count:
        raise typer.Exit(1)


def compare(
    this: _Book,
    other: _Book,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one line of JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write an HTML page with the matching pages of two files and the words that differ.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Compare two identifiers or files, without a service: do the books have the same text?

    The verdict is "same" if at most one stranger in a million is as near. A stranger is another book of the
    same language, as long as the shorter book. Different books may still share a small part.
    Exit status: 0 same, 1 different, 2 they cannot be compared, 3 unsure.
    """
    if html is not None:
        _write_pair_page(html, this, other)
    comparison = compared(_identifier(this), _identifier(other))
    if json:
        print_json(asdict(comparison))
    else:
        for name, value in _lines(comparison):
            results().print(f"{name:<23}{value}", highlight=False)
    status = {"same": 0, "different": DIFFERENT, "unsure": UNSURE}[comparison.verdict]
    if status:
        raise typer.Exit(status)


def _write_pair_page(out: Path, this: str, other: str) -> None:
    """Write the page that compares two files; raises UserError."""
    from app.services.pairs.evidence import shown_pair
    from app.web.pair import self_contained_page

    read = []
    for name in (this, other):
        file = Path(name)
        if not file.exists() or file.suffix.lower() == ".json":
            raise UserError(f"{name} is not a file with a text. --html shows the texts of two files.", 2)
        book = read_one_book(file)
        read.append(replace(book, metadata=replace(book.metadata, title=book.metadata.title or file.name)))
    out.write_text(self_contained_page(shown_pair(*read)), encoding="utf-8", errors="replace")


def _identifier(book: str) -> Identifier:
    if identifiers.is_identifier(book):
        return identifiers.decode(book)
    file = Path(book)
    if not file.exists():
        raise UserError(f"{book} is neither a file nor an identifier (bp1:… or bp2:…).", FAILED)
    keep_kernels()
    from bookprint_core.signatures import json_codec
    from bookprint_core.signatures.sketch import sketch

    metadata = Metadata()
    if file.suffix.lower() == ".json":
        signatures = json_codec.decode(read_signatures(file))
    else:
        read = read_one_book(file)
        assert read.content is not None  # reading refuses a file without text
        signatures, metadata = sketch(read.content), read.metadata
    isbn = next(iter(isbns(metadata.identifiers)), None)
    identifier = identifiers.of_signatures(signatures, signatures.word_count, isbn)
    if identifier is None:
        raise UserError(f"{book} is too short or too even for an identifier.", FAILED)
    return identifier


def _lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "verdict", comparison.verdict
    chance = comparison.stranger_chance
    rare = chance <= LEAST_CHANCE
    yield "stranger as near", "less than 1 in a million" if rare else f"{chance:.1g} (1 is certain)"
    yield "distance", f"{comparison.distance} of 128 bits"
    if comparison.unequal_bits is not None:
        yield "MinHash bits unequal", f"{comparison.unequal_bits} of 128 (strangers: about 64)"
    shares = (
        ("Jaccard", comparison.jaccard),
        ("first in second", comparison.this_in_other),
        ("second in first", comparison.other_in_this),
    )
    for name, share in shares:
        if share is not None:
            yield name, f"{share.estimate:.2f} (between {share.low:.2f} and {share.high:.2f})"
    excluded = ", too short for such a similarity" if comparison.lengths_exclude else ""
    yield "length of the shorter", f"{comparison.length_ratio:.0%} of the longer{excluded}"
    yield "ISBN", comparison.isbn
