"""MARC records in bodies: checked, and what they say of a book."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.api.schemas import examples
from app.catalog.marc import marcjson
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import InvalidRecord

_SCHEMA = {
    "type": "object",
    "required": ["leader", "fields"],
    "properties": {
        "leader": {"type": "string", "pattern": "^[ -~]{24}$"},
        "fields": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "minProperties": 1, "maxProperties": 1},
        },
    },
    "additionalProperties": False,
    "example": examples.MARC,
}


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    try:
        marcjson.of_document(document)
    except InvalidRecord as exc:
        raise PydanticCustomError(
            "marc_record", "The record is refused: {reason}", {"reason": str(exc)}
        ) from exc
    return document


MarcInJson = Annotated[dict[str, Any], AfterValidator(_checked), WithJsonSchema(_SCHEMA)]
"""A record as MARC-in-JSON."""


def stated(document: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of the metadata that a record gives, by name."""
    if document is None:
        return {}
    fields = asdict(metadata_of(marcjson.of_document(document)))
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {name: value for name, value in listed.items() if value not in (None, [])}
