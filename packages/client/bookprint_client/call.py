"""A call as a value: what to send, and of what type the answer is."""

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
    accept: str | None = None  # the type of an answer that comes as a text
    repeatable: bool = True  # sent again after a lost answer; False where that would do it twice


@dataclass(frozen=True, slots=True)
class PagedCall(Call[AnswerT], Generic[AnswerT, ItemT]):
    """A call whose answer is a page of items, with the cursor of the next page."""

    def at(self, cursor: str) -> "PagedCall[AnswerT, ItemT]":
        return replace(self, query={**self.query, "cursor": cursor})


class BulkLine(TypedDict, total=False):
    """The outcome of one line of a bulk post."""

    line: int
    status: int
    id: str
    identifier: str | None
    created: bool
    problem: dict[str, Any]
    warnings: list[str]


class CheckedItem(TypedDict):
    """A book that a row of a list may mean."""

    book_id: str
    title: str | None
    verdict: str
    link: str
    evidence: dict[str, Any]


class CheckLine(TypedDict, total=False):
    """The answer to one row of a list."""

    line: int
    verdict: str
    by: str
    because: str | None
    items: list[CheckedItem]
    status: int
    problem: dict[str, Any]
    retry_after: float
