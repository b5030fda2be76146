"""No test depends on how long something takes: a busy machine is not a fault."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = sorted((ROOT / "tests").rglob("*.py"))

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
"""Functions of the module `time` that tell the time of day or of a run; `process_time` is not among them."""

REQUESTS = {"AsyncClient", "Client", "delete", "get", "head", "patch", "post", "put", "request", "stream"}
"""Functions of httpx that wait for answers."""

LEAST = 60.0
"""Shortest limit of a wait for an event, in seconds."""

ON_PURPOSE = "# short on purpose:"
"""Comment, with the reason, on a line whose limit is part of what is tested."""

MAY_READ_CLOCKS = {
    "tests/waiting.py",
    "tests/services/access/passing_time.py",  # sets the clock
    "tests/services/test_resharding.py",  # the order of events
}


def readings(module: ast.Module) -> Iterator[ast.AST]:
    """Where a clock is read or imported."""
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
                yield node
            case ast.ImportFrom(module="time", names=names) if {each.name for each in names} & CLOCKS:
                yield node


def short_limits(module: ast.Module) -> Iterator[ast.AST]:
    """Where a wait is limited to less than LEAST seconds by a literal."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=func, args=args, keywords=keywords):
                given = [each.value for each in keywords if each.arg == "timeout"]
                name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", None)
                if name == "wait_for":
                    given += args[1:2]
                if name in {"timeout", "wait", "result"}:
                    given += args[:1]
                if any(isinstance(each, ast.Constant) and _is_short(each.value) for each in given):
                    yield node


def hasty_requests(module: ast.Module) -> Iterator[ast.AST]:
    """Where httpx is called without a limit of one's own, and so gives up after five seconds."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx"), attr=name), keywords=keywords) if (
                name in REQUESTS and not {each.arg for each in keywords} & {"timeout", "transport", None}
            ):
                yield node


def _is_short(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LEAST


def places(found: dict[Path, list[ast.AST]]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{node.lineno}" for path, nodes in found.items() for node in nodes]  # type: ignore[attr-defined]


def test_no_test_reads_a_clock() -> None:
    found = {
        path: list(readings(ast.parse(path.read_text(encoding="utf-8"))))
        for path in TESTS
        if str(path.relative_to(ROOT)) not in MAY_READ_CLOCKS
    }
    assert places(found) == [], "wait with tests.waiting, or measure time.process_time"


def test_every_request_has_a_limit_of_its_own() -> None:
    found = {path: list(hasty_requests(ast.parse(path.read_text(encoding="utf-8")))) for path in TESTS}
    assert places(found) == [], f"give httpx a timeout of {LEAST:.0f} s or more"


def test_every_wait_is_long_or_says_why_not() -> None:
    found = {}
    for path in TESTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        found[path] = [
            node
            for node in short_limits(ast.parse("\n".join(lines)))
            if not any(ON_PURPOSE in line for line in lines[node.lineno - 1 : node.end_lineno])  # type: ignore[attr-defined]
        ]
    assert places(found) == [], f"wait {LEAST:.0f} s or more, or say why not: {ON_PURPOSE} ..."


def test_clocks_and_short_limits_are_found() -> None:
    source = """
import time
from time import perf_counter
begun = time.monotonic()
assert time.time() - begun < 5
process.wait(timeout=5)
await asyncio.wait_for(event.wait(), 2)
future.result(3)
used = time.process_time()
process.wait(timeout=60)
httpx.get(url)
httpx.get(url, timeout=60)
"""
    module = ast.parse(source, mode="exec", type_comments=False)
    assert [node.lineno for node in readings(module)] == [3, 4, 5]  # type: ignore[attr-defined]
    assert sorted(node.lineno for node in short_limits(module)) == [6, 7, 8]  # type: ignore[attr-defined]
    assert [node.lineno for node in hasty_requests(module)] == [11]  # type: ignore[attr-defined]
