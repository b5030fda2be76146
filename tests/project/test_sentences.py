"""The sentences of docstrings, comments and errors: how they begin, and how long they are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("app", "workers", "packages/client", "packages/core", "packages/corpus", "packages/readers")
UNCHECKED = (
    "packages/client/bookprint_client/answers.py",  # generated from descriptions of the API
)
"""Paths of modules that are still to be rewritten."""

LONGEST = 35
"""Most words of a sentence."""

_OPENINGS = re.compile(r"(Of|Those|What|So|Such|As far as)\b")
_ENDS = re.compile(r"(?<=[.!?:])\s+(?=[A-Z\"'`(])|\n\s*\n")
_COMMENTS = re.compile(r"(?:^ *# .*\n)+|(?<=\S)  # .*", re.MULTILINE)


def texts(source: str) -> Iterator[str]:
    """Yield the comments, docstrings and messages of raised errors."""
    yield from (re.sub(r"^ *# ", "", comment, flags=re.MULTILINE) for comment in _COMMENTS.findall(source))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield "".join(
                str(part.value)
                for argument in node.exc.args
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant)
            )


@pytest.mark.parametrize("part", PARTS)
def test_sentences_begin_with_their_subject_and_are_short(part: str) -> None:
    paths = [path.relative_to(ROOT) for path in sorted((ROOT / part).rglob("*.py"))]
    found = [
        f"{path}: {' '.join(sentence.split())}"
        for path in paths
        if not str(path).startswith(UNCHECKED)
        for text in texts((ROOT / path).read_text(encoding="utf-8"))
        for sentence in map(str.strip, _ENDS.split(text))
        if _OPENINGS.match(sentence) or len(re.findall(r"\S*\w\S*", sentence)) > LONGEST
    ]
    assert found == [], "\n".join(found)
