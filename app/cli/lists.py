"""Commands that print lists. Each command names its call; one function prints all answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import update_wrapper
from inspect import Signature, signature
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, moment, service_at
from app.cli.lookup import named_book
from app.cli.output import (
    Listing,
    Reporter,
    UserError,
    columns,
    notices,
    print_json,
    print_list,
    require_one_form,
)
from bookprint_client import Client, Refused, calls
from bookprint_client.answers import Action, BookAnswer
from bookprint_client.calls import PagedCall
from bookprint_core.clusters.clustering import By
from bookprint_core.matching.conflicts import ConflictBy
from bookprint_core.relations.classification import Kind

_PAGE = 500
_PATIENCE = 10.0  # seconds
_FOLLOWING_WAIT = 30.0  # seconds
_PASSED_OVER = ("completeness-unknown", "text-not-kept", "unknown-book")  # skipped if all books are read

Notes = Callable[[Mapping[str, Any]], Mapping[str, str]]
"""Function from a page of an answer to the notes that are printed at the end, keyed by subject."""


def _of_books(first: str, second: str, fields: str) -> str:
    """Return column definitions for these fields of both books of a pair."""
    return " ".join(
        f"{side}_{field.replace('.', '_')}=books.{place}.{field}"
        for place, side in enumerate((first, second))
        for field in fields.split()
    )


def _range(pages: list[int] | None) -> str:
    return "" if pages is None else "-".join(map(str, pages))


_CLUSTERS = Listing(
    "clusters",
    columns(
        "size agreement kinds id key founder_id=founder.book_id founder_title=founder.title "
        "best_id=best_copy.book_id best_title=best_copy.title",
        kinds=lambda item: " ".join(f"{kind}:{n}" for kind, n in sorted((item["kinds"] or {}).items())),
    ),
    wide="cluster",
    narrow=("size", "agreement"),
    lines=("{founder_title}", "{id}", "best copy {best_id} {best_title}", "{kinds}"),
    right=("size", "agreement"),
)
_CONFLICTS = Listing(
    "conflicts",
    columns(
        "agrees contradicts distance=evidence.distance jaccard=evidence.jaccard "
        "this_in_other=evidence.containment.this_in_other other_in_this=evidence.containment.other_in_this "
        "relation=evidence.relation.kind source=evidence.relation.source "
        "decided_by=evidence.relation.decided_by "
        + _of_books("this", "other", "id title authors year volume identifiers")
        + " "
        + _of_books("this", "other", "text_under.id text_under.title"),
        agrees=lambda item: " ".join(item["agrees"]),
        contradicts=lambda item: " ".join(item["contradicts"]),
    ),
    wide="books",
    narrow=("distance", "jaccard", "relation"),
    lines=(
        "{this_authors} · {this_title} · {this_volume} · {this_year}",
        "{this_id} · {this_identifiers}",
        "its text is also under {this_text_under_title} · {this_text_under_id}",
        "{other_authors} · {other_title} · {other_volume} · {other_year}",
        "{other_id} · {other_identifiers}",
        "its text is also under {other_text_under_title} · {other_text_under_id}",
        "same {agrees} · other {contradicts}",
    ),
    right=("distance", "jaccard"),
)
_FAULTS = Listing(
    "findings",
    columns(
        "confidence kind book_id title pages between labels in_book=in.0.book_id in_pages because",
        pages=lambda fault: _range(fault["pages"]),
        between=lambda fault: _range(fault["between"]),
        labels=lambda fault: (
            " ".join(label or "–" for label in fault["labels"]) if any(fault["labels"]) else ""
        ),
        in_pages=lambda fault: _range(fault["in"][0]["pages"]),
    ),
    wide="book",
    narrow=("confidence", "kind", "pages", "between", "labels"),
    lines=("{title}", "{book_id}", "{in_pages} of {in_book}", "{because}"),
    right=("confidence",),
)
_CONTENTS = Listing(
    "parts",
    columns(
        "volume_id kind pages labels level book_id=book.book_id title=book.title authors=book.authors "
        "year=book.year cluster=book.cluster.key in_pages share=book.share",
        pages=lambda part: _range(part["pages"]),
        labels=lambda part: "-".join(label or "–" for label in part["labels"] or ()),
        authors=lambda part: "; ".join(part["book"]["authors"]) if part["book"] else "",
        in_pages=lambda part: _range(part["book"] and part["book"]["pages"]),
    ),
    wide="book",
    narrow=("kind", "pages", "labels"),
    lines=("{title} · {authors} · {year}", "{book_id}", "{in_pages}"),
)
_REVIEWS = Listing(
    "reviews",
    columns("kind direction confidence because " + _of_books("left", "right", "id title authors year")),
    wide="books",
    narrow=("kind", "confidence"),
    lines=(
        "{left_title} · {left_authors} · {left_year} · {left_id}",
        "{right_title} · {right_authors} · {right_year} · {right_id}",
        "{because}",
    ),
    right=("confidence",),
)
_DECISIONS = Listing(
    "decisions",
    columns(
        "at by verdict kind outcome left right note verdict_before=before.verdict kind_before=before.kind "
        "by_before=before.by"
    ),
    wide="books",
    narrow=("verdict", "kind", "outcome"),
    lines=("{at} · {by}", "{left}", "{right}", "{note}"),
)
_AUDIT = Listing(
    "entries",
    columns(
        "at actor=actor.kind name=actor.name key_id=actor.key_id address=actor.address action "
        "object_id=object.id other_id=object.other_id"
    ),
    wide="by",
    narrow=("action",),
    lines=("{at} · {name} · {address}", "{object_id} · {other_id}"),
)

TableOption = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write the items to a CSV file instead.", dir_okay=False),
]
_Time = Annotated[str | None, typer.Option(metavar="TIME", help="2027-01-31 or 2027-01-31T18:00+01:00.")]


def _lists(
    listing: Listing, most: int | None = 100, notes: Notes = lambda page: {}
) -> Callable[[Callable[..., PagedCall[Any, Any]]], Callable[..., None]]:
    """Make a command from a function that turns options into a call. By default it prints `most` items."""

    def command(call: Callable[..., PagedCall[Any, Any]]) -> Callable[..., None]:
        def run(
            limit: int | None,
            url: Url = DEFAULT_URL,
            key: KeyOption = None,
            json: AsJson = False,
            table: TableOption = None,
            **own: Any,
        ) -> None:
            require_one_form(json, table)
            asked, said = call(**own), dict[str, str]()
            size = _PAGE if limit is None else min(limit + 1, _PAGE)
            with service_at(url, key) as service:
                pages = service.pages(replace(asked, query={**asked.query, "limit": str(size)}))
                with Reporter("Reading", listing.noun) as reporter:
                    items = _items(pages, notes, said, reporter)
                    count = print_list(
                        listing, islice(items, limit), json=json, table=table, reporter=reporter
                    )
                more = "; there are more" if next(items, None) is not None else ""
            notices().print(f"{listing.noun.capitalize()}: {count:,}{more}.")
            for note in said.values():
                notices().print(note)

        wanted = f"Maximum number of {listing.noun} to print{' [all]' if most is None else ''}."
        option = Annotated[int | None, typer.Option(min=1, help=wanted)]
        limit, *shared, _ = signature(run).parameters.values()
        limit = limit.replace(default=most, annotation=option)
        parameters = [*signature(call).parameters.values(), limit, *shared]
        update_wrapper(run, call)
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return run

    return command


def _items(pages: Iterable[Any], notes: Notes, said: dict[str, str], reporter: Reporter) -> Iterator[Any]:
    count = 0
    for page in pages:
        said |= notes(page)
        count += len(page["items"])
        reporter.advance(count)
        yield from page["items"]


def _unmeasured(page: Mapping[str, Any]) -> dict[str, str]:
    if not (pending := page["pending"]):
        return {}
    return {"pending": f"{pending:,} are not measured yet. Run the command again in a moment."}


@_lists(_CLUSTERS, most=None, notes=_unmeasured)
def clusters(
    by: Annotated[By, typer.Option(help="Copies of one text, or books with any verified relation.")] = (
        "same_text"
    ),
    order: Annotated[
        Literal["size", "agreement"],
        typer.Option(help="size: largest first. agreement: weakest first."),
    ] = "size",
    min_size: Annotated[int | None, typer.Option(min=2, help="Minimum number of books [2].")] = None,
    max_size: Annotated[int | None, typer.Option(min=2, help="Maximum number of books [any].")] = None,
    collection: CollectionOption = None,
) -> PagedCall[Any, Any]:
    """List clusters of two books or more with their size, kinds of relations, weakest link and best copy."""
    return calls.list_clusters(by, min_size=min_size, max_size=max_size, collection=collection, order=order)


def _cut_groups(page: Mapping[str, Any]) -> dict[str, str]:
    return {
        group["shared"]: f"{group['shared']} is shared by {group['size']:,} books; "
        f"{group['examined']} of them were examined."
        for group in page["cut_groups"]
    }


@_lists(_CONFLICTS, most=None, notes=_cut_groups)
def conflicts(
    by: Annotated[
        ConflictBy,
        typer.Option(
            help="isbn or title: books share it, but have unrelated texts. text: the text is the same, but "
            "the ISBNs differ."
        ),
    ] = "isbn",
    collection: CollectionOption = None,
) -> PagedCall[Any, Any]:
    """List pairs of books whose metadata contradicts their texts, with the evidence."""
    return calls.list_conflicts(by, collection=collection)


@_lists(_REVIEWS)
def reviews(
    kind: Annotated[Kind | None, typer.Option(help="Only relations of this kind.")] = None,
    collection: CollectionOption = None,
    language: Annotated[str | None, typer.Option(help="Only with a book in this language.")] = None,
    year: Annotated[int | None, typer.Option(help="Only with a book of this year.")] = None,
) -> PagedCall[Any, Any]:
    """List relations that a person should review, most doubtful first."""
    return calls.list_reviews(kind=kind, collection=collection, language=language, year=year)


@_lists(_DECISIONS)
def decisions(
    by: Annotated[str | None, typer.Option(help="Only decisions made with the key of this name.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Only decisions after this time, such as 2027-01-31T18:00:00Z.")
    ] = None,
) -> PagedCall[Any, Any]:
    """List the decisions of people, including withdrawn and undone decisions, newest first."""
    return calls.list_decisions(by=by, after=after)


@_lists(_AUDIT)
def audit(
    key_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Only entries made with the key of this id.")
    ] = None,
    action: Annotated[Action | None, typer.Option(help="Only entries with this action.")] = None,
    object_id: Annotated[
        str | None,
        typer.Option("--object", metavar="ID", help="Only entries about this book, key or webhook."),
    ] = None,
    since: _Time = None,
    until: _Time = None,
) -> PagedCall[Any, Any]:
    """List who wrote what, when and from where, newest first.

    The command needs a key with the scope admin. The time of --until is exclusive.
    """
    return calls.list_audit(
        key_id=key_id,
        action=action,
        object_id=object_id,
        since=None if since is None else moment(since, "--since").isoformat(),
        until=None if until is None else moment(until, "--until").isoformat(),
    )


def completeness(
    books: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BOOK_ID|EXTERNAL_ID]…", help="Books to check [all].", show_default=False),
    ] = None,
    collection: CollectionOption = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the items to a CSV file instead.", dir_okay=False),
    ] = None,
) -> None:
    """List pages of scans that are missing, doubled, misplaced or from another book, surest first.

    Each scan is compared with other scans of its printing. Pages are counted from 0; the end is exclusive.
    """
    require_one_form(json, out, "--out")
    if books and collection is not None:
        raise UserError("Name books or --collection, not both.", 2)
    faults: list[dict[str, Any]] = []
    compared = alone = 0
    with service_at(url, key) as service, Reporter("Comparing", "books") as reporter:
        total = len(books or ()) or (None if collection else service.send(calls.read_library())["books"])
        for book in _chosen(service, books, collection):
            reporter.advance(compared + alone, (compared + alone) / total if total else None)
            try:
                answer = service.send(calls.read_completeness(book["id"]))
            except Refused as refusal:
                if books or refusal.problem not in _PASSED_OVER:
                    raise
                alone += 1
                continue
            compared += 1
            faults += [{"book_id": book["id"], "title": book["title"], **each} for each in answer["findings"]]
    faults.sort(key=lambda fault: -fault["confidence"])
    count = print_list(_FAULTS, faults, json=json, table=out)
    notices().print(
        f"Findings: {count:,}. Books compared with other scans: {compared:,}. Books skipped, because they "
        f"have no other scan, pages or text: {alone:,}."
    )


def contents(
    books: Annotated[list[str], typer.Argument(metavar="BOOK_ID|EXTERNAL_ID…", help="The volumes.")],
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    table: TableOption = None,
) -> None:
    """List the works and passages of volumes that the library has elsewhere, and gaps; pages count from 0."""
    require_one_form(json, table)
    found: list[dict[str, Any]] = []
    with service_at(url, key) as service:
        for book_id in dict.fromkeys(named_book(service, name) for name in books):
            answer = service.send(calls.read_contents(book_id))
            for part in answer["parts"]:
                for book in part["books"] or (None,):
                    found.append({**part, "volume_id": book_id, "book": book})
            if answer["set"] and (missing := answer["set"]["missing"]):
                notices().print(f"Missing volumes of {book_id}: {', '.join(map(str, missing))}.")
    notices().print(f"Parts: {print_list(_CONTENTS, found, json=json, table=table):,}.")


def _chosen(service: Client, books: Iterable[str] | None, collection: str | None) -> Iterator[BookAnswer]:
    for book_id in dict.fromkeys(named_book(service, name) for name in books or ()):
        yield service.send(calls.read_book(book_id))
    if not books:
        yield from service.items(calls.list_books(collection=collection, limit=_PAGE))


def changes(
    after: Annotated[
        str | None, typer.Option(help="Only changes after this cursor, or `now` for new changes only.")
    ] = None,
    collection: CollectionOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further changes until Ctrl-C.")] = False,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Print the changes of books, relations and clusters as JSON, one per line, oldest first.

    Each line has a `cursor`; pass it to --after to continue. Changes are stored for thirty days.
    """
    # With --follow the command also waits while the service is down.
    patience, wait = (float("inf"), _FOLLOWING_WAIT) if follow else (_PATIENCE, None)
    with service_at(url, key, patience) as service:
        while True:
            answer = service.send(calls.list_changes(after, collection=collection, wait=wait, limit=_PAGE))
            for item in answer["items"]:
                print_json(item)
            after = answer["next_cursor"]
            if not follow and not answer["items"]:
                return
