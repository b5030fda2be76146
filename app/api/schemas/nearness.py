"""The documents of lookups, written without the models that describe them.

A page of a hundred books takes pydantic longer than finding them took; a test holds the two to each other.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from starlette.responses import Response

from app.core.matching.verification import Evidence
from app.core.relations.decision import RelationSummary
from app.core.signatures import identifier
from app.services.lookup import Answer, Match

_SHARE_DIGITS = 4
"""Decimals of similarities: 128 MinHash values tell no more than two."""


def near_duplicates_response(
    answer: Answer,
    next_cursor: str | None,
    *,
    book_id: UUID | None,
    d: int | None,
    k: int | None,
    relations: Mapping[UUID, RelationSummary],
) -> Response:
    """A `NearDuplicates` document as the answer to the question for books near one, or near what was sent.

    `relations` are those of the book asked about with the books found, as far as they are known.
    """
    query = {"id": book_id, "d": d}
    document = {
        "query": query if k is None else query | {"k": k},
        "exact": answer.exact,
        "total": answer.total,
        "items": _items(answer.matches, relations),
        "next_cursor": next_cursor,
    }
    return Response(orjson.dumps(document), media_type="application/json")


def _items(matches: Sequence[Match], relations: Mapping[UUID, RelationSummary]) -> list[dict[str, Any]]:
    return [
        {
            "id": match.book.book_id,
            "identifier": name,
            "title": match.book.title,
            "distance": match.evidence.distance,
            **_shares(match.evidence),
            "relation": _relation(relations.get(match.book.book_id)),
        }
        for match, name in zip(matches, _identifiers(matches), strict=True)
    ]


def _relation(finding: RelationSummary | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {"kind": finding.kind, "confidence": round(finding.confidence, _SHARE_DIGITS)}


def _shares(evidence: Evidence) -> dict[str, Any]:
    jaccard, this, other = evidence.jaccard, evidence.this_in_other, evidence.other_in_this
    if jaccard is None or this is None or other is None:
        return {"jaccard": None, "containment": {"this_in_other": None, "other_in_this": None}}
    return {
        "jaccard": round(jaccard, _SHARE_DIGITS),
        "containment": {
            "this_in_other": round(this, _SHARE_DIGITS),
            "other_in_this": round(other, _SHARE_DIGITS),
        },
    }


def _identifiers(matches: Sequence[Match]) -> list[str | None]:
    fingerprints = [match.book.entry.fingerprint for match in matches]
    signed = [
        (fingerprint, match.book.word_count)
        for match, fingerprint in zip(matches, fingerprints, strict=True)
        if fingerprint is not None
    ]
    found = iter(identifier.encode_each(signed))
    return [None if fingerprint is None else next(found) for fingerprint in fingerprints]
