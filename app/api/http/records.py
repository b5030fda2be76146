"""The part `metadata` of a form where it is a MARC record, told by its media type or by its shape."""

import re
from typing import Any

from fastapi.exceptions import RequestValidationError

from app.api.http.bodies import validated
from app.api.schemas.books import MetadataBody
from app.catalog.marc import forms
from app.catalog.marc.record import InvalidRecord
from app.core.model import CatalogRecord, RecordFormat

_FORMATS: dict[str, RecordFormat] = {
    "application/marc": "marc",
    "application/marcxml+xml": "marcxml",
    "application/marc-in-json": "marc-json",
}
_BINARY = re.compile(rb"\s*\d{5}")


def sent_record(data: bytes, declared: str) -> CatalogRecord | None:
    """The record in the part; None where it is the JSON of a body.

    A part without a filename comes without its type, and is told by its first bytes.
    """
    declared = declared.partition(";")[0].strip().lower()
    if declared in _FORMATS:
        return CatalogRecord(_FORMATS[declared], data)
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head == b"<" or _BINARY.match(data):
        return CatalogRecord(forms.format_of(data), data)
    return None


def record_changes(record: CatalogRecord, place: str) -> dict[str, Any]:
    """The fields that a record gives, as `MetadataBody.to_changes` has them, and itself as `record`.

    Raises RequestValidationError.
    """
    try:
        document = forms.to_document(forms.single(record))
    except InvalidRecord as exc:
        error = {"type": "marc_record", "loc": ("body", place), "msg": str(exc)}
        raise RequestValidationError([error]) from exc
    return validated(MetadataBody, {"marc": document}, place).to_changes() | {"record": record}


def as_bytes(text: str) -> bytes:
    """The bytes of a part that came as text: Starlette reads it as UTF-8, or as Latin-1 where it is not.

    A binary record in Latin-1 has as many characters as its leader says bytes.
    """
    latin = text.encode("latin-1", "ignore")
    counted = re.match(r"\d{5}", text) is not None and int(text[:5]) == len(text) == len(latin)
    return latin if counted and not _is_utf8(latin) else text.encode("utf-8", "surrogatepass")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
