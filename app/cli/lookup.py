"""`bookprint lookup` and `similar`, and how a command line names one book."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import orjson
import typer
from rich.text import Text

from app.cli.environment import DEFAULT_URL, KeyOption
from app.cli.output import UserError, drawn_table, notices, print_json, print_lines, results
from app.core.errors import InvalidInput
from app.core.signatures.identifier import is_identifier
from bookprint_client import Client, calls
from bookprint_client.answers import NearDuplicate, NearDuplicates, SimilarBookAnswer
from bookprint_client.calls import PagedCall

if TYPE_CHECKING:
    from app.core.model import Submission

COLUMNS = ("distance", "jaccard", "in other", "in this")
_SIMILAR_COLUMNS = ("similarity", "title", "authors", "id")
_PATIENCE = 10.0  # seconds
_MOST_ITEMS = 1000  # in one answer

_Question = PagedCall[Any, NearDuplicate]


def lookup(
    book: Annotated[
        str,
        typer.Argument(
            metavar="FILE|BOOK_ID|EXTERNAL_ID|IDENTIFIER",
            help="The file or folder of a book in any format that is read, signatures (.json) as printed by "
            "sign, the id or external id of a posted book, or bp1:… or bp2:…, with an ISBN behind it or not.",
        ),
    ],
    d: Annotated[
        int | None,
        typer.Option("--d", min=0, max=128, help="Every book within this many bits."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, max=1000, help="The k nearest books.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most books to print.")] = 100,
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the items as JSON, one a line.")] = False,
) -> None:
    """Find the near-duplicates of a book; nothing is stored.

    With --d or --k the answer is provably complete; without, fingerprint and MinHash candidates are confirmed
    by their signatures. "In other" is the share of this book found in the other, "in this" the reverse.
    """
    if d is not None and k is not None:
        raise UserError("Give --d or --k, not both.", 2)
    with Client(url, patience=_PATIENCE, key=key) as service:
        service.insist()
        answer, items = _ask(service, _question(service, book, d, k, min(limit, _MOST_ITEMS)), limit)
    if json:
        for item in items:
            print_json(item)
        return
    console, rows = results(), [_row(item) for item in items]
    if not console.is_terminal:
        print_lines(console, [*COLUMNS, "title", "id"], rows)
    elif rows:
        # The id stands below the title: side by side they do not fit an ordinary terminal.
        drawn = [(*row[:4], Text.assemble(row[4], "\n", (row[5], "dim"))) for row in rows]
        console.print(drawn_table((*COLUMNS, "book"), drawn, wide="book", right=COLUMNS))
    notices().print(_summary(answer, len(items)))


def _row(item: NearDuplicate) -> tuple[str, str, str, str, str, str]:
    """An item of an answer as the cells of COLUMNS, its title and its id."""
    containment = item["containment"]
    return (
        "–" if item["distance"] is None else str(item["distance"]),
        _share(item["jaccard"]),
        _share(containment["this_in_other"]),
        _share(containment["other_in_this"]),
        item["title"] or "",
        item["id"],
    )


def _ask(service: Client, question: _Question, limit: int) -> tuple[NearDuplicates, Sequence[NearDuplicate]]:
    """The last page of the answer that was read, and the items of all pages, up to `limit`."""
    items: list[NearDuplicate] = []
    for page in service.pages(question):
        items += page["items"]
        if len(items) >= limit:
            break
    return page, items[:limit]


def _question(service: Client, book: str, d: int | None, k: int | None, limit: int) -> _Question:
    """What to ask about a file, a book's id or external id, or an identifier."""
    if is_identifier(book):
        return calls.look_up({"identifier": book}, d=d, k=k, limit=limit)
    file = Path(book)
    if not file.exists():
        return calls.near_duplicates(named_book(service, book), d=d, k=k, limit=limit)
    if file.suffix.lower() == ".json":
        return calls.look_up({"signatures": read_signatures(file)}, d=d, k=k, limit=limit)
    content = read_one_book(file).content
    assert content is not None  # a file has a text, or is refused
    return calls.look_up({"text": content.text}, d=d, k=k, limit=limit)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _summary(answer: NearDuplicates, shown: int) -> str:
    total = answer["total"]
    count = f"{total:,} {'book' if total == 1 else 'books'} found" if total else "No book found"
    proof = "; no other book is as near" if answer["exact"] else ""
    rest = f"; {shown:,} shown, --limit shows more" if shown < total else ""
    return f"{count}{proof}{rest}."


def similar(
    book: Annotated[
        str,
        typer.Argument(
            metavar="BOOK_ID|EXTERNAL_ID", help="The id or external id of a book that was posted as a text."
        ),
    ],
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="The number of books.")] = 10,
    copies: Annotated[
        bool, typer.Option("--copies", help="With copies: of the book, and all those of the others.")
    ] = False,
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the items as JSON, one a line.")] = False,
) -> None:
    """Find books with other texts that are like a book, as others of its series or subject.

    Similarity is an estimated cosine, 1 at most. It is a hint: nothing says from where on books belong
    together.
    """
    with Client(url, patience=_PATIENCE, key=key) as service:
        service.insist()
        items = service.send(calls.similar_books(named_book(service, book), k=k, copies=copies))["items"]
    console = results()
    if json:
        for item in items:
            print_json(item)
    elif not console.is_terminal:
        print_lines(console, _SIMILAR_COLUMNS, [_similar_row(item) for item in items])
    elif items:
        rows = [_drawn(item) for item in items]
        console.print(drawn_table(("similarity", "book"), rows, wide="book", right=("similarity",)))
    if not items:
        notices().print(f"{'No' if copies else 'But for copies of it no'} other book has a vector.")


def _similar_row(item: SimilarBookAnswer) -> tuple[str, str, str, str]:
    return f"{item['similarity']:.3f}", item["title"] or "", "; ".join(item["authors"]), item["id"]


def _drawn(item: SimilarBookAnswer) -> tuple[str, Text]:
    similarity, title, authors, book_id = _similar_row(item)
    name = f"{title} ({authors})" if authors else title
    return similarity, Text.assemble(name, "\n", (book_id, "dim"))


def read_one_book(file: Path) -> "Submission":
    """The book of a file or a folder; prints what was left out of it. Raises UserError."""
    from app.services.reading import read_path

    try:
        found = read_path(file)
    except InvalidInput as exc:
        raise UserError(f"{file}: {exc}") from exc
    except OSError as exc:
        raise _unreadable(file, exc) from exc
    for warning in found.warnings:
        notices().print(f"{file}: {warning}")
    return found


def read_signatures(file: Path) -> Any:
    """The document in a file that `bookprint sign` has written for one book; raises UserError."""
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as exc:
        raise UserError(f"{file} does not hold signatures as `bookprint sign` prints them: {exc}") from exc
    except OSError as exc:
        raise _unreadable(file, exc) from exc


def named_book(service: Client, name: str) -> UUID:
    """The id of the book with this id or external id; raises UserError."""
    try:
        return UUID(name)
    except ValueError:
        for book in service.send(calls.list_books(external_id=name, limit=1))["items"]:
            return UUID(book["id"])
    raise UserError(
        f"{name} is no file, no identifier and no cluster, and no book has it as its id or external id.", 2
    )


def _unreadable(file: Path, error: OSError) -> UserError:
    return UserError(f"{file} cannot be read: {error.strerror}", 2)
