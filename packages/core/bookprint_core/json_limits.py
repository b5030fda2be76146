"""A limit on the number of JSON values in a text, counted before they are built.

A parsed JSON value takes up to 100 times the bytes that it was sent in. So a body of empty lists within the
byte limit could still take gigabytes. No honest body comes near the limits on values.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np

MAX_CONTAINERS = 200_000
"""Lists and objects of one body, and names in its objects."""

MAX_VALUES = 1_200_000
"""Values of one body."""

_ESCAPE = re.compile(rb"\\.", re.DOTALL)

_PART = 1 << 18  # bytes that are looked at in one go: no other thread runs meanwhile


def exceeds_json_limits(body: bytes, most_containers: int = MAX_CONTAINERS) -> bool:
    """Whether the JSON text has more lists, objects, names or values than any book needs."""
    # A short body has no room for so many, and only one with many brackets pays for leaving out those that
    # stand inside strings.
    if len(body) <= most_containers:
        return False
    parts = (body[start : start + _PART] for start in range(0, len(body), _PART))
    return _has_too_many(parts, most_containers) and _has_too_many(_outside_strings(body), most_containers)


def _has_too_many(parts: Iterable[bytes], most: int) -> bool:
    containers = names = values = 0
    for part in parts:
        data = np.frombuffer(part, np.uint8)  # to count in bytes takes five times as long
        lists, objects, colons, commas = (int(np.count_nonzero(data == sign)) for sign in b"[{:,")
        containers += lists + objects
        names += colons
        values += commas
        if containers > most or names > most or values > MAX_VALUES:
            return True
    return False


def _outside_strings(body: bytes) -> Iterator[bytes]:
    """What stands between the strings of a JSON text, in its order."""
    start = inside = 0
    while start < len(body):
        part = body[start : start + _PART]
        if (len(part) - len(part.rstrip(b"\\"))) % 2:  # a backslash and the letter behind it stay together
            part = body[start : start + len(part) + 1]
        start += len(part)
        pieces = _ESCAPE.sub(b"", part).split(b'"')
        yield b"".join(pieces[inside::2])
        inside = (inside + len(pieces) - 1) % 2
