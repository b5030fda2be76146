"""What a request may weigh, and how many JSON values a body may have before they are built.

A parsed JSON value takes up to 100 times the bytes that it was sent in, so a body of empty lists within the
byte limit could still take gigabytes. No honest body comes near the limits on values.
"""

import re

from app.core.errors import InvalidInput

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
MIN_YEAR, MAX_YEAR = -(1 << 31), (1 << 31) - 1

_MAX_CONTAINERS = 200_000
_MAX_NAMES = 200_000
_MAX_VALUES = 1_200_000

# An unterminated string runs to the end, so the scan is linear whatever the body.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def limit_json_values(body: bytes) -> None:
    """Raise InvalidInput where the JSON text has more lists, objects, names or values than any book needs."""
    if not _swarms(body):
        return
    # What stands inside strings does not count; only bodies that look suspicious pay for telling it apart.
    if _swarms(_STRING.sub(b"", body, count=_MAX_VALUES + _MAX_NAMES)):
        raise InvalidInput(
            f"The body has over {_MAX_VALUES:,} values, or over {_MAX_CONTAINERS:,} lists, objects or names. "
            f"Send one book at a time, with at most {MAX_PAGES:,} pages, each of them one string.",
            field="body",
        )


def _swarms(body: bytes) -> bool:
    return (
        body.count(b"[") + body.count(b"{") > _MAX_CONTAINERS
        or body.count(b":") > _MAX_NAMES
        or (len(body) > _MAX_VALUES and body.count(b",") > _MAX_VALUES)
    )
