"""A limit on the number of JSON values in a text, counted before they are built.

A parsed JSON value takes up to 100 times the bytes that it was sent in. So a body of empty lists within the
byte limit could still take gigabytes. No honest body comes near the limits on values.
"""

import re

MAX_PAGES = 100_000
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
