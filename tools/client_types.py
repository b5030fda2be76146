"""Write the client's answer types from the OpenAPI document: `python -m tools.client_types`.

Every schema that an answer under /v1 references becomes a TypedDict of the same name.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

from app.main import create_app
from app.settings import Settings

FILE = Path(__file__).parents[1] / "packages" / "client" / "bookprint_client" / "answers.py"
NAMED = {
    "Action": ("AuditAnswer", "action"),
    "ChangeType": ("ChangeAnswer", "type"),
    "Kind": ("FindingAnswer", "kind"),
}
"""Enumerations with names, each with a schema and field that contains it."""

_HEAD = '''"""The answers of the service as types; their fields are explained at /docs.

Generated from the OpenAPI document by `python -m tools.client_types`: do not edit.
"""

from __future__ import annotations

from typing import {names}
'''
_TYPING = ("Any", "Literal", "NotRequired", "TypedDict")
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_SCHEMA_PATH = "#/components/schemas/"


def module(document: dict[str, Any]) -> str:
    """Return the source of the types' module; raises ValueError for a schema that has no type."""
    schemas = document["components"]["schemas"]
    types = Types(
        {tuple(schemas[owner]["properties"][field]["enum"]): name for name, (owner, field) in NAMED.items()}
    )
    parts = [f"{name} = {_literal(values)}" for values, name in types.named.items()]
    parts += [types.typed_dict(name, schemas[name]) for name in sorted(_reached(document))]
    source = "\n\n".join(parts)
    names = ", ".join(name for name in _TYPING if re.search(rf"\b{name}\b", source))
    return _formatted(f"{_HEAD.format(names=names)}\n{source}\n")


class Types:
    """Converter of schemas to Python types; `named` maps the values of enumerations to names."""

    def __init__(self, named: dict[tuple[str, ...], str]) -> None:
        self.named = named

    def typed_dict(self, name: str, schema: dict[str, Any]) -> str:
        """Return the class for a schema with properties."""
        summary = schema["description"].partition("\n\n")[0].replace("\n", " ")
        fields = {}
        for field, of_field in schema["properties"].items():
            if not field.isidentifier():
                raise ValueError(f"{name}.{field} is not a field name.")
            hint = self.hint(of_field)
            if field not in schema.get("required", ()):
                hint = f"NotRequired[{hint}]"
            fields[field] = hint
        if any(map(iskeyword, fields)):
            hints = ", ".join(f"{field!r}: {hint!r}" for field, hint in fields.items())
            return f'{name} = TypedDict({name!r}, {{{hints}}})\n"""{summary}"""'
        lines = [f"class {name}(TypedDict):", f'    """{summary}"""', ""]
        return "\n".join([*lines, *(f"    {field}: {hint}" for field, hint in fields.items())])

    def hint(self, schema: dict[str, Any]) -> str:
        """Return the type of a value."""
        if "$ref" in schema:
            return str(schema["$ref"]).removeprefix(_SCHEMA_PATH)
        if "anyOf" in schema:
            return self._union(schema["anyOf"])
        if "enum" in schema:
            return self.named.get(tuple(schema["enum"])) or _literal(schema["enum"])
        if "const" in schema:
            return _literal([schema["const"]])
        match schema.get("type"):
            case None:
                return "Any"
            case "array":
                items = schema.get("prefixItems") or [schema.get("items", {})]
                return f"list[{self._union(items)}]"
            case "object":
                values = schema.get("additionalProperties", True)
                return f"dict[str, {self.hint(values) if isinstance(values, dict) else 'Any'}]"
            case scalar:
                return _SCALARS[scalar]

    def _union(self, schemas: Iterable[dict[str, Any]]) -> str:
        return " | ".join(dict.fromkeys(self.hint(schema) for schema in schemas))


def _literal(values: Iterable[Any]) -> str:
    return f"Literal[{', '.join(map(repr, values))}]"


def _reached(document: dict[str, Any]) -> set[str]:
    """Return the names of the schemas that answers under /v1 reference, directly or indirectly."""
    reached: set[str] = set()
    waiting = [
        name
        for path, operations in document["paths"].items()
        if path.startswith("/v1/")
        for operation in operations.values()
        for status, response in operation["responses"].items()
        if status.startswith("2")
        for name in _references(response)
    ]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(document["components"]["schemas"][name])
    return reached


def _references(value: Any) -> Iterator[str]:
    """Yield the names of all schemas that a part of the document references."""
    if isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str) and reference.startswith(_SCHEMA_PATH):
            yield reference.removeprefix(_SCHEMA_PATH)
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    FILE.write_text(module(create_app(Settings()).openapi()), encoding="utf-8")
    print(f"Wrote {FILE.name}.")
