"""Scores of candidates, their features, and the rule that makes one candidate a match.

A feature compares one part of the description with the book, from 0 (different) to 1 (same). The score is the
weighted mean of the features, from 0 to 100. A field that the book's record lacks counts as 0.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.catalog.identifiers import is_valid
from app.catalog.reconciliation import BookDescription
from app.catalog.similarity import MOST_AUTHORS, person_similarity, title_similarity, volume_similarity
from bookprint_core.matching.verification import Evidence
from bookprint_core.model import Metadata

MATCH_SCORE = 90.0
"""Minimum score of a match."""

LEAST_SCORE = 30.0
"""Minimum score of a candidate in the answer."""

MATCH_LEAD = 5.0
"""Minimum difference between the score of a match and every other score."""

_WEIGHTS = {
    "title": 60.0,
    "author": 25.0,
    "year": 12.0,
    "language": 6.0,
    "volume": 12.0,
    "identifier": 60.0,
    "id": 120.0,
    "content": 120.0,
}
_UNKNOWN = 0.5

_NEXT_YEAR, _NEAR_YEAR = 0.5, 0.25
"""Values of the feature `year` for one year apart (often copyright and printing) and two years apart.
"""

_VERIFIED = 0.8
"""Minimum value for a verified near-duplicate, which has the same text or a part of it."""

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ContentEvidence:
    """Evidence that a lookup by content found for a candidate."""

    evidence: Evidence
    relation: float | None = None  # confidence of the relation of the two books, 0 to 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A book that may be the described one."""

    id: UUID
    metadata: Metadata
    page_count: int | None
    score: float  # 0 to 100
    features: Mapping[str, float | bool]
    match: bool = False


def scored(
    description: BookDescription,
    book_id: UUID,
    metadata: Metadata,
    page_count: int | None,
    content: ContentEvidence | None,
) -> Candidate:
    """Return the book as a candidate. `content` is None if the book was not found by its content."""
    if book_id in description.ids:
        return Candidate(book_id, metadata, page_count, 100.0, {"id": True})
    parts = _parts(description, metadata)
    if description.ids:
        parts["id"] = 0.0
    if description.contents:
        parts["content"] = 0.0 if content is None else _content(content.evidence)
    weight = sum(_WEIGHTS[name] for name in parts)
    reached = sum(_WEIGHTS[name] * (_UNKNOWN if part is None else part) for name, part in parts.items())
    features: dict[str, float | bool] = {
        name: round(part, _DIGITS) for name, part in parts.items() if part is not None
    }
    if content is not None:
        features |= _content_features(content)
    score = round(100 * reached / weight, 2) if weight else 0.0
    return Candidate(book_id, metadata, page_count, score, features)


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with at least `LEAST_SCORE`, best first. The first may be a match.

    A match has at least `MATCH_SCORE` and is at least `MATCH_LEAD` ahead of every other candidate. Editions
    of one title therefore do not match unless year, identifier or text distinguishes them.
    """
    likely = [candidate for candidate in candidates if candidate.score >= LEAST_SCORE]
    best_first = sorted(likely, key=lambda candidate: (-candidate.score, candidate.id))
    if not best_first or best_first[0].score < MATCH_SCORE:
        return best_first
    first, *others = best_first
    if others and others[0].score > first.score - MATCH_LEAD:
        return best_first
    return [replace(first, match=True), *others]


def _parts(description: BookDescription, metadata: Metadata) -> dict[str, float | None]:
    """Return the value of each part of the description, 0 to 1; None if the book's record lacks the field."""
    parts: dict[str, float | None] = {}
    if description.titles:
        title = metadata.title
        parts["title"] = max(title_similarity(each, title) for each in description.titles) if title else None
    if description.authors:
        known = metadata.authors[:MOST_AUTHORS]
        parts["author"] = (
            sum(max(person_similarity(each, one) for one in known) for each in description.authors)
            / len(description.authors)
            if known
            else None
        )
    if description.years:
        year = metadata.year
        parts["year"] = None if year is None else max(_year(each, year) for each in description.years)
    if description.languages:
        parts["language"] = _language(description.languages, metadata.language)
    if description.volumes:
        volume = metadata.volume
        parts["volume"] = (
            None if volume is None else max(volume_similarity(each, volume) for each in description.volumes)
        )
    if description.identifiers:
        parts["identifier"] = _identifier(description.identifiers, metadata.identifiers)
    return parts


def _identifier(wanted: Sequence[str], held: Sequence[str]) -> float | None:
    """Return 1 for a common identifier, 0 if the book has only others of the same schemes, else None."""
    if set(wanted) & set(held):
        return 1.0
    schemes = {identifier.partition(":")[0] for identifier in wanted}
    return 0.0 if any(each.partition(":")[0] in schemes and is_valid(each) for each in held) else None


def _year(wanted: int, year: int) -> float:
    return {0: 1.0, 1: _NEXT_YEAR, 2: _NEAR_YEAR}.get(abs(wanted - year), 0.0)


def _language(wanted: Sequence[str], held: str | None) -> float | None:
    """Return 1 for the same language, 0 for different ones; None if codes of 2 and 3 letters are compared."""
    if held is None:
        return None
    tags = {_tag(each) for each in wanted}
    if _tag(held) in tags:
        return 1.0
    return 0.0 if any(len(tag) == len(_tag(held)) for tag in tags) else None


def _tag(language: str) -> str:
    """Return the primary subtag (RFC 5646) in lower case."""
    return language.strip().lower().replace("_", "-").partition("-")[0]


def _content(evidence: Evidence) -> float:
    """Return the similarity of the texts, 0.8 to 1, from fingerprints or shares of common shingles."""
    shares = [evidence.jaccard, evidence.this_in_other]
    share = max((each for each in shares if each is not None), default=0.0)
    near = 0.0 if evidence.distance is None else max(0.0, 1 - evidence.distance / 32)
    return _VERIFIED + (1 - _VERIFIED) * min(1.0, max(share, near))


def _content_features(content: ContentEvidence) -> dict[str, float | bool]:
    evidence = content.evidence
    values = {
        "distance": evidence.distance,
        "jaccard": evidence.jaccard,
        "containment": evidence.this_in_other,
        "contained": evidence.other_in_this,
        "relation": content.relation,
    }
    return {name: round(value, _DIGITS) for name, value in values.items() if value is not None}
