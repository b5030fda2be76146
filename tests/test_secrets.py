"""Secrets of a process: handed over to it, and kept by it."""

import json
import os
import subprocess
import sys

import pytest

from app.secrets import SECRETS

SECRET = "pass word/%ü"
PROGRAM = """
import ctypes, os, sys
from app.secrets import forget_secrets, take_secrets
environ = open("/proc/self/environ", "rb")
take_secrets()
forgotten = forget_secrets()
assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0, "others can look into it"
assert b"BOOKPRINT_TEXTS=none" in environ.read()
environ.seek(0)
assert os.fsencode(forgotten["PGPASSWORD"]) not in environ.read()
assert not forgotten.keys() & os.environ.keys()
print(*map(repr, forgotten.items()), sep="\\n")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a thing of Linux")
def test_secrets_are_taken_and_then_seen_by_the_process_alone() -> None:
    plain = {name: value for name, value in os.environ.items() if name not in SECRETS}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=plain | {"PGPASSWORD": SECRET, "BOOKPRINT_TEXTS": "none"},
        input=json.dumps({"BOOKPRINT_KEY": "a key"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [repr(("PGPASSWORD", SECRET)), repr(("BOOKPRINT_KEY", "a key"))], done
