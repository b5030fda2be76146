"""Each package alone: its wheel in an environment that has its dependencies and nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
EXTRAS = {"corpus": "[engine]", "readers": "[parquet]"}
TESTING = ("datasketch", "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout")


@dataclass(frozen=True)
class Alone:
    """A package, and the interpreter of an environment that has it alone."""

    name: str
    python: Path


def parts_of(wanted: Iterable[str]) -> tuple[set[str], set[str]]:
    """The packages of this project and the other distributions that these requirements lead to."""
    ours, others = set[str](), set[str]()
    left = [Requirement(line) for line in wanted]
    seen = set[str]()
    while left:
        needed = left.pop()
        if str(needed) in seen:
            continue
        seen.add(str(needed))
        (ours if needed.name.startswith("bookprint-") else others).add(needed.name)
        for extra in {"", *needed.extras}:
            inner = [Requirement(line) for line in distribution(needed.name).requires or []]
            left += [each for each in inner if each.marker is None or each.marker.evaluate({"extra": extra})]
    return ours, others


def environment(folder: Path, *requirements: str) -> Path:
    """The interpreter of a new environment with wheels of our packages, and links to other distributions."""
    ours, others = parts_of(requirements)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [libraries] = folder.glob("lib/python*/site-packages")
    for name in ours:
        source = ROOT / "packages" / name.removeprefix("bookprint-")
        build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run([sys.executable, *build], cwd=source, check=True, capture_output=True)
        [wheel] = folder.glob(f"{name.replace('-', '_')}-*.whl")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(libraries)], check=True)
    for name in others:
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (libraries / top).exists():
                (libraries / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return folder / "bin" / "python"


@pytest.fixture(scope="module", params=["client", "core", "corpus", "readers"])
def alone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    name = str(request.param)
    wanted = f"bookprint-{name}{EXTRAS.get(name, '')}"
    return Alone(name, environment(tmp_path_factory.mktemp(name) / "venv", wanted))


def test_the_example_of_its_readme_prints_what_is_said_there(alone: Alone) -> None:
    readme = (ROOT / "packages" / alone.name / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 50
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    example = example.replace("127.0.0.1:8000", "127.0.0.1:1")  # where no service is
    run = subprocess.run([alone.python, "-I", "-c", example], capture_output=True, text=True, check=False)
    assert (run.stdout.replace(":1.", ":8000."), run.stderr) == (printed, "")


def test_its_tests_need_nothing_else(alone: Alone, tmp_path: Path) -> None:
    if alone.name == "client":
        pytest.skip("The client is tested against a service.")
    wanted = f"bookprint-{alone.name}{EXTRAS.get(alone.name, '')}"
    python = environment(tmp_path / "venv", wanted, *TESTING)
    collect = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"tests/{alone.name}"]
    run = subprocess.run([python, *collect], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:]


def test_its_wheel_has_its_types_and_the_licence(alone: Alone) -> None:
    [libraries] = alone.python.parents[1].glob("lib/python*/site-packages")
    assert (libraries / f"bookprint_{alone.name}" / "py.typed").exists()
    [licence] = libraries.glob(f"bookprint_{alone.name}-*.dist-info/licenses/LICENSE")
    assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()
