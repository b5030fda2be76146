"""Limits on the number of JSON values in a text, checked before the text is parsed.

A parsed JSON value may need 100 times its bytes in the text, so empty lists within the byte limit could need
gigabytes. No honest body has nearly so many values.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np

MAX_CONTAINERS = 200_000
"""Maximum number of lists and objects of one body, and of names in its objects."""

MAX_VALUES = 1_200_000
"""Maximum number of values of one body."""

_ESCAPE = re.compile(rb"\\.", re.DOTALL)

_PART = 1 << 18  # bytes counted at once; no other thread runs meanwhile


def exceeds_json_limits(body: bytes, most_containers: int = MAX_CONTAINERS) -> bool:
    """Return whether the JSON text has more lists, objects, names or values than any book needs."""
    # Strings are left out only if the first count, which includes their brackets, exceeds a limit.
    if len(body) <= most_containers:
        return False
    parts = (body[start : start + _PART] for start in range(0, len(body), _PART))
    return _has_too_many(parts, most_containers) and _has_too_many(_outside_strings(body), most_containers)


def _has_too_many(parts: Iterable[bytes], most: int) -> bool:
    containers = names = values = 0
    for part in parts:
        data = np.frombuffer(part, np.uint8)  # bytes.count takes five times as long
        lists, objects, colons, commas = (int(np.count_nonzero(data == sign)) for sign in b"[{:,")
        containers += lists + objects
        names += colons
        values += commas
        if containers > most or names > most or values > MAX_VALUES:
            return True
    return False


def _outside_strings(body: bytes) -> Iterator[bytes]:
    """Yield the parts of a JSON text outside its strings, in order."""
    start = inside = 0
    while start < len(body):
        part = body[start : start + _PART]
        if (len(part) - len(part.rstrip(b"\\"))) % 2:  # keeps a backslash and the next byte together
            part = body[start : start + len(part) + 1]
        start += len(part)
        pieces = _ESCAPE.sub(b"", part).split(b'"')
        yield b"".join(pieces[inside::2])
        inside = (inside + len(pieces) - 1) % 2
