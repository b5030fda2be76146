"""`bookprint lookup`, `similar`, `relation`, `master-copy`: commands about single books and clusters."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import orjson
import typer

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.output import (
    Listing,
    Reporter,
    UserError,
    columns,
    notices,
    print_json,
    print_list,
    printable,
    results,
)
from bookprint_client import Client, calls
from bookprint_client.answers import MasterCopyAnswer, NearDuplicate, NearDuplicates
from bookprint_client.calls import Nearness, PagedCall
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import By
from bookprint_core.errors import InvalidInput
from bookprint_core.model import PAGE_BREAK
from bookprint_core.signatures.identifier import is_identifier

if TYPE_CHECKING:
    from bookprint_core.model import Submission

_BookName = Annotated[
    str, typer.Argument(metavar="BOOK_ID|EXTERNAL_ID", help="The id or external id of a book.")
]
_Question = PagedCall[Any, NearDuplicate]

_MEASURES = ("distance", "jaccard", "in other", "in this")
_NEAR = Listing(
    "books",
    {
        "distance": "distance",
        "jaccard": "jaccard",
        "in other": "containment.this_in_other",
        "in this": "containment.other_in_this",
        "title": "title",
        "id": "id",
        "verdict": lambda item: (item["verdict"] or "").replace("_", " "),
    },
    wide="book",
    narrow=_MEASURES,
    lines=("{title} · {verdict}", "{id}"),
    right=_MEASURES,
)
_SIMILAR = Listing(
    "books",
    columns("similarity title authors id"),
    wide="book",
    narrow=("similarity",),
    lines=("{title} · {authors}", "{id}"),
    right=("similarity",),
)
_MOST_ITEMS = 1000  # in one answer
_PAGES_AT_ONCE = 50  # of a master copy


def lookup(
    book: Annotated[
        str,
        typer.Argument(
            metavar="FILE|BOOK_ID|EXTERNAL_ID|IDENTIFIER",
            help="A file or folder with a book, signatures as `sign` prints them (.json), the id or external "
            "id of a posted book, or an identifier (bp1:… or bp2:…).",
        ),
    ],
    d: Annotated[
        int | None,
        typer.Option("--d", min=0, max=128, help="Find every book within this distance, in bits."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, max=1000, help="Find the k nearest books.")] = None,
    jaccard: Annotated[
        float | None,
        typer.Option(min=0.3, max=1, help="Find books with at least this Jaccard similarity, 0.3 to 1."),
    ] = None,
    common: Annotated[
        bool, typer.Option("--common", help="Include books that share only common matter.")
    ] = False,
    collection: CollectionOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of books to print.")] = 100,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
) -> None:
    """Find the near-duplicates of a book; nothing is stored.

    With --d or --k the answer is provably complete. With --jaccard the answer states its expected recall.
    Otherwise each candidate is verified by its signatures. "In other" is the share of this book that is in
    the other book; "in this" is the reverse. An overlap is a common work or chapter. Common matter is text
    such as a preface.
    """
    if sum(asked is not None for asked in (d, k, jaccard, common or None)) > 1:
        raise UserError("Give only one of --d, --k, --jaccard and --common.", 2)
    items: list[NearDuplicate] = []
    with service_at(url, key) as service:
        asked = Nearness(d=d, k=k, jaccard=jaccard, collection=collection, limit=min(limit, _MOST_ITEMS))
        if common:
            asked["include"] = "common"
        for answer in service.pages(_question(service, book, asked)):
            items += answer["items"]
            if len(items) >= limit:
                break
    del items[limit:]
    print_list(_NEAR, items, json=json)
    if not json:
        notices().print(_summary(answer, len(items)))


def _question(service: Client, book: str, asked: Nearness) -> _Question:
    """Return the call for a file, a book's id or external id, or an identifier."""
    if is_identifier(book):
        return calls.look_up({"identifier": book}, **asked)
    file = Path(book)
    if not file.exists():
        return calls.near_duplicates(named_book(service, book), **asked)
    if file.suffix.lower() == ".json":
        signatures = read_signatures(file)
        return calls.look_up(
            signatures if "datasketch" in signatures else {"signatures": signatures}, **asked
        )
    content = read_one_book(file).content
    assert content is not None  # reading refuses a file without text
    return calls.look_up({"text": content.text}, **asked)


def _summary(answer: NearDuplicates, shown: int) -> str:
    total = answer["total"]
    count = f"{total:,} {'book' if total == 1 else 'books'} found" if total else "No book found"
    proof = "; no other book is as near" if answer["exact"] else ""
    if (recall := answer["recall"]) is not None:
        proof = f"; {recall:.0%} of the books with this similarity are found, more of nearer books"
    rest = f"; {shown:,} shown; print more with --limit" if shown < total else ""
    return f"{count}{proof}{rest}."


def similar(
    book: Annotated[
        str,
        typer.Argument(
            metavar="BOOK_ID|EXTERNAL_ID", help="The id or external id of a book that was posted as a text."
        ),
    ],
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="Number of books.")] = 10,
    copies: Annotated[
        bool, typer.Option("--copies", help="Include copies of this book, and several copies of other books.")
    ] = False,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
) -> None:
    """Find other books with similar contents, for example of the same series or subject.

    The similarity is an estimated cosine, at most 1. It is only a hint; no threshold proves a relation.
    """
    with service_at(url, key) as service:
        items = service.send(calls.similar_books(named_book(service, book), k=k, copies=copies))["items"]
    print_list(_SIMILAR, items, json=json)
    if not items:
        notices().print(f"No other book{'' if copies else ', except copies,'} has a vector to compare.")


def relation(
    this: _BookName,
    other: _BookName,
    form: Annotated[
        Literal["json", "annotations", "csv"],
        typer.Option("--format", help="JSON, W3C Web Annotations, or CSV with a row for each run of pages."),
    ] = "json",
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Print the relation of two books, seen from the first book, with the matching pages."""
    with service_at(url, key) as service:
        pair = named_book(service, this), named_book(service, other)
        if form == "json":
            print_json(service.send(calls.read_relation(*pair)))
            return
        text = service.send(calls.read_evidence(*pair, form))
    console = results()
    console.file.write(printable(text) if console.is_terminal else text)
    console.file.flush()


def master_copy(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER|BOOK_ID|EXTERNAL_ID",
            help="Id or key of a cluster, or the id or external id of a book in it.",
        ),
    ],
    by: Annotated[
        By, typer.Option(help="Kind of cluster: copies of the book, or all related books.")
    ] = "same_text",
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the pages as JSON, one per line.")] = False,
) -> None:
    """Print the master copy of a cluster: the reading of each page that most copies share.

    U+000C separates pages. If only two copies contain a page, the cleaner copy decides.
    """
    changed, between, console, read = 0, "", results(), 0
    with service_at(url, key) as service, Reporter("Reading", "pages") as reporter:
        if console.is_terminal:
            reporter.end()
        for answer in service.pages(
            calls.read_master_copy(_cluster(service, cluster, by), limit=_PAGES_AT_ONCE)
        ):
            for page in answer["items"]:
                changed += page["changed"] > 0
                if json:
                    print_json(page)
                else:
                    text = printable(page["text"]) if console.is_terminal else page["text"]
                    console.file.write(f"{between}{text}")
                    between = PAGE_BREAK
            read += len(answer["items"])
            reporter.counted(read, answer["page_count"])
    console.file.flush()
    _tell_votes(answer, changed)


def _tell_votes(answer: MasterCopyAnswer, changed: int) -> None:
    """Print the number of copies that voted, and why other books did not vote."""
    copies, unit = len(answer["copies"]), f"{answer['unit']}s"
    voted = "1 copy has" if copies == 1 else f"{copies} copies have"
    notices().print(
        f"{voted} voted; {changed:,} of {answer['page_count']:,} {unit} differ from the "
        f"best copy, {answer['best_copy']['book_id']}."
    )
    for book in answer["left_out"]:
        notices().print(f"{book['book_id']} did not vote: {book['because']}")


def _cluster(service: Client, cluster: str, by: By) -> str:
    if ClusterName.read(cluster) is not None:
        return cluster
    return service.send(calls.cluster_of_book(named_book(service, cluster), by=by, limit=1))["id"]


def read_one_book(file: Path) -> "Submission":
    """Read the book of a file or folder, and print warnings about parts left out; raises UserError."""
    from bookprint_readers.unread import read

    try:
        found = read(file)
    except InvalidInput as exc:
        raise UserError(f"{file}: {exc}") from exc
    for warning in found.warnings:
        notices().print(f"{file}: {warning}")
    return found


def read_signatures(file: Path) -> Any:
    """Read the signatures that `bookprint sign` printed for one book; raises UserError."""
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as exc:
        raise UserError(f"{file} does not contain signatures as `bookprint sign` prints them: {exc}") from exc


def named_book(service: Client, name: str) -> UUID:
    """Return the id of the book with this id or external id; raises UserError if there is none."""
    try:
        return UUID(name)
    except ValueError:
        for book in service.send(calls.list_books(external_id=name, limit=1))["items"]:
            return UUID(book["id"])
    raise UserError(
        f"{name} is not a file, an identifier or a cluster, and no book has this id or external id.", 2
    )
