"""The core is for every door: none of its texts is of a protocol, which import contracts cannot see."""

import ast
import re
from pathlib import Path

import bookprint_core

PROTOCOL = re.compile(r"(GET|PUT|POST|PATCH|DELETE) /|/v1/|\r\n")


def test_no_text_of_the_core_names_an_operation_or_holds_a_line_end_of_a_protocol() -> None:
    for path in Path(bookprint_core.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant):
                text = node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
                assert not PROTOCOL.search(text), f"{path}: {text}"
