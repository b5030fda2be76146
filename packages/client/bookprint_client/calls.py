"""The operations of the HTTP interface as values, which both clients send."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

from bookprint_client import answers

# With their names, because clients of the package find them here, too.
from bookprint_client.call import (
    JSON,
    LINES,
    BulkLine as BulkLine,
    Call as Call,
    CheckLine as CheckLine,
    Id,
    PagedCall as PagedCall,
    Upload,
)

# Answers come while a request is sent, and nobody reads them meanwhile.
_BOOKS_AT_ONCE, _BYTES_AT_ONCE = 200, 16 << 20


def post_book(book: Mapping[str, Any]) -> Call[answers.PostedBook]:
    """Post a book: `text`, `pages` or `signatures`, and its metadata."""
    return Call("POST", "/v1/books", content=_json(book))


def post_file(
    file: Path | bytes, metadata: Mapping[str, Any] | bytes | None = None, metadata_type: str = JSON
) -> Call[answers.PostedBook]:
    """Post the one book of a file of any format that is read.

    `metadata` outranks what the file says; bytes are of the media type that is named, as application/marc.
    """
    return Call("POST", "/v1/books", upload=_upload(file, metadata, metadata_type))


def post_books(books: Iterable[Mapping[str, Any]]) -> Iterator[Call[list[BulkLine]]]:
    """Post many books, as many in one request as fit into it; a line of each answer tells of a book."""
    for lines in _in_parts(books):
        yield Call("POST", "/v1/books:bulk", content=lines, content_type=LINES)


def check_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Call[list[CheckLine]]]:
    """Ask for each row of a list whether the library has the book, in requests as those of `post_books`.

    A row has a `text`, `pages`, `signatures`, an `identifier`, an `isbn` or `identifiers`, or names.
    """
    for lines in _in_parts(rows):
        yield Call("POST", "/v1/checks", content=lines, content_type=LINES)


def read_book(book_id: Id) -> Call[answers.BookAnswer]:
    """Read a book."""
    return Call("GET", _path("books", book_id))


def list_books(
    *,
    identifier: str | None = None,
    title: str | None = None,
    external_id: str | None = None,
    author: str | None = None,
    language: str | None = None,
    year: int | None = None,
    digest: str | None = None,
    collection: str | None = None,
    limit: int | None = None,
) -> PagedCall[answers.BookList, answers.BookAnswer]:
    """List the books that have the identifier, all words of the title, and so on."""
    named = _query(identifier=identifier, title=title, external_id=external_id, author=author)
    wanted = _query(language=language, year=year, digest=digest, collection=collection, limit=limit)
    return PagedCall("GET", "/v1/books", {**named, **wanted})


def change_metadata(
    book_id: Id, changes: Mapping[str, Any], if_version: int | None = None
) -> Call[answers.BookAnswer]:
    """Set the named metadata fields and leave the others."""
    return Call("PATCH", _path("books", book_id), content=_json(changes), if_version=if_version)


def replace_content(
    book_id: Id, content: Mapping[str, Any], if_version: int | None = None
) -> Call[answers.BookAnswer]:
    """Give a book new `text`, `pages` or `signatures`."""
    return Call("PUT", _path("books", book_id, "content"), content=_json(content), if_version=if_version)


def delete_book(book_id: Id, if_version: int | None = None) -> Call[None]:
    """Delete a book."""
    return Call("DELETE", _path("books", book_id), if_version=if_version)


def read_signatures(book_id: Id, form: str = "datasketch") -> Call[answers.BookSignatures]:
    """The MinHash of a book as datasketch reads it."""
    return Call("GET", _path("books", book_id, "signatures"), _query(format=form))


class Nearness(TypedDict, total=False):
    """Every book within `d` bits, the `k` nearest, those as similar as `jaccard`, or near-duplicates.

    `include="common"` adds to near-duplicates the books that share common matter alone.
    """

    d: int | None
    k: int | None
    jaccard: float | None
    include: str | None
    collection: str | None
    limit: int | None


def near_duplicates(
    book_id: Id, **nearness: Unpack[Nearness]
) -> PagedCall[answers.NearDuplicates, answers.NearDuplicate]:
    """Return the books near a book."""
    return PagedCall("GET", _path("books", book_id, "near-duplicates"), _query(**nearness))


def look_up(
    question: Mapping[str, Any], **nearness: Unpack[Nearness]
) -> PagedCall[answers.LookupAnswer, answers.NearDuplicate]:
    """Find near-duplicates of a book that is not stored: a body of `post_book`, or an identifier."""
    return PagedCall("POST", "/v1/lookups", _query(**nearness), content=_json(question))


def look_up_file(
    file: Path | bytes, **nearness: Unpack[Nearness]
) -> PagedCall[answers.LookupAnswer, answers.NearDuplicate]:
    """Find near-duplicates of the one book of a file."""
    return PagedCall("POST", "/v1/lookups", _query(**nearness), upload=_upload(file))


def similar_books(
    book_id: Id, *, k: int | None = None, copies: bool = False
) -> Call[answers.SimilarBooksAnswer]:
    """Return the `k` books whose vectors are most like that of a book; with its copies, or without."""
    return Call("GET", _path("books", book_id, "similar"), _query(k=k, copies="true" if copies else None))


def list_relations(
    book_id: Id, *, wait: float | None = None, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.RelationsAnswer, answers.RelationAnswer]:
    """List the relations of a book; waits up to `wait` seconds until nothing is pending."""
    query = _query(wait=wait, collection=collection, limit=limit)
    return PagedCall("GET", _path("books", book_id, "relations"), query)


def read_relation(book_id: Id, other_id: Id, *, exact: bool = False) -> Call[answers.PageRelation]:
    """Read the relation of two books, page by page; `exact` compares their texts again."""
    path = _path("books", book_id, "relations", other_id)
    return Call("GET", path, _query(exact="true" if exact else None))


def read_evidence(book_id: Id, other_id: Id, form: Literal["annotations", "csv"]) -> Call[str]:
    """Return the matching pages of two books as Web Annotations or as a table of runs."""
    types = {"annotations": "application/ld+json", "csv": "text/csv"}
    return Call("GET", _path("books", book_id, "relations", other_id), accept=types[form])


def decide(
    book_id: Id,
    other_id: Id,
    decision: Literal["confirmed", "rejected"] | Mapping[Literal["kind"], answers.Kind],
) -> Call[answers.PageRelation]:
    """Record a person's decision on two books."""
    return Call("PUT", _path("books", book_id, "relations", other_id, "decision"), content=_json(decision))


def withdraw_decision(book_id: Id, other_id: Id) -> Call[None]:
    """Withdraw the decision on two books."""
    return Call("DELETE", _path("books", book_id, "relations", other_id, "decision"))


def list_reviews(
    *,
    kind: answers.Kind | None = None,
    collection: str | None = None,
    language: str | None = None,
    year: int | None = None,
    limit: int | None = None,
) -> PagedCall[answers.ReviewList, answers.ReviewAnswer]:
    """Relations that a person should look at, the most doubtful first."""
    query = _query(kind=kind, collection=collection, language=language, year=year, limit=limit)
    return PagedCall("GET", "/v1/reviews", query)


def decide_many(
    items: Sequence[Mapping[str, Any]], *, all_or_none: bool = False
) -> Call[answers.DecidedList]:
    """Record decisions on many pairs: `left`, `right`, `verdict` or `kind`, and `note`."""
    return Call("POST", "/v1/decisions", content=_json({"items": list(items), "all_or_none": all_or_none}))


def list_decisions(
    *, by: str | None = None, book: Id | None = None, after: str | None = None, limit: int | None = None
) -> PagedCall[answers.History, answers.PastDecisionAnswer]:
    """Return the history of decisions, the newest first, of one key or of all, on one book or on all."""
    return PagedCall("GET", "/v1/decisions", _query(by=by, book=book, after=after, limit=limit))


def cluster_of_book(
    book_id: Id,
    *,
    by: Literal["same_text", "related"] = "same_text",
    collection: str | None = None,
    limit: int | None = None,
) -> PagedCall[answers.ClusterAnswer, answers.ClusterMember]:
    """Return the cluster that a book is in."""
    query = _query(by=by, collection=collection, limit=limit)
    return PagedCall("GET", _path("books", book_id, "cluster"), query)


def list_clusters(
    by: Literal["same_text", "related"] = "same_text",
    *,
    min_size: int | None = None,
    max_size: int | None = None,
    collection: str | None = None,
    order: Literal["size", "agreement"] | None = None,
    limit: int | None = None,
) -> PagedCall[answers.ClusterList, answers.ListedClusterAnswer]:
    """Clusters of two books or more: the largest first, or those that hang together least."""
    sizes = _query(min_size=min_size, max_size=max_size)
    query = sizes | _query(by=by, collection=collection, order=order, limit=limit)
    return PagedCall("GET", "/v1/clusters", query)


def read_cluster(
    cluster_id: str, *, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.ClusterAnswer, answers.ClusterMember]:
    """Return a cluster, also by an id that it had before a merge."""
    return PagedCall("GET", _path("clusters", cluster_id), _query(collection=collection, limit=limit))


def read_master_copy(
    cluster_id: str, *, first: int | None = None, limit: int | None = None
) -> PagedCall[answers.MasterCopyAnswer, answers.MasterPageAnswer]:
    """Read a cluster's text from the page `first` on, in the reading that most copies share."""
    return PagedCall("GET", _path("clusters", cluster_id, "text"), _query(first=first, limit=limit))


def read_completeness(book_id: Id) -> Call[answers.CompletenessAnswer]:
    """Return the pages that a scan lacks, by other scans of its printing."""
    return Call("GET", _path("books", book_id, "completeness"))


def read_contents(book_id: Id) -> Call[answers.ContentsAnswer]:
    """Read which works and parts a volume contains, as far as the library has them elsewhere."""
    return Call("GET", _path("books", book_id, "contents"))


def read_library() -> Call[answers.LibraryAnswer]:
    """Read the numbers of books by year, language and collection."""
    return Call("GET", _path("library"))


def list_conflicts(
    by: Literal["isbn", "title", "text"] = "isbn", *, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.ConflictList, answers.ConflictAnswer]:
    """Books whose metadata and texts contradict each other."""
    return PagedCall("GET", "/v1/conflicts", _query(by=by, collection=collection, limit=limit))


def list_changes(
    after: str | None = None,
    *,
    types: Sequence[answers.ChangeType] = (),
    collection: str | None = None,
    wait: float | None = None,
    limit: int | None = None,
) -> Call[answers.ChangesAnswer]:
    """Return the changes behind a cursor; held up to `wait` seconds until there is something.

    Go on behind `next_cursor`, which is never null.
    """
    query = _query(after=after, types=tuple(types), collection=collection, wait=wait, limit=limit)
    return Call("GET", "/v1/changes", query)


def register_webhook(url: str, types: Sequence[answers.ChangeType] = ()) -> Call[answers.WebhookWithSecret]:
    """Have changes of these types, or all, delivered to a URL; the answer alone shows the secret."""
    body = {"url": url, "types": list(types) or None}
    return Call("POST", "/v1/webhooks", content=_json(body), repeatable=False)


def list_webhooks(*, limit: int | None = None) -> PagedCall[answers.WebhookList, answers.WebhookAnswer]:
    """List the webhooks."""
    return PagedCall("GET", "/v1/webhooks", _query(limit=limit))


def read_webhook(webhook_id: Id) -> Call[answers.WebhookAnswer]:
    """Read the progress of a webhook, and why it fails."""
    return Call("GET", _path("webhooks", webhook_id))


def rotate_secret(webhook_id: Id) -> Call[answers.WebhookWithSecret]:
    """Give a webhook a new secret; for a day the old one signs as well."""
    return Call("POST", _path("webhooks", webhook_id, "rotate"), repeatable=False)


def delete_webhook(webhook_id: Id) -> Call[None]:
    """Delete a webhook."""
    return Call("DELETE", _path("webhooks", webhook_id))


def list_audit(
    *,
    key_id: Id | None = None,
    action: answers.Action | None = None,
    object_id: Id | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
) -> PagedCall[answers.AuditList, answers.AuditAnswer]:
    """Who has written what, the newest first; `since` and `until` are times as 2027-01-31T18:00:00Z."""
    query = _query(key_id=key_id, action=action, object=object_id, since=since, until=until, limit=limit)
    return PagedCall("GET", "/v1/audit", query)


def read_job(job_id: int) -> Call[answers.JobAnswer]:
    """Return a job of the workers."""
    return Call("GET", _path("jobs", job_id))


def _in_parts(documents: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Documents as lines, as many together as fit into a request."""
    lines: list[bytes] = []
    for document in documents:
        lines.append(_json(document))
        if len(lines) >= _BOOKS_AT_ONCE or sum(map(len, lines)) >= _BYTES_AT_ONCE:
            yield b"\n".join(lines)
            lines = []
    if lines:
        yield b"\n".join(lines)


def _upload(
    file: Path | bytes, metadata: Mapping[str, Any] | bytes | None = None, metadata_type: str = JSON
) -> Upload:
    given = metadata if isinstance(metadata, bytes) or metadata is None else _json(metadata)
    if isinstance(file, bytes):
        return Upload(lambda: BytesIO(file), "book", given, metadata_type)
    return Upload(lambda: file.open("rb"), file.name, given, metadata_type)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _path(*parts: Id | int) -> str:
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def _query(**values: object) -> dict[str, str | list[str]]:
    """Return the parameters that have a value, as texts or lists of texts."""
    return {
        name: [str(each) for each in value] if isinstance(value, list | tuple) else str(value)
        for name, value in values.items()
        if value is not None and value != ()
    }
