"""Comparing with the file of a guard, and writing it."""

import difflib
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

WRITING = "BOOKPRINT_WRITE_GUARDS"
"""Name of the variable that has the files written, not compared with."""

WIDTH = 110
"""Characters of a line up to which a list or an object is written on one."""

MOST_SHOWN = 40
"""Lines of a difference that are shown."""

_FOLDER = Path(__file__).parent


def compare(guard: str, file: str, found: str) -> None:
    """Fail where the file of a guard holds another text; show the difference and the command."""
    path = _FOLDER / file
    if os.environ.get(WRITING):
        path.write_text(found, encoding="utf-8")
        return
    recorded = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == recorded:
        return
    # Without lines around them, as thousands of lines may be alike.
    difference = difflib.unified_diff(
        recorded.splitlines(), found.splitlines(), f"tests/guards/{file}", "now", lineterm="", n=0
    )
    shown = list(islice(difference, MOST_SHOWN + 1))
    more = ["…"] if len(shown) > MOST_SHOWN else []
    message = [
        f"What the guard {guard!r} watches has changed:",
        *(line[:300] for line in shown[:MOST_SHOWN]),
        *more,
        f"If it was meant to, write the file anew: make guards ARGS={guard}",
    ]
    raise AssertionError("\n".join(message))


def laid_out(value: Any) -> str:
    """JSON with sorted keys and an element a line; what fits a line stands on one."""
    return _laid_out(value, "", 0) + "\n"


def _laid_out(value: Any, indent: str, before: int) -> str:
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not isinstance(value, dict | list) or len(indent) + before + len(line) <= WIDTH:
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        keys = {json.dumps(key, ensure_ascii=False): value[key] for key in sorted(value)}
        parts = [f"{inner}{key}: {_laid_out(part, inner, len(key) + 3)}" for key, part in keys.items()]
        return "\n".join(["{", ",\n".join(parts), f"{indent}}}"])
    parts = [f"{inner}{_laid_out(part, inner, 1)}" for part in value]
    return "\n".join(["[", ",\n".join(parts), f"{indent}]"])
