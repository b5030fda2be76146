"""`bookprint compare`: two books compared by their identifiers, without any service."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.catalog.identifiers import isbns
from app.cli.book_file import read_one_book, read_signatures
from app.cli.output import UserError, print_json, results
from app.core.errors import BookprintError
from app.core.matching.identifier_comparison import Comparison
from app.core.matching.identifier_comparison import compare as compared
from app.core.model import Metadata
from app.core.signatures import composite
from app.core.signatures.identifier import Identifier
from app.core.signatures.minhash_bits import Range
from app.kernel_cache import keep_kernels

DIFFERENT, FAILED, UNSURE = 1, 2, 3
"""Exit statuses; 0 means the same."""

_Book = Annotated[
    str,
    typer.Argument(
        metavar="IDENTIFIER|FILE",
        help="bp1:… or bp2:…, with an ISBN behind it or not; or the file or folder of a book in any format "
        "that is read, or signatures (.json) as printed by sign.",
    ),
]


def compare(
    this: _Book,
    other: _Book,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one line of JSON.")] = False,
) -> None:
    """Tell from two identifiers whether two books have the same text; no service is asked.

    Books are the same where at most one stranger in a million lies as near. A stranger is another book of the
    same language, as long as the shorter one. Different books may share a part that is small for either.
    Exit status: 0 same, 1 different, 2 they cannot be compared, 3 unsure.
    """
    try:
        comparison = compared(_identifier(this), _identifier(other))
    except BookprintError as exc:
        raise UserError(str(exc), FAILED) from exc
    if json:
        print_json(asdict(comparison))
    else:
        for name, value in _lines(comparison):
            results().print(f"{name:<23}{value}", highlight=False)
    status = {"same": 0, "different": DIFFERENT, "unsure": UNSURE}[comparison.verdict]
    if status:
        raise typer.Exit(status)


def _identifier(book: str) -> Identifier:
    if composite.is_identifier(book):
        return composite.decode(book)
    file = Path(book)
    if not file.exists():
        raise UserError(f"{book} is no file and no identifier (bp1:… or bp2:…).", FAILED)
    keep_kernels()
    from app.core.signatures import json_codec
    from app.core.signatures.sketch import sketch

    metadata = Metadata()
    if file.suffix.lower() == ".json":
        signatures = json_codec.decode(read_signatures(file))
    else:
        read = read_one_book(file)
        assert read.content is not None  # a file has a text, or is refused
        signatures, metadata = sketch(read.content), read.metadata
    isbn = next(iter(isbns(metadata.identifiers)), None)
    identifier = composite.of_signatures(signatures, signatures.word_count, isbn)
    if identifier is None:
        raise UserError(f"{book} is too short or too even for an identifier.", FAILED)
    return identifier


def _lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "verdict", comparison.verdict
    yield "stranger as near", f"{comparison.stranger_chance:.1g} (1 is certain)"
    yield "distance", f"{comparison.distance} of 128 bits"
    if comparison.unequal_bits is not None:
        yield "MinHash bits unequal", f"{comparison.unequal_bits} of 128, of strangers about 64"
    shares = (
        ("Jaccard", comparison.jaccard),
        ("first in second", comparison.this_in_other),
        ("second in first", comparison.other_in_this),
    )
    for name, share in shares:
        if share is not None:
            yield name, _bounds(share)
    excluded = ", too short for such a similarity" if comparison.lengths_exclude else ""
    yield "length of the shorter", f"{comparison.length_ratio:.0%} of the longer{excluded}"
    yield "ISBN", comparison.isbn


def _bounds(share: Range) -> str:
    return f"{share.estimate:.2f} (between {share.low:.2f} and {share.high:.2f})"
