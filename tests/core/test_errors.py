"""The texts of the core are for every door: none of them speaks of an operation of the HTTP API."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "packages/core/bookprint_core").rglob("*.py"))
OPERATION = re.compile(r"(GET|PUT|POST|PATCH|DELETE) /|/v1/")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_names_an_operation_of_the_api(path: Path) -> None:
    strings = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    assert not [node.value for node in strings if OPERATION.search(str(node.value))]
