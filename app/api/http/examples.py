"""Examples of every body and answer for the documentation, from examples.json.

A value named like a schema is the example of that schema; a body can be sent unchanged. "$NAME" stands for
an earlier value of that name. "<<" adds the fields of a value to an object.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def add_to(schemas: dict[str, Any]) -> None:
    """Add its example to each schema of an OpenAPI document."""
    for name, value in _VALUES.items():
        if not name.isupper():
            schemas[name]["example"] = value


def _filled_in(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return known[value[1:]]
    if isinstance(value, list):
        return [_filled_in(item, known) for item in value]
    if isinstance(value, dict):
        own = {name: _filled_in(item, known) for name, item in value.items()}
        return own.pop("<<", {}) | own
    return value


def _read() -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in json.loads(files(__package__).joinpath("examples.json").read_bytes()).items():
        values[name] = _filled_in(value, values)
    return values


_VALUES = _read()


def __getattr__(name: str) -> Any:
    """Return the value of this name, as in `examples.BOOK_ID`."""
    try:
        return _VALUES[name]
    except KeyError:
        raise AttributeError(name) from None
