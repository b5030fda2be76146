"""Licences of the distributions that an installation needs.

`python -m tools.licences` writes the table in docs/reference/licences.md. The licences are read from the
metadata of the installed distributions in requirements-run.lock and requirements-parquet.lock.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "reference" / "licences.md"
LOCKS = [ROOT / "requirements-run.lock", ROOT / "requirements-parquet.lock"]

PERMISSIVE = {
    *("0BSD", "Apache Software License", "Apache-2.0", "BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause"),
    *("CC0-1.0", "ISC License", "LLVM-exception", "MIT", "MIT License", "PSF-2.0", "Zlib"),
}
"""Names of licences that require only their notice."""

_HEAD = "| distribution | licence, as its metadata declare |\n| --- | --- |\n"
_LONGEST = 80
_SHARED_LIBRARY = re.compile(r"lib[a-z].*\.(so|dylib)")
_ELSEWHERE = {"async-timeout": "Apache-2.0", "colorama": "BSD-3-Clause"}
"""Licences of distributions that only other systems or Python versions need, from their metadata."""

_IN_TEXT = {"pymarc": "BSD-2-Clause"}
"""Licences of distributions whose metadata contain the text of the licence instead of its name."""


def locked() -> list[str]:
    """Return the sorted names of the distributions in the locks."""
    pinned = "".join(lock.read_text(encoding="utf-8") for lock in LOCKS)
    return sorted(set(re.findall(r"^([\w.-]+)==", pinned, re.MULTILINE)))


def licences() -> dict[str, str]:
    """Return the licence of each distribution; raises KeyError if one is neither installed nor known."""
    return dict(_licences())


def demanding(licence: str) -> set[str]:
    """Return the parts of a declared licence that are not known to be permissive."""
    return set(re.split(r" AND | OR | WITH |, ", licence.replace("(", "").replace(")", ""))) - PERMISSIVE


def carried() -> dict[str, set[str]]:
    """Return the shared libraries in installed wheels, by distribution; names are without versions."""
    found = {}
    for name in locked():
        installed = _installed(name)
        files = [] if installed is None else installed.files or []
        libraries = [file.name for file in files if _SHARED_LIBRARY.match(file.name)]
        if libraries:
            found[name] = {re.split(r"[-.]", library)[0] for library in libraries}
    return found


def table() -> str:
    """Return the table of all licences in Markdown."""
    return _HEAD + "".join(f"| {name} | {licence} |\n" for name, licence in licences().items())


def _licences() -> Iterator[tuple[str, str]]:
    for name in locked():
        installed = _installed(name)
        yield name, _declared(installed) if installed and name not in _ELSEWHERE else _ELSEWHERE[name]


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _declared(installed: Distribution) -> str:
    """Return the licence expression, else the licence if it is a name, else the classifiers."""
    metadata = installed.metadata
    named = next((metadata[field] for field in ("License-Expression", "License") if field in metadata), "")
    if named and "\n" not in named and len(named) <= _LONGEST and "Copyright" not in named:
        return named
    classifiers = metadata.get_all("Classifier") or []
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    return ", ".join(names) or _IN_TEXT.get(metadata["Name"], "none declared")


def _write() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, _ = text.partition(_HEAD)
    DOCUMENT.write_text(before + table(), encoding="utf-8")


if __name__ == "__main__":
    _write()
    print(f"{DOCUMENT.relative_to(ROOT)} is written", file=sys.stderr)
