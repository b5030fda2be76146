"""Values that the documentation shows, from examples.json; those of requests work as they stand.

In the file "$NAME" stands for the value of that name, which comes before it, and "<<" for the fields of such
a value, beside those of the object itself.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def named(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Examples of a body by their summaries, as OpenAPI takes them."""
    return {
        summary.lower().replace(" ", "-"): {"summary": summary, "value": value}
        for summary, value in values.items()
    }


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
    """The value of this name, as `examples.BOOK`."""
    try:
        return _VALUES[name]
    except KeyError:
        raise AttributeError(name) from None
