"""The wheels that hold the client: its own, used where nothing else of the project is, and the service's."""

import subprocess
import sys
import zipfile
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
MODULES = {"__init__.py", "answers.py", "call.py", "calls.py", "clients.py", "exchange.py", "py.typed"}

USE = """
from bookprint_client import Client, NoService, calls
try:
    Client("http://127.0.0.1:1", patience=0).send(calls.list_books(title="emma"))
except NoService as exc:
    print(exc)
"""


def build(folder: Path, target: str, into: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    [wheel] = into.glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build(ROOT / "client", "wheel", tmp_path_factory.mktemp("client"))


def with_dependencies(name: str) -> set[str]:
    """The distribution and all that it needs, without extras."""
    wanted, found = {name}, set[str]()
    while wanted:
        found.add(distribution := wanted.pop())
        needed = (Requirement(line) for line in requires(distribution) or [])
        wanted |= {each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})}
        wanted -= found
    return found


def test_the_client_works_where_httpx_is_and_nothing_else(
    client_wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    clean = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(clean)], check=True)
    [packages] = clean.glob("lib/python*/site-packages")
    client_wheel.extractall(packages)
    for name in with_dependencies("httpx"):
        spec = find_spec(name.replace("-", "_"))
        assert spec is not None
        assert spec.origin is not None
        place = Path(spec.origin)
        source = place.parent if place.name == "__init__.py" else place
        (packages / source.name).symlink_to(source)
    used = subprocess.run(
        [clean / "bin" / "python", "-I", "-c", USE], capture_output=True, text=True, check=False
    )
    assert (used.stdout, used.stderr) == (
        "No service answers at http://127.0.0.1:1. Start one with: bookprint serve\n",
        "",
    )


def test_the_clients_wheel_has_its_modules_its_types_and_the_licence(client_wheel: zipfile.ZipFile) -> None:
    wheel = client_wheel
    assert {Path(name).name for name in wheel.namelist() if name.startswith("bookprint_client/")} == MODULES
    [licence] = [name for name in wheel.namelist() if name.endswith("/LICENSE")]
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    needed = [line for line in wheel.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
    assert needed == ["Requires-Dist: httpx>=0.28"]


def test_the_wheel_of_the_service_carries_the_client(tmp_path: Path) -> None:
    names = set(build(ROOT, "wheel:standard", tmp_path).namelist())
    assert {f"bookprint_client/{module}" for module in MODULES} <= names
    assert "app/main.py" in names


def test_an_editable_installation_finds_the_client(tmp_path: Path) -> None:
    wheel = build(ROOT, "wheel:editable", tmp_path)
    [paths] = [name for name in wheel.namelist() if name.endswith(".pth")]
    assert wheel.read(paths).decode().splitlines() == [str(ROOT), str(ROOT / "client")]
