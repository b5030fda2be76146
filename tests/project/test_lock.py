"""The pins: complete, hashed, and free of any index or host."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "requirements-run.lock", ".ci/requirements-spark.lock"]


def pins(lock: str) -> dict[str, set[str]]:
    """The pinned versions of each distribution; universal locks can hold two, for different Pythons."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE):
        versions.setdefault(canonicalize_name(name), set()).add(version)
    return versions


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_index_and_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert not re.search(
        r"://|^\s*(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)", text, re.MULTILINE
    )
    assert " @ " not in text


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_lock_satisfies_every_requirement_of_the_project_and_its_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    pinned = pins("requirements.lock")
    unmet = [
        line
        for line in wanted
        if not all(
            Requirement(line).specifier.contains(version)
            for version in pinned.get(canonicalize_name(Requirement(line).name), {"0"})
        )
    ]
    assert unmet == [], "run `make lock`"


def test_image_runs_the_versions_that_were_tested() -> None:
    tested = pins("requirements.lock")
    assert {
        name: versions
        for name, versions in pins("requirements-run.lock").items()
        if tested.get(name) != versions
    } == {}


def test_image_reads_and_writes_parquet() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        canonicalize_name(Requirement(line).name) for line in project["optional-dependencies"]["parquet"]
    }
    assert wanted <= pins("requirements-run.lock").keys(), "run `make lock`"


def test_corpora_are_tested_on_the_spark_whose_client_is_installed() -> None:
    client = pins("requirements.lock")["pyspark-client"]
    assert pins(".ci/requirements-spark.lock")["pyspark"] == client, "run `make lock`"
