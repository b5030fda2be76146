"""The licences of what runs: listed, and whatever asks for more than a notice is known and explained."""

import re
import tomllib
from fnmatch import fnmatch

from packaging.requirements import Requirement

from tools.licences import DOCUMENT, ROOT, carried, demanding, licences, table

KNOWN = {"certifi", "orjson", "psycopg", "psycopg-binary", "psycopg-pool", "pypdfium2"}
"""Distributions whose licences are not merely permissive; whoever adds one explains it in the document."""

EXPLAINED = DOCUMENT.read_text(encoding="utf-8").partition("## All")[0]


def test_every_licence_is_listed_as_it_is_installed() -> None:
    assert DOCUMENT.read_text(encoding="utf-8").endswith(table()), "run `python -m tools.licences`"


def test_every_direct_dependency_is_given_a_reason() -> None:
    files = [ROOT / "pyproject.toml", *(ROOT / "packages").glob("*/pyproject.toml")]
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    reasons = EXPLAINED.partition("## Purpose of each direct dependency")[2].partition("\n## ")[0]
    named = {
        name.split(" ")[0] for row in re.findall(r"^\| (.+?) \|", reasons, re.M) for name in row.split(", ")
    }
    direct = {Requirement(line).name for project in projects for line in project["dependencies"]}
    direct -= {project["name"] for project in projects}
    assert direct - named == set(), "say in docs/reference/licences.md what it is for"
    assert named - direct == {"distribution", "---"}, "not needed any more"


def test_every_licence_is_permissive_or_known() -> None:
    asking = {name: parts for name, licence in licences().items() if (parts := demanding(licence))}
    assert {name: parts for name, parts in asking.items() if name not in KNOWN} == {}
    assert asking.keys() >= KNOWN, "these are known and not there any more"


def test_every_library_inside_a_wheel_is_explained() -> None:
    unexplained = {
        (name, library)
        for name, libraries in carried().items()
        for library in libraries
        if not any(fnmatch(library, told) for told in _told_of(name))
    }
    assert unexplained == set()


def _told_of(name: str) -> list[str]:
    """The libraries that the document names where it speaks of a wheel; `*` stands for any end."""
    items = EXPLAINED.partition("## Inside wheels")[2].split("\n- ")
    return [
        told for item in items if name in item.split(" carr")[0] for told in re.findall(r"lib[\w*]+", item)
    ]
