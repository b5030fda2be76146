"""Lookups: bodies, questions, and the answer.

The answer is a TypedDict, which makes the schema and is written by orjson as it is. A page of a hundred
books takes pydantic longer than finding them took.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Self
from uuid import UUID

from pydantic import Field, model_validator, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from app.api.schemas import examples
from app.api.schemas.base import PageQuery, shown
from app.api.schemas.books import BookBody
from app.api.schemas.files import Format, Warnings, file_fields
from app.api.schemas.signatures import FingerprintBody
from app.core.model import Fingerprint, Submission
from app.core.relations.decision import RelationSummary
from app.core.signatures import composite, identifier
from app.core.signatures.identifier import Identifier
from app.services.lookups.lookup import Answer, Match, Nearest, Question, Verified, Within

_SHARE_DIGITS = 4
"""Decimals of similarities: 128 MinHash values give no more than two."""


class LookupBody(BookBody):
    """A book as it would be posted, or its identifier, or its fingerprint: exactly one of them."""

    model_config = shown({"identifier": examples.IDENTIFIER})

    one_of: ClassVar[dict[str, str]] = BookBody.one_of | {"identifier": "string", "fingerprint": "object"}

    identifier: str | None = Field(
        default=None,
        max_length=1_000,
        description="A book identifier, bp1:… or bp2:…, with or without an ISBN behind it.",
    )
    fingerprint: FingerprintBody | None = Field(default=None, description="A fingerprint alone.")

    def to_identifier(self) -> Identifier | None:
        """What the identifier that was sent says; None where none was."""
        return None if self.identifier is None else composite.decode(self.identifier)

    def to_fingerprint(self) -> Fingerprint | None:
        """The fingerprint that was sent alone; None where it was not."""
        return None if self.fingerprint is None else self.fingerprint.to_fingerprint("fingerprint")


class NearnessQuery(PageQuery):
    """The books to find: within d, or the k nearest, or (without both) verified near-duplicates."""

    d: int | None = Field(
        default=None, ge=0, le=128, description="All books at most this many bits away; exact."
    )
    k: int | None = Field(
        default=None, ge=1, le=1_000, description="This many nearest books, not with d; exact."
    )

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.d is not None and self.k is not None:
            raise PydanticCustomError("not_together", "d and k were both sent", {"field": "k"})
        return self

    def to_question(self) -> Question:
        """The question as the services know it."""
        if self.d is not None:
            return Within(self.d)
        return Verified() if self.k is None else Nearest(self.k)


@with_config(shown(examples.NEAR_DUPLICATE["containment"]))
class Containment(TypedDict):
    """The share of each book that the other one contains, estimated from their MinHash signatures."""

    this_in_other: Annotated[
        float | None, Field(description="Share of the query found in this item, 0 to 1.")
    ]
    other_in_this: Annotated[
        float | None, Field(description="Share of this item found in the query, 0 to 1.")
    ]


@with_config(shown(examples.NEAR_DUPLICATE["relation"]))
class RelationBrief(TypedDict):
    """The relation of two books: by a person's decision, else as computed from their pages."""

    kind: str
    confidence: Annotated[float, Field(description="0 to 1; of a person's decision 1.")]


@with_config(shown(examples.NEAR_DUPLICATE))
class NearDuplicate(TypedDict):
    """A book near the query, and how near it is; null where a signature is missing."""

    id: UUID
    identifier: str | None
    title: str | None
    distance: Annotated[int | None, Field(description="Bits in which the fingerprints differ, 0 to 128.")]
    jaccard: Annotated[float | None, Field(description="Estimated share of common shingles, 0 to 1.")]
    containment: Containment
    relation: Annotated[RelationBrief | None, Field(description="Null until the pages have been compared.")]


@with_config(shown(examples.NEAR_DUPLICATES["query"]))
class NearnessQuestion(TypedDict):
    """The question that is answered."""

    id: Annotated[UUID | None, Field(description="The book that was asked about; null for a lookup.")]
    max_distance: Annotated[int | None, Field(description="The parameter `d`; null where it was not sent.")]
    nearest: Annotated[int | None, Field(description="The parameter `k`; null where it was not sent.")]


@with_config(shown(examples.NEAR_DUPLICATES))
class NearDuplicates(TypedDict):
    """One page of the books near the query, nearest first."""

    query: NearnessQuestion
    exact: Annotated[bool, Field(description="True: provably every book that the question asks for.")]
    total: Annotated[int, Field(description="How many books there are on all pages.")]
    items: list[NearDuplicate]
    next_cursor: Annotated[
        str | None, Field(description="Send it as cursor for the next page; null on the last page.")
    ]


@with_config(shown(examples.NEAR_DUPLICATES | examples.OF_FILE))
class LookupAnswer(NearDuplicates):
    """One page of the books near the query, nearest first, and how its file was read."""

    format: Format
    warnings: Warnings


def lookup_answer_of(found: NearDuplicates, sent: Submission | None) -> LookupAnswer:
    """The document of an answer to a book that came in a file, or not."""
    return {**found, **file_fields(sent)}


def near_duplicates_of(
    answer: Answer,
    query: NearnessQuery,
    next_cursor: str | None,
    book_id: UUID | None = None,
    relations: Mapping[UUID, RelationSummary] | None = None,
) -> NearDuplicates:
    """The document of an answer; `relations` are those of the book asked about, as far as they are known."""
    known = relations or {}
    return {
        "query": {"id": book_id, "max_distance": query.d, "nearest": query.k},
        "exact": answer.exact,
        "total": answer.total,
        "items": [
            _item(match, name, known.get(match.book.book_id))
            for match, name in zip(answer.matches, _identifiers(answer.matches), strict=True)
        ],
        "next_cursor": next_cursor,
    }


def _item(match: Match, name: str | None, relation: RelationSummary | None) -> NearDuplicate:
    evidence = match.evidence
    return {
        "id": match.book.book_id,
        "identifier": name,
        "title": match.book.title,
        "distance": evidence.distance,
        "jaccard": _rounded(evidence.jaccard),
        "containment": {
            "this_in_other": _rounded(evidence.this_in_other),
            "other_in_this": _rounded(evidence.other_in_this),
        },
        "relation": _brief(relation),
    }


def _brief(relation: RelationSummary | None) -> RelationBrief | None:
    if relation is None:
        return None
    return {"kind": relation.kind, "confidence": round(relation.confidence, _SHARE_DIGITS)}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _SHARE_DIGITS)


def _identifiers(matches: Sequence[Match]) -> list[str | None]:
    fingerprints = [match.book.entry.fingerprint for match in matches]
    with_fingerprint = [
        (fingerprint, match.book.word_count)
        for match, fingerprint in zip(matches, fingerprints, strict=True)
        if fingerprint is not None
    ]
    encoded = iter(identifier.encode_each(with_fingerprint))
    return [None if fingerprint is None else next(encoded) for fingerprint in fingerprints]
