"""The README against what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_commands_set_everything_up() -> None:
    assert re.search(r"^make demo", README, re.MULTILINE)
    assert re.search(r"^make test", README, re.MULTILINE)


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", README)) <= targets


def test_every_relative_link_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []
