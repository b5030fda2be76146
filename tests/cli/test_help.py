"""The help: one screen that names every command, and an example of each that the program accepts."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import bookprint
from tools.reference import program


def _commands(group: Any, names: tuple[str, ...] = ("bookprint",)) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*names, name))
        elif name not in ("corpus", "dedupe"):
            yield " ".join((*names, name)), command


COMMANDS = dict(_commands(program()))


def test_the_help_is_one_screen_and_names_every_command() -> None:
    lines = bookprint("--help").stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert [name for name in program().commands if name not in words] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_can_be_parsed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    example = COMMANDS[name].help.removeprefix("Example: `").partition("`")[0].partition(" >")[0]
    assert example.startswith(name)
    COMMANDS[name].make_context(name, shlex.split(example.removeprefix(name)))
