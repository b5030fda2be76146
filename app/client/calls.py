"""The operations of the HTTP interface as values: what to send, and of what type the answer is.

A call does nothing by itself; both clients send it. So each operation is written once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

import orjson

from app.client.answers.books import (
    BookJson,
    BooksJson,
    BulkLineJson,
    Kind,
    LookupJson,
    NearDuplicateJson,
    NearDuplicatesJson,
    PostedBookJson,
)
from app.client.answers.operation import (
    Action,
    AuditEntryJson,
    AuditJson,
    ChangesJson,
    ChangeType,
    JobJson,
    WebhookJson,
    WebhooksJson,
    WebhookWithSecretJson,
)
from app.client.answers.relations import (
    ClusterJson,
    ClusterMemberJson,
    ConflictJson,
    ConflictsJson,
    MasterCopyJson,
    MasterPageJson,
    PageRelationJson,
    RelationJson,
    RelationsJson,
)
from app.client.answers.similar import MapJson, MapPlaceJson, SimilarBooksJson

AnswerT = TypeVar("AnswerT")
ItemT = TypeVar("ItemT")

Id = str | UUID
Query = Mapping[str, str | list[str]]

JSON, LINES = "application/json", "application/x-ndjson"

_BOOKS_AT_ONCE, _BYTES_AT_ONCE = 200, 16 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send, opened anew for every try and read as a stream, and what is known of its book."""

    open: Callable[[], BinaryIO]
    name: str
    metadata: bytes | None = None
    metadata_type: str = JSON


@dataclass(frozen=True, slots=True)
class Call(Generic[AnswerT]):
    """One request; its answer is a JSON document, or None where the service answers nothing."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    query: Query = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = JSON
    upload: Upload | None = None
    if_version: int | None = None  # sent as If-Match
    repeatable: bool = True  # sent again after a lost answer; False where that would do it twice


@dataclass(frozen=True, slots=True)
class PagedCall(Call[AnswerT], Generic[AnswerT, ItemT]):
    """A call whose answer is a page of items, with the cursor of the next page."""

    def at(self, cursor: str) -> "PagedCall[AnswerT, ItemT]":
        """The call of the page at a cursor."""
        return replace(self, query={**self.query, "cursor": cursor})


def post_book(book: Mapping[str, Any]) -> Call[PostedBookJson]:
    """Post a book: `text`, `pages` or `signatures`, and its metadata."""
    return Call("POST", "/v1/books", content=orjson.dumps(book))


def post_file(
    file: Path | bytes, metadata: Mapping[str, Any] | bytes | None = None, metadata_type: str = JSON
) -> Call[PostedBookJson]:
    """Post the one book of a file of any format that is read.

    `metadata` outranks what the file says; bytes are of the media type that is named, as application/marc.
    """
    return Call("POST", "/v1/books", upload=_upload(file, metadata, metadata_type))


def post_books(books: Iterable[Mapping[str, Any]]) -> Iterator[Call[list[BulkLineJson]]]:
    """Post many books, as many in one request as fit into it; a line of each answer tells of a book.

    A request is bounded because answers come while it is sent, and nobody reads them meanwhile.
    """
    lines: list[bytes] = []
    for book in books:
        lines.append(orjson.dumps(book))
        if len(lines) >= _BOOKS_AT_ONCE or sum(map(len, lines)) >= _BYTES_AT_ONCE:
            yield _post_lines(lines)
            lines = []
    if lines:
        yield _post_lines(lines)


def _post_lines(lines: list[bytes]) -> Call[list[BulkLineJson]]:
    return Call("POST", "/v1/books:bulk", content=b"\n".join(lines), content_type=LINES)


def read_book(book_id: Id) -> Call[BookJson]:
    """Read a book."""
    return Call("GET", _book(book_id))


def list_books(
    *,
    identifier: str | None = None,
    title: str | None = None,
    external_id: str | None = None,
    digest: str | None = None,
    limit: int | None = None,
) -> PagedCall[BooksJson, BookJson]:
    """List the books that have the identifier, all words of the title, the external id and the digest."""
    return PagedCall(
        "GET",
        "/v1/books",
        _query(identifier=identifier, title=title, external_id=external_id, digest=digest, limit=limit),
    )


def change_metadata(book_id: Id, changes: Mapping[str, Any], if_version: int | None = None) -> Call[BookJson]:
    """Set the named metadata fields and leave the others."""
    return Call("PATCH", _book(book_id), content=orjson.dumps(changes), if_version=if_version)


def replace_content(book_id: Id, content: Mapping[str, Any], if_version: int | None = None) -> Call[BookJson]:
    """Give a book new `text`, `pages` or `signatures`."""
    return Call("PUT", f"{_book(book_id)}/content", content=orjson.dumps(content), if_version=if_version)


def delete_book(book_id: Id, if_version: int | None = None) -> Call[None]:
    """Delete a book."""
    return Call("DELETE", _book(book_id), if_version=if_version)


def near_duplicates(
    book_id: Id, *, d: int | None = None, k: int | None = None, limit: int | None = None
) -> PagedCall[NearDuplicatesJson, NearDuplicateJson]:
    """The books within `d` bits of a book, its `k` nearest, or its verified near-duplicates."""
    return PagedCall("GET", f"{_book(book_id)}/near-duplicates", _query(d=d, k=k, limit=limit))


def look_up(
    question: Mapping[str, Any], *, d: int | None = None, k: int | None = None, limit: int | None = None
) -> PagedCall[LookupJson, NearDuplicateJson]:
    """As `near_duplicates`, of a book that is not stored: a body of `post_book` or an identifier."""
    return PagedCall("POST", "/v1/lookups", _query(d=d, k=k, limit=limit), content=orjson.dumps(question))


def look_up_file(
    file: Path | bytes, *, d: int | None = None, k: int | None = None, limit: int | None = None
) -> PagedCall[LookupJson, NearDuplicateJson]:
    """As `look_up`, of the one book of a file."""
    return PagedCall("POST", "/v1/lookups", _query(d=d, k=k, limit=limit), upload=_upload(file, None, JSON))


def similar_books(book_id: Id, *, k: int | None = None, copies: bool = False) -> Call[SimilarBooksJson]:
    """The `k` books whose vectors are most like that of a book; with its copies, or without."""
    return Call("GET", f"{_book(book_id)}/similar", _query(k=k, copies="true" if copies else None))


def read_map(ids: Sequence[Id] = (), *, limit: int | None = None) -> PagedCall[MapJson, MapPlaceJson]:
    """The places of books on the map: of these, a hundred at most, or of all."""
    listed = {"ids": [str(book_id) for book_id in ids]} if ids else {}
    return PagedCall("GET", "/v1/map", _query(limit=limit) | listed)


def list_relations(
    book_id: Id, *, wait: float | None = None, limit: int | None = None
) -> PagedCall[RelationsJson, RelationJson]:
    """How a book is related to others; held up to `wait` seconds until nothing is pending."""
    return PagedCall("GET", f"{_book(book_id)}/relations", _query(wait=wait, limit=limit))


def read_relation(book_id: Id, other_id: Id, *, exact: bool = False) -> Call[PageRelationJson]:
    """How two books are related, page by page; `exact` has their texts compared once more."""
    return Call("GET", _relation(book_id, other_id), _query(exact="true" if exact else None))


def decide(
    book_id: Id, other_id: Id, decision: Literal["confirmed", "rejected"] | Mapping[Literal["kind"], Kind]
) -> Call[PageRelationJson]:
    """Record a person's decision on two books."""
    path = f"{_relation(book_id, other_id)}/decision"
    return Call("PUT", path, content=orjson.dumps(decision))


def withdraw_decision(book_id: Id, other_id: Id) -> Call[None]:
    """Withdraw the decision on two books."""
    return Call("DELETE", f"{_relation(book_id, other_id)}/decision")


def cluster_of_book(
    book_id: Id, *, by: Literal["same_text", "related"] = "same_text", limit: int | None = None
) -> PagedCall[ClusterJson, ClusterMemberJson]:
    """The cluster that a book is in."""
    return PagedCall("GET", f"{_book(book_id)}/cluster", _query(by=by, limit=limit))


def read_cluster(cluster_id: str, *, limit: int | None = None) -> PagedCall[ClusterJson, ClusterMemberJson]:
    """A cluster, also by an id that it had before a merge."""
    return PagedCall("GET", f"/v1/clusters/{quote(cluster_id, safe='')}", _query(limit=limit))


def read_master_copy(
    cluster_id: str, *, first: int | None = None, limit: int | None = None
) -> PagedCall[MasterCopyJson, MasterPageJson]:
    """The pages of a cluster's text from the page `first` on, each in the reading that most copies share."""
    path = f"/v1/clusters/{quote(cluster_id, safe='')}/text"
    return PagedCall("GET", path, _query(first=first, limit=limit))


def list_conflicts(
    by: Literal["isbn", "title", "text"] = "isbn", *, limit: int | None = None
) -> PagedCall[ConflictsJson, ConflictJson]:
    """Books whose metadata and texts contradict each other."""
    return PagedCall("GET", "/v1/conflicts", _query(by=by, limit=limit))


def list_changes(
    after: str | None = None,
    *,
    types: Sequence[ChangeType] = (),
    wait: float | None = None,
    limit: int | None = None,
) -> Call[ChangesJson]:
    """What has changed behind a cursor; held up to `wait` seconds until there is something.

    Go on behind `next_cursor`, which is never null.
    """
    query = _query(after=after, wait=wait, limit=limit)
    return Call("GET", "/v1/changes", query | ({"types": list(types)} if types else {}))


def register_webhook(url: str, types: Sequence[ChangeType] = ()) -> Call[WebhookWithSecretJson]:
    """Have changes of these types, or all, delivered to a URL; the answer alone shows the secret."""
    body = {"url": url, "types": list(types) or None}
    return Call("POST", "/v1/webhooks", content=orjson.dumps(body), repeatable=False)


def list_webhooks(*, limit: int | None = None) -> PagedCall[WebhooksJson, WebhookJson]:
    """List the webhooks."""
    return PagedCall("GET", "/v1/webhooks", _query(limit=limit))


def read_webhook(webhook_id: Id) -> Call[WebhookJson]:
    """How far a webhook has come, and why it fails."""
    return Call("GET", _webhook(webhook_id))


def rotate_secret(webhook_id: Id) -> Call[WebhookWithSecretJson]:
    """Give a webhook a new secret; for a day the old one signs as well."""
    return Call("POST", f"{_webhook(webhook_id)}/rotate", repeatable=False)


def delete_webhook(webhook_id: Id) -> Call[None]:
    """Delete a webhook."""
    return Call("DELETE", _webhook(webhook_id))


def list_audit(
    *,
    key_id: Id | None = None,
    action: Action | None = None,
    object_id: Id | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
) -> PagedCall[AuditJson, AuditEntryJson]:
    """Who has written what, the newest first; `since` and `until` are times as 2027-01-31T18:00:00Z."""
    query = _query(key_id=key_id, action=action, object=object_id, since=since, until=until, limit=limit)
    return PagedCall("GET", "/v1/audit", query)


def read_job(job_id: int) -> Call[JobJson]:
    """A job of the workers."""
    return Call("GET", f"/v1/jobs/{job_id}")


def _upload(file: Path | bytes, metadata: Mapping[str, Any] | bytes | None, metadata_type: str) -> Upload:
    given = metadata if isinstance(metadata, bytes) or metadata is None else orjson.dumps(metadata)
    if isinstance(file, bytes):
        return Upload(lambda: BytesIO(file), "book", given, metadata_type)
    return Upload(lambda: file.open("rb"), file.name, given, metadata_type)


def _book(book_id: Id) -> str:
    return f"/v1/books/{quote(str(book_id), safe='')}"


def _relation(book_id: Id, other_id: Id) -> str:
    return f"{_book(book_id)}/relations/{quote(str(other_id), safe='')}"


def _webhook(webhook_id: Id) -> str:
    return f"/v1/webhooks/{quote(str(webhook_id), safe='')}"


def _query(**values: Any) -> dict[str, str | list[str]]:
    return {name: str(value) for name, value in values.items() if value is not None}
