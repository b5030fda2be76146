"""Bodies of requests: bounded in size and time; JSON is parsed off the event loop and checked.

A route passes FastAPI a `BodyRequest`, which enforces the bounds.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from email.message import Message
from time import monotonic
from typing import Any, Self, TypeVar

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from app.api.http.admission import Held, Permit
from app.api.http.problems import RequestRefusal
from app.api.http.usage import counted, require_key_still_valid
from bookprint_core.book_rules import MAX_PAGES
from bookprint_core.errors import FileTooLarge
from bookprint_core.json_limits import MAX_CONTAINERS, MAX_VALUES, exceeds_json_limits

GRACE_SECONDS = 20.0
"""Seconds of waiting allowed for any body."""

BULK_GRACE_SECONDS = 300.0
"""Seconds of waiting allowed for JSON lines, which a client may send as it produces them."""

MIN_BYTES_A_SECOND = 4_096
"""Bytes received that allow one more second of waiting."""


class BodyTooSlow(RequestRefusal):
    """The request body arrives too slowly."""

    status = 408
    title = "The body arrives too slowly"
    remedy = "Send it again over a faster connection, or in smaller parts."

    def __init__(self, seconds: float, size: int) -> None:
        # Close the connection, or the rest of the body would be parsed as the next request.
        super().__init__(
            f"{size:,} bytes of the body arrived in {seconds:.0f} seconds of waiting.",
            headers={"Connection": "close"},
        )


async def paced(parts: AsyncIterator[bytes], grace: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive; raises BodyTooSlow if it arrives too slowly.

    Total waiting is at most `grace` seconds, plus one second per MIN_BYTES_A_SECOND received.
    """
    waited, size = 0.0, 0
    while True:
        asked = monotonic()
        try:
            async with asyncio.timeout(max(0.0, grace + size / MIN_BYTES_A_SECOND - waited)):
                part = await anext(parts, None)
        except TimeoutError:
            raise BodyTooSlow(waited + monotonic() - asked, size) from None
        if part is None:
            return
        waited += monotonic() - asked
        size += len(part)
        yield part


M = TypeVar("M", bound=BaseModel)

_INLINE_BYTES = 64 * 1024
"""Largest body that is parsed on the event loop; switching threads would take longer."""

_DIGITS = 19
"""Digits of a declared size that are read; a longer number exceeds every bound."""

MAX_FIELDS = 1_000
"""Maximum number of names in one object, because FastAPI lists every unknown name on the event loop."""

MAX_LEVELS = 100
"""Maximum number of levels of nested lists and objects."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BodyTooLarge(RequestRefusal):
    """The request body is too large."""

    status = 413
    title = "The body is too large"
    remedy = "Send a smaller body, or have BOOKPRINT_MAX_BODY_BYTES raised."

    def __init__(self, max_bytes: int, remedy: str | None = None) -> None:
        super().__init__(f"The body is larger than {max_bytes} bytes.")
        self.remedy = remedy or self.remedy


class UnsupportedMediaType(RequestRefusal):
    """The type or encoding of the body is not supported; `field` names the header to change."""

    status = 415
    title = "The type of the body is not supported here"
    remedy = "Send uncompressed UTF-8 JSON with Content-Type: application/json."

    def __init__(self, detail: str, field: str = "Content-Type", remedy: str | None = None) -> None:
        super().__init__(detail)
        self.field = field
        self.remedy = remedy or self.remedy


class UnparsableJson(RequestRefusal):
    """The body is not valid JSON, or exceeds a limit."""

    problem = "unparsable"
    title = "The body cannot be read as JSON"

    def __init__(self, detail: str, remedy: str, status: int = 400, field: str = "body") -> None:
        super().__init__(detail)
        self.remedy = remedy
        self.status = status
        self.field = field

    @classmethod
    def because(cls, reason: str) -> Self:
        """Return the error for the parser's message."""
        remedy, status = "Send one well-formed JSON value in UTF-8.", 400
        if "unicode code point" in reason:
            remedy = "Encode the body as UTF-8."
        elif "surrogate" in reason or "hex escape" in reason:
            # The grammar of JSON allows half a surrogate pair; Unicode text does not.
            remedy = "Send \\u escapes of surrogates in pairs only, or the character itself as UTF-8."
            status = 422
        elif "recursion" in reason:
            remedy = "Send fewer brackets inside each other; a book needs three."
        elif "number out of range" in reason:
            remedy = "Send a number that fits into 32 bits."
        return cls(f"The JSON text cannot be read: {reason}.", remedy, status)


class PacedRequest(Request):
    """A request without a known caller; its body is refused if it arrives too slowly."""

    async def stream(self) -> AsyncGenerator[bytes, None]:
        async for part in paced(super().stream(), GRACE_SECONDS):
            yield part


class BodyRequest(Request):
    """A request whose body is refused if it is too large or too slow, or if no room is left for it.

    The body is held in memory, or as a file on disk.
    """

    def __init__(self, request: Request, *, is_file: bool = False) -> None:
        super().__init__(request.scope, request.receive)
        state = self.app.state
        self._permit: Permit = self.state.permit
        self._is_file = is_file
        self._most: int = state.max_file_bytes if is_file else state.max_body_bytes
        self._held = Held(state.admission.disk) if is_file else self._permit.memory

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the body, then check the key again and acquire the permit.

        Raises BodyTooLarge or FileTooLarge, from the Content-Length if possible; also BodyTooSlow,
        LimitReached, NoValidKey and Overloaded.
        """
        stated = self.headers.get("content-length", "").lstrip("0")
        # `int` raises ValueError for thousands of digits; the first digits suffice.
        declared = int(stated[:_DIGITS]) if stated.isdecimal() else 0
        allowed = self.state.caller.limits.bytes_per_minute
        if declared > self._most:
            raise self._too_large()
        if allowed is not None and declared > allowed:
            raise BodyTooLarge(allowed, "Send it in parts, or have the limit of the key raised.")
        size = 0
        async for part in counted(paced(super().stream(), GRACE_SECONDS), self.scope):
            size += len(part)
            if size > self._most:
                raise self._too_large()
            self._held.hold(len(part))
            yield part
        await require_key_still_valid(self.scope)
        await self._permit.acquire()

    async def parse(self) -> None:
        """Read the JSON value of the body; raises UnparsableJson, also for an empty body."""
        body = (await self.body()).removeprefix(BYTE_ORDER_MARK)
        if not body.strip():
            raise UnparsableJson("The body is empty.", 'Send a JSON object, as {"text": "…"}.')
        inline = len(body) <= _INLINE_BYTES
        self._value = parsed(body) if inline else await asyncio.to_thread(parsed, body)

    async def json(self) -> Any:
        return self._value

    async def close(self) -> None:
        """Delete the files of the body and free its room on disk."""
        await super().close()
        if self._is_file:
            self._held.end()

    def _too_large(self) -> Exception:
        if not self._is_file:
            return BodyTooLarge(self._most)
        return FileTooLarge(
            f"The file is larger than {self._most:,} bytes. Split it into its parts, or have "
            "BOOKPRINT_MAX_BODY_BYTES raised."
        )


def media_type(headers: Mapping[str, str]) -> str:
    """Return the declared media type without parameters, in lower case; empty if none is declared."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def require_uncompressed(headers: Mapping[str, str]) -> None:
    """Raise UnsupportedMediaType for a body with a Content-Encoding."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", ""}:
        raise UnsupportedMediaType(
            f"The body is compressed ({encoding[:40]}).", "Content-Encoding", "Send it uncompressed."
        )


def require_json(headers: Mapping[str, str]) -> None:
    """Raise UnsupportedMediaType if the body is declared as anything but JSON in UTF-8."""
    require_uncompressed(headers)
    header = Message()
    header["content-type"] = declared = headers.get("content-type") or "application/json"
    subtype = header.get_content_subtype()
    if header.get_content_type() == "multipart/form-data":
        raise UnsupportedMediaType(
            "Only POST /v1/books and POST /v1/lookups accept files as multipart/form-data."
        )
    if header.get_content_maintype() != "application" or not (subtype == "json" or subtype.endswith("+json")):
        raise UnsupportedMediaType(f"The body is declared as {declared[:80]}.")
    charset = str(header.get_param("charset", "utf-8"))
    if charset.lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"The body is declared to be in {charset[:40]}.")


def validated(model: type[M], value: object, *place: str) -> M:
    """Validate the body, or its part at `place`, with a model; raises RequestValidationError."""
    try:
        return model.model_validate(value, from_attributes=True)
    except ValidationError as exc:
        errors = [error | {"loc": ("body", *place, *error["loc"])} for error in exc.errors()]
        raise RequestValidationError(errors) from None


def parsed(body: bytes, most_fields: int = MAX_FIELDS) -> Any:
    """Parse a JSON text; raises UnparsableJson, also for an object with more than `most_fields` fields."""
    if exceeds_json_limits(body):
        raise UnparsableJson(
            f"The body has over {MAX_VALUES:,} values, or over {MAX_CONTAINERS:,} lists, objects or names.",
            f"Send one book at a time, with at most {MAX_PAGES:,} pages, each of them one string.",
            422,
        )
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        # pydantic's parser takes four times as long, but accepts NaN and explains errors.
        try:
            value = from_json(body)
        except ValueError as error:
            raise UnparsableJson.because(str(error)) from None
    _require_bounded(value, most_fields)
    return value


def _require_bounded(value: Any, most_fields: int) -> None:
    """Raise UnparsableJson for too many levels, or for an object with too many fields.

    The check runs level by level, because recursion could raise RecursionError.
    """
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_LEVELS):
        for part in level:
            if isinstance(part, dict) and len(part) > most_fields:
                raise UnparsableJson(
                    f"An object of the body has over {most_fields:,} fields.",
                    "Send only the fields that /docs shows, each with a value of its type.",
                    422,
                )
        inner = (part.values() if isinstance(part, dict) else part for part in level if part)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return
    raise UnparsableJson.because("recursion limit exceeded")
