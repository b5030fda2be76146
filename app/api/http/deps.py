"""Dependencies of endpoints: services, ids in the path, versions in If-Match, and the type of the answer.

The header Accept chooses the type (RFC 9110, 12.5.1).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, cast
from uuid import UUID

import structlog
from fastapi import Depends, Header, Path, Request, Response
from pydantic import BeforeValidator

from app.api.http import examples
from app.api.http.admission import Permit
from app.api.http.metrics import Metrics
from app.api.http.problems import RequestRefusal
from app.services.access.audit import Actor, actor_of
from app.services.health import PartHealth
from app.wiring import Services
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.errors import UnknownBook, UnknownCluster
from bookprint_core.warm_up import warm_up

log = structlog.get_logger()

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ETAG = re.compile(r'(W/)?"?([^",\s]*)"?')
_MOST_DIGITS = 9

_SHOWN = 100
"""Maximum number of characters of a wrong id in an error."""

_LONGEST_ADDRESS = 100  # characters

NO_VERSION = 0
"""A version that no book has."""


def _shortened(text: str) -> str:
    """Shorten a wrong id for an error."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def book_id_of(text: str) -> UUID:
    """Parse the id in a path; raises UnknownBook for a text that is not a UUID."""
    return id_of(text, UnknownBook)


def cluster_name_of(text: str) -> ClusterName:
    """Parse the name or key in a path; raises UnknownCluster for any other text."""
    if (name := ClusterName.read(text)) is None:
        raise UnknownCluster(_shortened(text))
    return name


def id_of(text: str, unknown: Callable[[str], Exception]) -> UUID:
    """Parse the id in a path; raises the error `unknown` for a text that is not a UUID."""
    if not _UUID.fullmatch(text):
        raise unknown(_shortened(text))
    return UUID(text)


class KernelState:
    """The state of the kernels; a book posted before they are compiled would wait for them."""

    def __init__(self) -> None:
        self.health = PartHealth(ok=False, detail="The kernels are being compiled.")

    async def warm_up(self) -> None:
        try:
            await asyncio.to_thread(warm_up)
        except Exception:
            log.exception("kernels cannot be compiled")
            self.health = PartHealth(ok=False, detail="The kernels cannot be compiled; the log says why.")
        else:
            self.health = PartHealth(ok=True, detail="compiled")


# Dependencies are coroutines, because FastAPI runs plain functions in a thread.
def _of_process(name: str) -> Any:
    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(found)


ServicesDep = Annotated[Services, _of_process("services")]
MetricsDep = Annotated[Metrics, _of_process("metrics")]
KernelsDep = Annotated[KernelState, _of_process("kernels")]


async def actor(request: Request) -> Actor:
    """Return the actor of the request: the caller by its key, and the address."""
    # A proxy may forward any text as the address.
    address = request.client.host[:_LONGEST_ADDRESS] if request.client else None
    return actor_of(request.state.caller, address)


async def if_match(
    if_match: Annotated[
        str | None,
        Header(description="The expected ETag of the book; answers 412 if it has changed.", examples=['"1"']),
    ] = None,
) -> frozenset[int] | None:
    """Return the versions that If-Match allows (RFC 9110, 13.1.1); None allows any."""
    if if_match is None or if_match.strip() == "*":
        return None
    tags = [_ETAG.fullmatch(tag.strip()) for tag in if_match.split(",")]
    # Weak tags never match (13.1.1); a tag that is not a version number matches no version.
    versions = {
        int(tag[2])
        for tag in tags
        if tag and not tag[1] and tag[2].isascii() and tag[2].isdigit() and len(tag[2]) <= _MOST_DIGITS
    }
    return frozenset(versions or {NO_VERSION})


async def permit(request: Request) -> Permit:
    """Return the permit of the request."""
    return cast(Permit, request.state.permit)


PermitDep = Annotated[Permit, Depends(permit)]
ActorDep = Annotated[Actor, Depends(actor)]
BookId = Annotated[
    UUID, BeforeValidator(book_id_of), Path(description="Id of the book.", examples=[examples.BOOK_ID])
]
OtherId = Annotated[
    UUID, BeforeValidator(book_id_of), Path(description="Id of the other book.", examples=[examples.OTHER_ID])
]
IfMatch = Annotated[frozenset[int] | None, Depends(if_match)]


async def expected_version(services: Services, book_id: UUID, allowed: frozenset[int] | None) -> int | None:
    """Return the only allowed version, or the current one if it is among several, or NO_VERSION."""
    if allowed is None:
        return None
    if len(allowed) == 1:
        [version] = allowed
        return version
    current = (await services.books.get(book_id)).version
    return current if current in allowed else NO_VERSION


JSON = "application/json"
MARCXML = "application/marcxml+xml"
MARC = "application/marc"
MARC_JSON = "application/marc-in-json"
JSON_LD = "application/ld+json"
TEXT = "text/plain"
CSV = "text/csv"

OFFERED = (JSON, MARCXML, MARC, MARC_JSON, JSON_LD)
"""Media types of a book, in order of preference."""

OFFERED_TEXTS = (JSON, TEXT)
"""Media types of a text."""

OFFERED_EVIDENCE = (JSON, JSON_LD, CSV)
"""Media types of the relation of two books."""

_QUALITY = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


class NotAcceptable(RequestRefusal):
    """The answer is not available in any type that the client accepts."""

    status = 406
    title = "No answer of this type"
    field = "Accept"

    def __init__(self, accept: str, offered: Sequence[str]) -> None:
        super().__init__(f"This cannot be answered as {accept[:200]}.")
        self.remedy = f"Ask for one of {', '.join(offered)}."


def best(accept: str, offered: Sequence[str]) -> str:
    """Return the offered type with the highest quality, the first of equal types; raises NotAcceptable.

    >>> best("text/html, application/marc;q=0.5, */*;q=0.1", OFFERED)
    'application/marc'
    """
    ranges = [_accepted_range(part) for part in accept.split(",") if part.strip()]
    qualities = {kind: _quality(kind, ranges) for kind in offered}
    kind = max(offered, key=lambda each: qualities[each])
    if not qualities[kind]:
        raise NotAcceptable(accept, offered)
    return kind


def accepted(request: Request, offered: Sequence[str]) -> str:
    """Return the type of the answer that the client prefers; raises NotAcceptable."""
    accept = ",".join(request.headers.getlist("accept")).strip()
    return best(accept, offered) if accept else offered[0]


def _choosing(offered: Sequence[str]) -> Callable[[Request, Response], Awaitable[str]]:
    async def choose(request: Request, response: Response) -> str:
        response.headers["Vary"] = "Accept"
        return accepted(request, offered)

    return choose


chosen_text, chosen_evidence = _choosing(OFFERED_TEXTS), _choosing(OFFERED_EVIDENCE)


def _accepted_range(part: str) -> tuple[str, float]:
    """Parse a media range and its quality, 0 to 1; an invalid quality counts as 0."""
    kind, *parameters = (text.strip().lower() for text in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            value = value.strip()
            return kind, float(value) if _QUALITY.fullmatch(value) else 0.0
    return kind, 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return the quality of the most specific range that contains a type; 0 without a range."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [quality for name, quality in ranges if name == pattern]
        if found:
            return max(found)
    return 0.0
