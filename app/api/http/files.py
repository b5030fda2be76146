"""Files sent as multipart/form-data: spooled to disk, then read in a separate process."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO, cast

import orjson
from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from app.api.http.bodies import BodyRequest, UnparsableJson, parsed, validated
from app.api.http.problems import RequestRefusal
from app.api.schemas.submissions import MetadataBody
from app.catalog.marc import forms
from app.catalog.marc.forms import is_marc
from app.catalog.marc.record import InvalidRecord
from app.catalog.marc.values import is_utf8
from app.services.books import FileReading
from bookprint_core.errors import FileTooLarge
from bookprint_core.metadata import FIELDS, MetadataField
from bookprint_core.model import CatalogRecord, RecordFormat, Submission

_FORMATS: dict[str, RecordFormat] = {
    "application/marc": "marc",
    "application/marcxml+xml": "marcxml",
    "application/marc-in-json": "marc-json",
}
_BINARY = re.compile(rb"\s*\d{5}")


def sent_record(data: bytes, declared: str) -> CatalogRecord | None:
    """Return the MARC record in the part; None if the part is the JSON of a body.

    The type of a part without a filename is unknown; its first bytes decide.
    """
    declared = declared.partition(";")[0].strip().lower()
    if declared in _FORMATS:
        return CatalogRecord(_FORMATS[declared], data)
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head == b"<" or _BINARY.match(data):
        return CatalogRecord(forms.format_of(data), data)
    return None


def record_changes(record: CatalogRecord, place: str) -> dict[str, Any]:
    """Return the fields of a record as `MetadataBody.to_changes` does, and the record as `record`.

    Raises RequestValidationError.
    """
    try:
        document = forms.to_document(forms.single(record))
    except InvalidRecord as exc:
        error = {"type": "marc_record", "loc": ("body", place), "msg": str(exc)}
        raise RequestValidationError([error]) from exc
    return validated(MetadataBody, {"marc": document}, place).to_changes() | {"record": record}


def as_bytes(text: str) -> bytes:
    """Return the bytes of a part that Starlette decoded as UTF-8 or, if invalid, as Latin-1.

    A binary record decoded as Latin-1 has as many characters as its leader declares bytes.
    """
    latin = text.encode("latin-1", "ignore")
    counted = re.match(r"\d{5}", text) is not None and int(text[:5]) == len(text) == len(latin)
    return latin if counted and not is_utf8(latin) else text.encode("utf-8", "surrogatepass")


_FILE, _METADATA = "file", "metadata"

_MOST_PARTS = 20
"""Maximum number of parts of each kind that are read, enough to name superfluous ones in an error."""

_METADATA_BYTES = 1 << 20

_NUMBER = re.compile(r"-?[0-9]{1,9}")

_LONGEST_NAME = 200
"""Maximum number of characters of a file name in a message."""

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
                "description": "Metadata that replace those in the file, field by field: JSON, or a MARC 21 "
                "record as application/marc, application/marcxml+xml or application/marc-in-json.",
                # The page of the API sends this example with each file, so it must be empty.
                "example": {},
            },
        },
        "additionalProperties": False,
    },
    "encoding": {_METADATA: {"contentType": "application/json"}},
}
"""OpenAPI description of the body."""


class UnparsableForm(RequestRefusal):
    """The body is not valid multipart/form-data."""

    problem = "unparsable"
    status = 400
    title = "The body cannot be read as multipart/form-data"
    remedy = (
        "Send the book as a part `file` with a filename, as curl does with -F file=@book.epub, and metadata "
        "of at most 1 MiB."
    )


async def sent_file(request: BodyRequest) -> Submission:
    """Read the book in the part `file`, and metadata from the optional part `metadata`.

    Raises RequestValidationError for other parts, and subclasses of UnusableFile.
    """
    try:
        form = await _form(request)
        _check_parts(form)
        changes = await stated_changes(form.get(_METADATA))
        upload = cast(UploadFile, form[_FILE])
        descriptor = await asyncio.to_thread(spooled, upload.file)
        reading: FileReading = request.app.state.reading
        record: CatalogRecord | None = changes.pop("record", None)
        return await reading.read(descriptor, shown_name(upload.filename), changes, record)
    finally:
        await request.close()


SentFileDep = Annotated[Submission, Depends(sent_file)]


async def _form(request: BodyRequest) -> FormData:
    try:
        return await request.form(
            max_files=_MOST_PARTS, max_fields=_MOST_PARTS, max_part_size=_METADATA_BYTES
        )
    except HTTPException as exc:
        raise UnparsableForm(str(exc.detail)) from exc


def _check_parts(form: FormData) -> None:
    """Raise RequestValidationError for unknown, repeated or missing parts."""
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


async def stated_changes(part: UploadFile | str | None) -> dict[str, Any]:
    """Return the metadata fields that were sent, and `record` if a MARC record was sent."""
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


def _filled_in(field: MetadataField, text: str) -> object:
    """Return the value of a form field from the text entered there."""
    if field.kind is tuple:
        return [line.strip() for line in text.splitlines() if line.strip()]
    return int(text) if field.kind is int and _NUMBER.fullmatch(text) else text


async def changes_in_form(form: FormData) -> tuple[dict[str, Any], CatalogRecord | None]:
    """Return the metadata in a form, and its optional part `record`; the form's fields replace the record's.

    Authors and identifiers are entered one per line. Raises RequestValidationError.
    """
    texts = {name: text.strip() for name, text in form.items() if isinstance(text, str)}
    fields = {each.name: _filled_in(each, text) for each in FIELDS if (text := texts.get(each.name))}
    known = await stated_changes(orjson.dumps(fields).decode())
    sent = form.get("record")
    said = await stated_changes(sent) if isinstance(sent, UploadFile) and sent.filename else {}
    record: CatalogRecord | None = said.pop("record", None)
    return said | known, record and replace(record, changed=tuple(known))


def _json_changes(data: bytes) -> dict[str, object]:
    try:
        value = parsed(data)
    except UnparsableJson as exc:
        raise UnparsableJson(str(exc), exc.remedy, 422, _METADATA) from exc
    if is_marc(value):
        return record_changes(CatalogRecord("marc-json", data), _METADATA)
    return validated(MetadataBody, value, _METADATA).to_changes()


def spooled(spool: BinaryIO) -> int:
    """Write a spooled file to disk completely, and return its descriptor."""
    spool.flush()
    return spool.fileno()


def shown_name(filename: str | None) -> str:
    """Return a file name without its folder, printable and shortened."""
    name = PurePath((filename or "").replace("\\", "/")).name
    return "".join(filter(str.isprintable, name))[:_LONGEST_NAME].strip() or "The file"
