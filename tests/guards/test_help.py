"""`--help` of every command, on a terminal of 100 columns without colours."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.metadata import entry_points
from unittest.mock import patch

import pytest

from tests.guards.recorded import compare

TERMINAL = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r" *[─│╭╮╰╯]+ ?")
_GROUP = "\nCommands\n"
_COMMAND = re.compile(r"(?:^|  )([a-z][a-z-]*)  ", re.MULTILINE)


@pytest.mark.slow
def test_the_help_of_every_command_is_as_recorded() -> None:
    compare("help", "help.txt", "\n".join(_pages(())))


def _pages(command: tuple[str, ...]) -> Iterator[str]:
    """The page of a command and those of its own commands."""
    page = _page(command)
    yield f"$ {' '.join(('bookprint', *command, '--help'))}\n{page}\n"
    listed = page if not command else page.partition(_GROUP)[2]
    for name in _COMMAND.findall(listed):
        yield from _pages((*command, name))


def _page(command: tuple[str, ...]) -> str:
    [program] = entry_points(group="console_scripts", name="bookprint")
    run = program.load()
    unset = {name: value for name, value in os.environ.items() if not name.startswith("BOOKPRINT_")}
    with (
        patch.dict(os.environ, unset | TERMINAL, clear=True),
        patch.object(sys, "argv", ["bookprint", *command, "--help"]),
        patch.object(os, "execv", _run_instead),
        redirect_stdout(io.StringIO()) as output,
        pytest.raises(SystemExit) as end,
    ):
        run()
    assert not end.value.code
    lines = [_FRAME.sub("", line).rstrip() for line in _COLOUR.sub("", output.getvalue()).splitlines()]
    return "\n".join(line for line in lines if line)


def _run_instead(path: str, arguments: list[str]) -> None:
    """Some commands become another program; the tests have to go on."""
    print(subprocess.run(arguments, executable=path, capture_output=True, text=True, check=True).stdout)
    sys.exit(0)
