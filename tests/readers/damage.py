"""Damage as files meet it on their way, and as an attacker makes it; seeded, so that each can be repeated."""

import random
from collections.abc import Callable

_TOKENS = (
    b"<", b">", b"</", b"/>", b"&", b"&#0;", b"&#x110000;", b"]]>", b"<![CDATA[", b"<!--", b"<!DOCTYPE x [",
    b"PK\x03\x04", b"PK\x01\x02", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"%PDF-", b"endobj", b"stream\n",
    b"\x0c", b"\xc0\x80", b"\xed\xa0\x80", b"9" * 30, b"-1", b"../../", b"\x1f\x8b", b"<pb/>", b"<page",
)  # fmt: skip


def truncated(data: bytes, draw: random.Random) -> bytes:
    """The file up to a random place, as after a broken transfer."""
    return data[: draw.randrange(len(data))]


def flipped(data: bytes, draw: random.Random) -> bytes:
    """The file with up to forty random bytes changed."""
    damaged = bytearray(data)
    for _ in range(draw.randint(1, 40)):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def spliced(data: bytes, draw: random.Random) -> bytes:
    """The file with parts of it repeated, left out, and with the marks of formats put in between."""
    damaged = data
    for _ in range(draw.randint(1, 6)):
        start = draw.randrange(len(damaged) + 1)
        end = min(start + draw.randint(0, 200), len(damaged))
        insert = draw.choice((b"", damaged[start:end] * 2, draw.choice(_TOKENS)))
        damaged = damaged[:start] + insert + damaged[end:]
    return damaged or b"\0"


def zeroed(data: bytes, draw: random.Random) -> bytes:
    """The file with a stretch of zeros, as a bad disk leaves it."""
    start = draw.randrange(len(data))
    end = min(start + draw.randint(1, 4096), len(data))
    return data[:start] + bytes(end - start) + data[end:]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (truncated, flipped, spliced, zeroed)
