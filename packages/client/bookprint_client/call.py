"""Calls as values: the request to send, and the type of the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Generic, Literal, TypedDict, TypeVar
from uuid import UUID

AnswerT = TypeVar("AnswerT")
ItemT = TypeVar("ItemT")

Id = str | UUID
Query = Mapping[str, str | list[str]]

JSON, LINES = "application/json", "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Upload:
    """File to send, with its book's metadata. Each attempt opens the file again and reads it as a stream."""

    open: Callable[[], BinaryIO]
    name: str
    metadata: bytes | None = None
    metadata_type: str = JSON


@dataclass(frozen=True, slots=True)
class Call(Generic[AnswerT]):
    """One request. The answer is a JSON document, or None if the service sends no content."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    query: Query = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = JSON
    upload: Upload | None = None
    if_version: int | None = None  # sent as If-Match
    accept: str | None = None  # media type of an answer that is a text
    repeatable: bool = True  # whether to send the call again after a lost answer; False if it would act twice


@dataclass(frozen=True, slots=True)
class PagedCall(Call[AnswerT], Generic[AnswerT, ItemT]):
    """Call whose answer is a page of items, with the cursor of the next page."""

    def at(self, cursor: str) -> "PagedCall[AnswerT, ItemT]":
        return replace(self, query={**self.query, "cursor": cursor})


class BulkLine(TypedDict, total=False):
    """Result of one line of a bulk post."""

    line: int
    status: int
    id: str
    identifier: str | None
    created: bool
    problem: dict[str, Any]
    warnings: list[str]


class CheckedItem(TypedDict):
    """Book that a row of a list may describe."""

    book_id: str
    title: str | None
    verdict: str
    link: str
    evidence: dict[str, Any]


class CheckLine(TypedDict, total=False):
    """Answer to one row of a list."""

    line: int
    verdict: str
    by: str
    because: str | None
    items: list[CheckedItem]
    status: int
    problem: dict[str, Any]
    retry_after: float
