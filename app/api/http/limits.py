"""Limits of what a request may hold.

A parsed JSON value takes up to 100 times the bytes that it was sent in, so a body of empty lists within the
byte limit could still take gigabytes. No honest body comes near the limits on values.
"""

import re

MAX_TITLE = 10_000
MAX_AUTHORS = 1_000
MAX_AUTHOR = 1_000
MAX_PAGES = 100_000
MAX_LANGUAGE = 35
MAX_VOLUME = 1_000
MAX_EXTERNAL_ID = 500
MAX_IDENTIFIERS = 1_000
MAX_IDENTIFIER = 300
MAX_CURSOR = 200
MAX_D = 128
MAX_K = 1_000
MAX_WAIT = 60
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
MAX_COUNT = (1 << 31) - 1
MIN_YEAR, MAX_YEAR = -(1 << 31), (1 << 31) - 1

MAX_CONTAINERS = 200_000
"""Lists and objects of one body, and names in its objects."""

MAX_VALUES = 1_200_000
"""Values of one body."""

# An unterminated string runs to the end, so the scan is linear for any body.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def exceeds_json_limits(body: bytes) -> bool:
    """Whether the JSON text has more lists, objects, names or values than any book needs."""
    # Only a body with many brackets pays for leaving out those that stand inside strings.
    return _has_too_many(body) and _has_too_many(_STRING.sub(b"", body, count=MAX_VALUES + MAX_CONTAINERS))


def _has_too_many(body: bytes) -> bool:
    return (
        body.count(b"[") + body.count(b"{") > MAX_CONTAINERS
        or body.count(b":") > MAX_CONTAINERS
        or (len(body) > MAX_VALUES and body.count(b",") > MAX_VALUES)
    )
