"""The type of an answer, chosen by the header Accept (RFC 9110, 12.5.1)."""

import re
from collections.abc import Sequence

from fastapi import Request

from app.api.http.problems import Refusal

JSON = "application/json"
MARCXML = "application/marcxml+xml"
MARC = "application/marc"
MARC_JSON = "application/marc-in-json"
JSON_LD = "application/ld+json"
TEXT = "text/plain"

OFFERED = (JSON, MARCXML, MARC, MARC_JSON, JSON_LD)
"""The types of a book, the one that is preferred first."""

OFFERED_TEXTS = (JSON, TEXT)
"""The types of a text."""

_QUALITY = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


class NotAcceptable(Refusal):
    """None of the types that a client accepts is offered."""

    problem = "not-acceptable"
    status = 406
    title = "No answer of this type"
    field = "Accept"

    def __init__(self, accept: str, offered: Sequence[str]) -> None:
        super().__init__(f"This cannot be answered as {accept[:200]}.")
        self.remedy = f"Ask for one of {', '.join(offered)}."


def chosen(request: Request) -> str:
    """The type of a book that the client likes best; raises NotAcceptable."""
    return _chosen(request, OFFERED)


def chosen_text(request: Request) -> str:
    """The type of a text that the client likes best; raises NotAcceptable."""
    return _chosen(request, OFFERED_TEXTS)


def best(accept: str, offered: Sequence[str]) -> str:
    """The offered type with the highest quality, the first of equal ones; raises NotAcceptable.

    >>> best("text/html, application/marc;q=0.5, */*;q=0.1", OFFERED)
    'application/marc'
    """
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    qualities = {kind: _quality(kind, ranges) for kind in offered}
    kind = max(offered, key=lambda each: qualities[each])
    if not qualities[kind]:
        raise NotAcceptable(accept, offered)
    return kind


def _chosen(request: Request, offered: Sequence[str]) -> str:
    accept = ",".join(request.headers.getlist("accept")).strip()
    return best(accept, offered) if accept else offered[0]


def _range(part: str) -> tuple[str, float]:
    """A range of types and its quality, 0 to 1; 0 for a quality that is no number."""
    kind, *parameters = (text.strip().lower() for text in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            value = value.strip()
            return kind, float(value) if _QUALITY.fullmatch(value) else 0.0
    return kind, 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality of the most specific range that a type is in; 0 where it is in none."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [quality for name, quality in ranges if name == pattern]
        if found:
            return max(found)
    return 0.0
