"""The processes of a service load no library that they do not use."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ANYWHERE = {
    "scipy",
    "datasketch",
    "sklearn",
    "faiss",
    "matplotlib",
    "pandas",
    "hypothesis",
    "pytest",
    "typer",
    "chardet",
    "lxml",
    "pymarc",
    "pypdfium2",
    "selectolax",
}
WARMED_UP = """
import sys
import {module}
from bookprint_core.warm_up import warm_up
warm_up()
print(*{{name.partition(".")[0] for name in sys.modules}})
"""


@pytest.mark.parametrize(
    ("module", "unused"),
    [
        ("app.main", ANYWHERE | {"alembic", "psycopg"}),
        ("app.cli.commands", {"asyncpg", "fastapi", "lxml", "pymarc", "pyarrow", "sqlalchemy"}),
        ("workers.process", ANYWHERE | {"alembic", "fastapi", "starlette", "uvicorn", "httpx"}),
    ],
)
def test_a_process_loads_nothing_that_it_does_not_use(module: str, unused: set[str]) -> None:
    command = [sys.executable, "-c", WARMED_UP.format(module=module)]
    loaded = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & unused
