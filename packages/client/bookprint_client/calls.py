"""Operations of the HTTP interface as calls, which both clients send."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

from bookprint_client import answers

# Re-exported under their own names for users of this module.
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

# Limited, because the service already answers during a request, but the client reads only afterwards.
_BOOKS_AT_ONCE, _BYTES_AT_ONCE = 200, 16 << 20


def post_book(book: Mapping[str, Any]) -> Call[answers.PostedBook]:
    """Post a book: `text`, `pages` or `signatures`, and its metadata."""
    return Call("POST", "/v1/books", content=_json(book))


def post_file(
    file: Path | bytes, metadata: Mapping[str, Any] | bytes | None = None, metadata_type: str = JSON
) -> Call[answers.PostedBook]:
    """Post the one book in a file of any supported format.

    `metadata` overrides the file's metadata. Bytes have the media type `metadata_type`.
    """
    return Call("POST", "/v1/books", upload=_upload(file, metadata, metadata_type))


def post_books(books: Iterable[Mapping[str, Any]]) -> Iterator[Call[list[BulkLine]]]:
    """Post many books, with many lines per request. Each line of an answer is the result for one book."""
    for lines in _in_parts(books):
        yield Call("POST", "/v1/books:bulk", content=lines, content_type=LINES)


def check_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Call[list[CheckLine]]]:
    """Check for each row of a list whether the library contains the book, with many rows per request.

    A row contains `text`, `pages`, `signatures`, `identifier`, `isbn`, or metadata such as `title`.
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
    """List the books that match all given values. A title matches if it contains all words of `title`."""
    named = _query(identifier=identifier, title=title, external_id=external_id, author=author)
    wanted = _query(language=language, year=year, digest=digest, collection=collection, limit=limit)
    return PagedCall("GET", "/v1/books", {**named, **wanted})


def change_metadata(
    book_id: Id, changes: Mapping[str, Any], if_version: int | None = None
) -> Call[answers.BookAnswer]:
    """Set the metadata fields in `changes`. Other fields stay unchanged."""
    return Call("PATCH", _path("books", book_id), content=_json(changes), if_version=if_version)


def replace_content(
    book_id: Id, content: Mapping[str, Any], if_version: int | None = None
) -> Call[answers.BookAnswer]:
    """Replace the content of a book with new `text`, `pages` or `signatures`."""
    return Call("PUT", _path("books", book_id, "content"), content=_json(content), if_version=if_version)


def delete_book(book_id: Id, if_version: int | None = None) -> Call[None]:
    """Delete a book."""
    return Call("DELETE", _path("books", book_id), if_version=if_version)


def read_signatures(book_id: Id, form: str = "datasketch") -> Call[answers.BookSignatures]:
    """Read the MinHash of a book, by default in the form that datasketch reads."""
    return Call("GET", _path("books", book_id, "signatures"), _query(format=form))


class Nearness(TypedDict, total=False):
    """Condition for books: within `d` bits, the `k` nearest, at least `jaccard` similar, or near-duplicates.

    `include="common"` adds books that share only common matter to the near-duplicates.
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
    """Find the books near a stored book."""
    return PagedCall("GET", _path("books", book_id, "near-duplicates"), _query(**nearness))


def look_up(
    question: Mapping[str, Any], **nearness: Unpack[Nearness]
) -> PagedCall[answers.LookupAnswer, answers.NearDuplicate]:
    """Find near-duplicates of a book that is not stored, by the fields of `post_book` or by `identifier`."""
    return PagedCall("POST", "/v1/lookups", _query(**nearness), content=_json(question))


def look_up_file(
    file: Path | bytes, **nearness: Unpack[Nearness]
) -> PagedCall[answers.LookupAnswer, answers.NearDuplicate]:
    """Find near-duplicates of the one book in a file."""
    return PagedCall("POST", "/v1/lookups", _query(**nearness), upload=_upload(file))


def similar_books(
    book_id: Id, *, k: int | None = None, copies: bool = False
) -> Call[answers.SimilarBooksAnswer]:
    """Find the `k` books with the most similar vectors. `copies=True` includes copies of the book."""
    return Call("GET", _path("books", book_id, "similar"), _query(k=k, copies="true" if copies else None))


def list_relations(
    book_id: Id, *, wait: float | None = None, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.RelationsAnswer, answers.RelationAnswer]:
    """List the relations of a book. The service waits at most `wait` seconds until nothing is pending."""
    query = _query(wait=wait, collection=collection, limit=limit)
    return PagedCall("GET", _path("books", book_id, "relations"), query)


def read_relation(book_id: Id, other_id: Id, *, exact: bool = False) -> Call[answers.PageRelation]:
    """Read the relation of two books, page by page. `exact` compares their texts again."""
    path = _path("books", book_id, "relations", other_id)
    return Call("GET", path, _query(exact="true" if exact else None))


def read_evidence(book_id: Id, other_id: Id, form: Literal["annotations", "csv"]) -> Call[str]:
    """Read the matching pages of two books as Web Annotations or as a table of runs."""
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
    """List the relations that a person should review, the most doubtful first."""
    query = _query(kind=kind, collection=collection, language=language, year=year, limit=limit)
    return PagedCall("GET", "/v1/reviews", query)


def decide_many(
    items: Sequence[Mapping[str, Any]], *, all_or_none: bool = False
) -> Call[answers.DecidedList]:
    """Record decisions on many pairs. Items contain `left`, `right`, `verdict` or `kind`, and `note`."""
    return Call("POST", "/v1/decisions", content=_json({"items": list(items), "all_or_none": all_or_none}))


def list_decisions(
    *, by: str | None = None, book: Id | None = None, after: str | None = None, limit: int | None = None
) -> PagedCall[answers.History, answers.PastDecisionAnswer]:
    """List past decisions, the newest first. `by` selects one key, `book` selects one book."""
    return PagedCall("GET", "/v1/decisions", _query(by=by, book=book, after=after, limit=limit))


def cluster_of_book(
    book_id: Id,
    *,
    by: Literal["same_text", "related"] = "same_text",
    collection: str | None = None,
    limit: int | None = None,
) -> PagedCall[answers.ClusterAnswer, answers.ClusterMember]:
    """Read the cluster that contains a book."""
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
    """List clusters of two books or more: by size, the largest first, or by agreement, the lowest first."""
    sizes = _query(min_size=min_size, max_size=max_size)
    query = sizes | _query(by=by, collection=collection, order=order, limit=limit)
    return PagedCall("GET", "/v1/clusters", query)


def read_cluster(
    cluster_id: str, *, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.ClusterAnswer, answers.ClusterMember]:
    """Read a cluster. An id from before a merge is valid, too."""
    return PagedCall("GET", _path("clusters", cluster_id), _query(collection=collection, limit=limit))


def read_master_copy(
    cluster_id: str, *, first: int | None = None, limit: int | None = None
) -> PagedCall[answers.MasterCopyAnswer, answers.MasterPageAnswer]:
    """Read a cluster's text from the page `first` on, in the reading that most copies share."""
    return PagedCall("GET", _path("clusters", cluster_id, "text"), _query(first=first, limit=limit))


def read_completeness(book_id: Id) -> Call[answers.CompletenessAnswer]:
    """Read which pages a scan lacks in comparison with other scans of its printing."""
    return Call("GET", _path("books", book_id, "completeness"))


def read_contents(book_id: Id) -> Call[answers.ContentsAnswer]:
    """Read which works and parts a volume contains that the library also contains in other books."""
    return Call("GET", _path("books", book_id, "contents"))


def read_library() -> Call[answers.LibraryAnswer]:
    """Read the numbers of books by year, language and collection."""
    return Call("GET", _path("library"))


def list_conflicts(
    by: Literal["isbn", "title", "text"] = "isbn", *, collection: str | None = None, limit: int | None = None
) -> PagedCall[answers.ConflictList, answers.ConflictAnswer]:
    """List books whose metadata and texts contradict each other."""
    return PagedCall("GET", "/v1/conflicts", _query(by=by, collection=collection, limit=limit))


def list_changes(
    after: str | None = None,
    *,
    types: Sequence[answers.ChangeType] = (),
    collection: str | None = None,
    wait: float | None = None,
    limit: int | None = None,
) -> Call[answers.ChangesAnswer]:
    """List the changes after a cursor. Without changes, the service waits at most `wait` seconds.

    Continue after `next_cursor`, which is never null.
    """
    query = _query(after=after, types=tuple(types), collection=collection, wait=wait, limit=limit)
    return Call("GET", "/v1/changes", query)


def register_webhook(url: str, types: Sequence[answers.ChangeType] = ()) -> Call[answers.WebhookWithSecret]:
    """Register a URL for changes of these types, or of all types. Only this answer contains the secret."""
    body = {"url": url, "types": list(types) or None}
    return Call("POST", "/v1/webhooks", content=_json(body), repeatable=False)


def list_webhooks(*, limit: int | None = None) -> PagedCall[answers.WebhookList, answers.WebhookAnswer]:
    """List the webhooks."""
    return PagedCall("GET", "/v1/webhooks", _query(limit=limit))


def read_webhook(webhook_id: Id) -> Call[answers.WebhookAnswer]:
    """Read the progress of a webhook, and the reason if it fails."""
    return Call("GET", _path("webhooks", webhook_id))


def rotate_secret(webhook_id: Id) -> Call[answers.WebhookWithSecret]:
    """Create a new secret for a webhook. For one day, the old secret also signs."""
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
    """List the audit log, newest first. `since` and `until` are times such as 2027-01-31T18:00:00Z."""
    query = _query(key_id=key_id, action=action, object=object_id, since=since, until=until, limit=limit)
    return PagedCall("GET", "/v1/audit", query)


def read_job(job_id: int) -> Call[answers.JobAnswer]:
    """Read a job of the workers."""
    return Call("GET", _path("jobs", job_id))


def _in_parts(documents: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield the documents as JSON Lines, as many per part as fit into a request."""
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
