"""JSON of many levels is refused with a reason, and no error makes the log long."""

import sys
from contextlib import suppress

import orjson
import pytest
from structlog import DropEvent

from app.api.http.bodies import MAX_LEVELS, UnparsableJson, parsed
from app.logs import Seldom, Tracebacks

SHAPES = {
    "objects": ('{"a":', "}"),
    "lists": ("[", "]"),
    "both": ('[{"a":', "}]"),
    "a later one": ('[0,{"b":0,"a":', "}]"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", [30, 90, 110, 1_000, 50_000])
def test_any_depth_is_read_or_refused(shape: str, depth: int) -> None:
    opened, closed = SHAPES[shape]
    body = (opened * depth + "1" + closed * depth).encode()
    levels = depth * (opened.count("{") + opened.count("["))
    if levels <= MAX_LEVELS:
        assert parsed(body) == orjson.loads(body)
        return
    with pytest.raises(UnparsableJson, match="recursion") as refused:
        parsed(body)
    assert refused.value.status == 400
    assert "brackets" in refused.value.remedy


def test_an_object_in_a_list_has_a_limit_of_fields_too() -> None:
    assert parsed(b'[{"a":0,"b":0}]', 2) == [{"a": 0, "b": 0}]
    with pytest.raises(UnparsableJson, match="over 1 fields"):
        parsed(b'[{"a":0,"b":0}]', 1)


def test_an_error_has_few_frames_in_the_log_and_seldom_any() -> None:
    now = 0.0
    written = Tracebacks(clock=lambda: now)

    def fail(depth: int) -> None:
        if depth:
            fail_again(depth - 1)
        raise ValueError("the reason" * 100)

    def fail_again(depth: int) -> None:
        fail(depth)

    def log() -> str:
        try:
            fail(300)
        except ValueError:
            return written(sys.exc_info())  # type: ignore[arg-type]
        raise AssertionError

    first = log()
    assert 2 < first.count("  File ") <= 40
    assert first.endswith("the reason")
    assert all(len(log()) <= 200 and log().startswith("ValueError") for _ in range(3))
    now = 1.0
    assert log() == first


def test_an_outage_is_logged_once_it_lasts_and_each_for_itself() -> None:
    now, passed = 0.0, []
    seldom = Seldom(clock=lambda: now)
    for now in (0.0, 19.0, 20.0, 20.5, 39.0, 40.0, 161.0, 180.0, 182.0):
        with suppress(DropEvent):
            passed.append((now, seldom(None, "", {"event": "a", "outage": "x"})["event"]))
    assert [at for at, _ in passed] == [20.0, 40.0, 182.0]
    assert seldom(None, "", {"event": "a"})
    with pytest.raises(DropEvent):
        seldom(None, "", {"event": "b", "outage": "x"})
