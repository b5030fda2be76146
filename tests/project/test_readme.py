"""The README against what is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from app.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_commands_set_everything_up() -> None:
    assert re.search(r"^make demo", README, re.MULTILINE)
    assert re.search(r"^make test", README, re.MULTILINE)


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", README)) <= targets


def test_every_command_is_shown() -> None:
    plain = os.environ | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "app.cli", "--help"]
    help_text = subprocess.run(command, env=plain, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^\W*([a-z]+)\s{2,}[A-Z]", help_text.partition("Commands")[2], re.MULTILINE)
    assert "serve" in listed
    assert [
        name for name in listed if f"bookprint {name}" not in README and f"make {name}" not in README
    ] == []


def test_every_setting_is_explained() -> None:
    settings = [field.alias or name for name, field in Settings.model_fields.items()]
    assert [name for name in settings if f"| `{name}` |" not in README] == []
