"""Files that clients send as multipart/form-data: spooled to disk, then read in a process of their own.

A path that takes JSON takes files, too: `FileRoute` answers requests of this media type and leaves the others
to the next route of the path.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO, cast

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from app.api.http.access import ScopedRoute
from app.api.http.bodies import (
    BodyTooLarge,
    BoundedRequest,
    UnparsableJson,
    media_type,
    parsed,
    require_uncompressed,
    validated,
)
from app.api.http.records import as_bytes, record_changes, sent_record
from app.api.http.transport.admission import Overloaded
from app.api.http.transport.pace import BodyTooSlow
from app.api.http.usage import LimitReached
from app.api.schemas.books import MetadataBody
from app.catalog.marc.marcjson import is_marc
from app.core.errors import FileTooLarge
from app.core.model import CatalogRecord, Submission
from app.services.reading import FileReading

MEDIA_TYPE = "multipart/form-data"

_FILE, _METADATA = "file", "metadata"

_MOST_PARTS = 20
"""Parts of each kind that are looked at, so that those too many can be named."""

_METADATA_BYTES = 1 << 20

_LONGEST_NAME = 200
"""Characters of a file's name that are shown."""

REQUEST_BODY: dict[str, Any] = {
    "schema": {
        "type": "object",
        "required": [_FILE],
        "properties": {
            _FILE: {
                "type": "string",
                "format": "binary",
                "description": "The file of one book. Its format is found from its content.",
            },
            _METADATA: {
                "allOf": [{"$ref": f"#/components/schemas/{MetadataBody.__name__}"}],
                "description": "What outranks the metadata in the file, field by field: JSON, or a MARC 21 "
                "record as application/marc, application/marcxml+xml or application/marc-in-json.",
                # What stands here is sent with each file that is tried on the page of the API.
                "example": {},
            },
        },
        "additionalProperties": False,
    },
    "encoding": {_METADATA: {"contentType": "application/json"}},
}
"""The body as the OpenAPI document of an operation describes it."""


class UnparsableForm(HTTPException):
    """The body is not well-formed multipart/form-data."""

    problem = "unparsable"

    def __init__(self, detail: str) -> None:
        super().__init__(400, detail)


@dataclass(slots=True)
class SpooledBytes:
    """The bytes of all bodies with files, which lie in the folder for temporary files until they are read."""

    most: int
    now: int = 0


class FileRequest(BoundedRequest):
    """A request with a file."""

    _spooled = 0  # bytes

    @property
    def max_bytes(self) -> int:
        """Bytes that the body may have."""
        return int(self.app.state.max_file_bytes)

    def too_large(self) -> FileTooLarge:
        """The error for a body of more bytes."""
        return FileTooLarge(
            f"The file is larger than {self.max_bytes:,} bytes. Split it into its parts, or have "
            "BOOKPRINT_MAX_FILE_BYTES raised."
        )

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The parts of the body; raises Overloaded where others' files take the room, and as above."""
        all_spooled: SpooledBytes = self.app.state.spooled
        async for part in super().stream():
            if all_spooled.now + len(part) > all_spooled.most:
                raise Overloaded("The files of requests take all the room on the disk that they may.")
            all_spooled.now += len(part)
            self._spooled += len(part)
            yield part

    async def close(self) -> None:
        """Delete the files."""
        await super().close()
        self.app.state.spooled.now -= self._spooled
        self._spooled = 0


class FileRoute(ScopedRoute):
    """A route for multipart/form-data alone."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """No match for requests of other media types."""
        match, child_scope = super().matches(scope)
        if match is Match.FULL and media_type(Headers(scope=scope)) != MEDIA_TYPE:
            return Match.NONE, {}
        return match, child_scope

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, for a request of bounded size."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            require_uncompressed(request.headers)
            return await handler(FileRequest(request.scope, request.receive))

        return handle


async def sent_file(request: FileRequest) -> Submission:
    """The book in the part `file`, with the metadata in the part `metadata`, where there is one.

    Raises RequestValidationError for other parts than these, and the kinds of UnusableFile.
    """
    try:
        form = await _form(request)
        _check_parts(form)
        changes = await _changes(form.get(_METADATA))
        upload = cast(UploadFile, form[_FILE])
        descriptor = await asyncio.to_thread(_descriptor, upload.file)
        reading: FileReading = request.app.state.reading
        record: CatalogRecord | None = changes.pop("record", None)
        return await reading.read(descriptor, _shown(upload.filename), changes, record)
    finally:
        await request.close()


SentFileDep = Annotated[Submission, Depends(sent_file)]


async def _form(request: FileRequest) -> FormData:
    try:
        return await request.form(
            max_files=_MOST_PARTS, max_fields=_MOST_PARTS, max_part_size=_METADATA_BYTES
        )
    except (BodyTooLarge, BodyTooSlow, LimitReached, Overloaded):
        raise
    except HTTPException as exc:
        raise UnparsableForm(str(exc.detail)) from exc


def _check_parts(form: FormData) -> None:
    """Raise RequestValidationError that names the parts that are unknown, repeated or missing."""
    counts = Counter(name for name, _ in form.multi_items())
    errors: list[dict[str, Any]] = []
    for name, count in counts.items():
        if name not in {_FILE, _METADATA}:
            errors.append(_error(name, "extra_forbidden", "This part is not known"))
        elif count > 1:
            errors.append(_error(name, "repeated_part", f"This part was sent {count} times"))
    if _FILE not in counts:
        errors.append(_error(_FILE, "missing_file", "No file was sent"))
    elif not isinstance(form[_FILE], UploadFile):
        errors.append(_error(_FILE, "missing_file", "The part has no filename"))
    if errors:
        raise RequestValidationError(errors)


def _error(part: str, kind: str, message: str) -> dict[str, Any]:
    return {"type": kind, "loc": ("body", part), "msg": message}


async def _changes(part: UploadFile | str | None) -> dict[str, Any]:
    """The fields of the metadata that were sent, as `Metadata` has them, and the `record` if one was."""
    if part is None:
        return {}
    declared = ""
    if isinstance(part, str):
        data = as_bytes(part)
    else:
        declared = part.content_type or ""
        data = await part.read(_METADATA_BYTES + 1)
    if len(data) > _METADATA_BYTES:
        raise FileTooLarge(f"The metadata are larger than {_METADATA_BYTES:,} bytes. Send fewer.", _METADATA)
    if (record := sent_record(data, declared)) is not None:
        changes = await asyncio.to_thread(record_changes, record, _METADATA)
    else:
        changes = await asyncio.to_thread(_json_changes, data)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()}


def _json_changes(data: bytes) -> dict[str, object]:
    try:
        value = parsed(data)
    except UnparsableJson as exc:
        raise UnparsableJson(exc.detail, exc.remedy, 422, _METADATA) from exc
    if is_marc(value):
        return record_changes(CatalogRecord("marc-json", data), _METADATA)
    return validated(MetadataBody, value, _METADATA).to_changes()


def _descriptor(spool: BinaryIO) -> int:
    """The descriptor of a spooled file, all of which is on disk from now on."""
    spool.flush()
    return spool.fileno()


def _shown(filename: str | None) -> str:
    """The name of a file without its folder."""
    name = PurePath((filename or "").replace("\\", "/")).name
    return "".join(filter(str.isprintable, name))[:_LONGEST_NAME].strip() or "The file"
