"""Values that a reading child sends: JSON with the name of a type, rebuilt as values of that type.

A malicious file may control the child, so its messages are read only as plain values.
"""

import json
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import orjson
from numpy.typing import NDArray

from bookprint_core.errors import InvalidInput
from bookprint_core.json_limits import exceeds_json_limits
from bookprint_core.model import Sketch
from bookprint_core.signatures import json_codec

_SCALARS = (str, int, bool, NoneType)


def to_json(value: object) -> bytes:
    """Return a value with the name of its type. Half surrogate pairs in texts become question marks."""
    named = {type(value).__name__: value}
    try:
        return orjson.dumps(named, default=_plain, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except orjson.JSONEncodeError:
        return json.dumps(named, default=_plain, ensure_ascii=False).encode(errors="replace")


def from_json(data: bytes, kinds: Sequence[type]) -> Any:
    """Return the value, which has one of these types. Raises ValueError for any other data."""
    if exceeds_json_limits(data):
        raise ValueError("too many values")
    try:
        [(name, value)] = orjson.loads(data).items()
        return _built({kind.__name__: kind for kind in kinds}[name], value)
    except (AttributeError, KeyError, TypeError, InvalidInput) as exc:
        raise ValueError(f"none of the types that were asked for: {exc}") from exc


def _plain(value: Any) -> object:
    match value:
        case Sketch():
            return json_codec.encode(value)
        case bytes():
            return b64encode(value).decode()
        case np.ndarray():
            return b64encode(value.tobytes()).decode()
        case InvalidInput():
            return str(value)
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    raise TypeError


def _built(kind: Any, value: Any) -> Any:
    """Build a value of type `kind`. Raises KeyError, TypeError, ValueError and InvalidInput."""
    if kind in _SCALARS and type(value) is kind:
        return value
    if kind is bytes:
        return a2b_base64(value, strict_mode=True)
    if kind is Sketch:
        return json_codec.decode(value)
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{name: _built(types[name], part) for name, part in value.items()})
    if isinstance(kind, type) and issubclass(kind, InvalidInput):
        return kind(_built(str, value))
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal and type(value) is str and value in inner:
        return value
    if origin in (Union, UnionType):  # only unions with None
        return None if value is None else _built(inner[0], value)
    if origin in (tuple, Sequence) and type(value) is list:
        parts = [_built(inner[0], part) for part in value]
        return tuple(parts) if origin is tuple else parts
    if kind == NDArray[np.uint8]:
        return np.frombuffer(a2b_base64(value, strict_mode=True), np.uint8)
    raise TypeError(f"{kind} was expected")


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
