"""`python -m tests.guards [NAME...]` writes the files of these guards anew; of all where none is named."""

import argparse
import os
import sys
from pathlib import Path

import pytest

from tests.guards.recorded import WRITING

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py"))


def main() -> int:
    """Run the tests of the guards, which then write instead of comparing."""
    parser = argparse.ArgumentParser(prog="python -m tests.guards", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(NAMES))
    names = parser.parse_args().names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no guard is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    os.environ[WRITING] = "1"
    return pytest.main(["-q", "-n", "0", *(str(FOLDER / f"test_{name}.py") for name in names)])


if __name__ == "__main__":
    sys.exit(main())
