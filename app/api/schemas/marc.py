"""MARC records in bodies: checked, and what they say of a book."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.api.schemas import examples
from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import InvalidRecord

MOST_VALUES = 50_000
"""Values of a record in JSON: about seven for each of its fields."""

MOST_CHARACTERS = 300_000
"""Characters of all its values together: three times what its binary form can hold."""

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
    if _is_too_large(document):
        raise PydanticCustomError(
            "marc_record",
            "The record is refused: {reason}",
            {"reason": f"it has over {MOST_VALUES:,} values, or over {MOST_CHARACTERS:,} characters"},
        )
    try:
        forms.of_document(document)
    except InvalidRecord as exc:
        raise PydanticCustomError(
            "marc_record", "The record is refused: {reason}", {"reason": str(exc)}
        ) from exc
    return document


def _is_too_large(document: dict[str, Any]) -> bool:
    left: list[Any] = [document]
    values = characters = 0
    while left and values <= MOST_VALUES and characters <= MOST_CHARACTERS:
        value = left.pop()
        values += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, list | dict):
            left.extend(value.values() if isinstance(value, dict) else value)
    return values > MOST_VALUES or characters > MOST_CHARACTERS


MarcInJson = Annotated[dict[str, Any], AfterValidator(_checked), WithJsonSchema(_SCHEMA)]
"""A record as MARC-in-JSON."""


def stated(document: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of the metadata that a record gives, by name."""
    if document is None:
        return {}
    fields = asdict(metadata_of(forms.of_document(document)))
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {name: value for name, value in listed.items() if value not in (None, [])}
