"""The types of the client's answers: generated from the document that the service publishes."""

import pytest

from app.main import create_app
from app.settings import Settings
from tools.client_types import FILE, Types, module


def test_the_types_of_answers_are_those_of_the_document() -> None:
    document = create_app(Settings()).openapi()
    assert FILE.read_text(encoding="utf-8") == module(document), "run `python -m tools.client_types`"


def test_each_kind_of_schema_has_its_type() -> None:
    types = Types({("a", "b"): "Letter"})
    schema = {
        "description": "An answer.\n\nMore of it.",
        "properties": {
            "letter": {"type": "string", "enum": ["a", "b"]},
            "word": {"type": "string", "enum": ["one", "two"]},
            "other": {"anyOf": [{"$ref": "#/components/schemas/Other"}, {"type": "null"}]},
            "places": {"type": "array", "items": {"prefixItems": [{"type": "integer"}] * 2, "type": "array"}},
            "shares": {"type": "object", "additionalProperties": {"type": "number"}},
            "data": {"type": "object", "additionalProperties": True},
            "anything": {},
        },
        "required": ["letter", "word", "other", "places", "shares", "data"],
    }
    assert types.typed_dict("Answer", schema).splitlines() == [
        "class Answer(TypedDict):",
        '    """An answer."""',
        "",
        "    letter: Letter",
        "    word: Literal['one', 'two']",
        "    other: Other | None",
        "    places: list[list[int]]",
        "    shares: dict[str, float]",
        "    data: dict[str, Any]",
        "    anything: NotRequired[Any]",
    ]
    with pytest.raises(ValueError, match="is not a field name"):
        types.typed_dict("Linked", schema | {"properties": {"@context": {}}})
