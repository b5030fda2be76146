"""The names of the project's classes."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_class_name_occurs_twice() -> None:
    """Names that begin with `_` are known in their own file alone."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in (path for room in ("app", "workers") for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(source.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
