"""The core lays out no wire protocol: import contracts cannot see that."""

import ast
from pathlib import Path

import bookprint_core


def test_no_line_end_of_a_protocol_stands_in_the_core() -> None:
    for source in Path(bookprint_core.__path__[0]).rglob("*.py"):
        constants = (
            node.value for node in ast.walk(ast.parse(source.read_bytes())) if isinstance(node, ast.Constant)
        )
        assert not [
            constant
            for constant in constants
            if (isinstance(constant, str) and "\r\n" in constant)
            or (isinstance(constant, bytes) and b"\r\n" in constant)
        ], source
