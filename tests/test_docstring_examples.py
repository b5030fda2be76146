"""The examples in the documentation of functions."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import app

APP = Path(app.__path__[0])
WITH_EXAMPLES = sorted(
    ".".join(("app", *path.relative_to(APP).with_suffix("").parts))
    for path in APP.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_answer_what_they_say(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
