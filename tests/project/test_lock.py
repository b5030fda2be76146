"""The pins: complete, hashed, and free of any index or host."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
RUN = "requirements-run.lock"
LOCKS = sorted(path.name for path in ROOT.glob("requirements-*.lock"))
SPARK = ".ci/requirements-spark.lock"


def pins(lock: str) -> dict[str, set[str]]:
    """The pinned versions of each distribution; universal locks can hold two, for different Pythons.

    What Windows alone needs is left out.
    """
    versions: dict[str, set[str]] = {}
    line = re.compile(r"^([\w.-]+)==([^\s;]+)(?=\s)(?! ; sys_platform == 'win32')", re.MULTILINE)
    for name, version in line.findall((ROOT / lock).read_text()):
        versions.setdefault(canonicalize_name(name), set()).add(version)
    return versions


@pytest.mark.parametrize("lock", [*LOCKS, SPARK])
def test_lock_names_no_index_and_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert not re.search(
        r"://|^\s*(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)", text, re.MULTILINE
    )
    assert " @ " not in text


@pytest.mark.parametrize("lock", [*LOCKS, SPARK])
def test_every_pin_has_a_hash(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def unmet(requirements: list[str], pinned: dict[str, set[str]]) -> list[str]:
    """The requirements that are not pinned, or to a version that they exclude."""
    parsed = map(Requirement, requirements)
    return [
        str(each)
        for each in parsed
        if not each.name.startswith("bookprint")
        and not all(map(each.specifier.contains, pinned.get(canonicalize_name(each.name), {"0"})))
    ]


def test_locks_satisfy_every_requirement_of_the_project_and_its_extras() -> None:
    everywhere = {name: versions for lock in LOCKS for name, versions in pins(lock).items()}
    for file in (ROOT / "pyproject.toml", *(ROOT / "packages").glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        runs = everywhere if project["name"] == "bookprint-corpus" else pins(RUN)
        assert unmet(project["dependencies"], runs) == [], "run `make lock`"
        for lines in project.get("optional-dependencies", {}).values():
            assert unmet(lines, everywhere) == [], "run `make lock`"


def test_no_version_differs_between_two_locks() -> None:
    versions: dict[str, set[frozenset[str]]] = {}
    for lock in LOCKS:
        for name, pinned in pins(lock).items():
            versions.setdefault(name, set()).add(frozenset(pinned))
    assert {name: pinned for name, pinned in versions.items() if len(pinned) > 1} == {}


def test_what_runs_is_pinned_once_and_without_what_only_builds_or_tests() -> None:
    added = set().union(*(pins(lock) for lock in LOCKS if lock != RUN))
    assert pins(RUN).keys() & added == set()
    assert added >= {"hatchling", "pyarrow", "pytest", "mypy"}


def test_corpora_are_tested_on_the_spark_whose_client_is_installed() -> None:
    client = pins("requirements-test.lock")["pyspark-client"]
    assert pins(SPARK)["pyspark"] == client, "run `make lock`"
