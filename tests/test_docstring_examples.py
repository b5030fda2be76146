"""The examples in the documentation of functions."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = [(ROOT, "app"), *((folder, f"bookprint_{folder.name}") for folder in (ROOT / "packages").iterdir())]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(place).with_suffix("").parts)
    for place, package in PLACES
    for path in (place / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_answer_what_they_say(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
