"""Request bodies: read once, parsed once, and refused with a reason where they are not what they must be."""

import asyncio
import re
from collections.abc import Callable
from email.message import Message
from typing import Any, NoReturn, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel
from pydantic_core import from_json

from app.api.http.errors import BodyTooLarge, UnparsableJson, UnsupportedMediaType
from app.api.http.limits import limit_json_values
from app.api.schemas.requests import LookupBody

_INLINE_BYTES = 64 * 1024
"""Smaller bodies are parsed without a change of threads, which would cost more than it spares the others."""

_JSON = "application/json"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_FIELDS = tuple(LookupBody.model_fields)
_COLON = re.compile(rb"\s*:")
_MOST_LINES = 200_000
"""Lines over which a place in the body is looked for."""

Body = TypeVar("Body", bound=BaseModel)
Value = TypeVar("Value")


async def parsed(request: Request, schema: type[Body], convert: Callable[[Body], Value]) -> Value:
    """The body of a request, checked and converted.

    Raises UnsupportedMediaType, BodyTooLarge, UnparsableJson, ValidationError, and whatever `convert` raises.
    """
    _require_json(request)
    body = await _read(request, request.app.state.max_body_bytes)

    def parse() -> Value:
        return convert(_validated(body, schema))

    # A kernel that must still be compiled would stop every other request for as long.
    inline = len(body) <= _INLINE_BYTES and request.app.state.kernels.health.ok
    return parse() if inline else await asyncio.to_thread(parse)


def _require_json(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", ""}:
        raise UnsupportedMediaType(f"The body is compressed ({encoding[:40]}).", "Content-Encoding")
    declared = request.headers.get("content-type", _JSON)
    if declared == _JSON:
        return
    header = Message()
    header["content-type"] = declared
    media_type = header.get_content_type()
    if media_type == "multipart/form-data":
        raise UnsupportedMediaType(
            "Files as multipart/form-data are not taken; the text goes into the JSON body."
        )
    if media_type != _JSON and not media_type.endswith("+json"):
        raise UnsupportedMediaType(f"The body is declared as {declared[:80]}.")
    charset = header.get_param("charset", "utf-8")
    if str(charset).lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"The body is declared to be in {str(charset)[:40]}.")


async def _read(request: Request, most: int) -> bytes:
    """The body; refused by its Content-Length before it is read, else when so many bytes have arrived."""
    # Python refuses to make a number of thousands of digits.
    declared = request.headers.get("content-length", "").lstrip("0")
    if declared.isdecimal() and (len(declared) > len(str(most)) or int(declared) > most):
        raise BodyTooLarge(most)
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise BodyTooLarge(most)
        parts.append(part)
    return b"".join(parts)


def _validated(body: bytes, schema: type[Body]) -> Body:
    body = body.removeprefix(_BYTE_ORDER_MARK)
    limit_json_values(body)
    return schema.model_validate(_loaded(body))


def _loaded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # The other parser takes four times as long, but says in which byte the text breaks off.
        try:
            return from_json(body)
        except ValueError as error:
            _refuse(body, str(error))


def _refuse(body: bytes, reason: str) -> NoReturn:
    """Say where in the book the JSON text breaks off, and why."""
    field, status = _field_before(body, reason), 400
    if not body.strip():
        remedy = 'Send a JSON object, as {"text": "…"}.'
    elif "unicode code point" in reason:
        remedy = "Encode the body as UTF-8."
    elif "surrogate" in reason or "hex escape" in reason:
        # The grammar of JSON allows half a surrogate pair; no Unicode text can hold one.
        remedy, status = (
            "Send \\u escapes of surrogates in pairs only, or the character itself as UTF-8.",
            422,
        )
    elif "recursion" in reason:
        remedy = "Send fewer brackets inside each other; a book needs three."
    elif "number out of range" in reason:
        remedy = "Send a number that fits into 32 bits."
    else:
        remedy = "Send one well-formed JSON value in UTF-8."
    raise UnparsableJson(f"The JSON text cannot be read: {reason}.", field, remedy, status)


def _field_before(body: bytes, reason: str) -> str:
    """The field in which the parser stopped; `body` where it stopped outside of any."""
    found = re.search(r"line (\d+) column (\d+)", reason)
    if found is None:
        return "body"
    line, column = int(found[1]), int(found[2])
    if line > _MOST_LINES:
        return "body"
    end = 0
    for _ in range(line - 1):
        end = body.find(b"\n", end) + 1
    end += column
    # A name inside a string has its quotes escaped, so what is found is the name of a field.
    begun = {}
    for field in _FIELDS:
        name = f'"{field}"'.encode()
        at = body.rfind(name, 0, end)
        if at >= 0 and _COLON.match(body, at + len(name)):
            begun[at] = field
    return begun[max(begun)] if begun else "body"
