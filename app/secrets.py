"""Passwords and keys of a process: how it receives them, and how it hides them.

Every program of the same user can read the environment with which a process was started.
"""

import ctypes
import json
import os
import sys

ADMIN_KEY_VARIABLES = ("BOOKPRINT_ADMIN_KEY", "BOOKPRINT_ADMIN_KEY_FILE")

TLS_PASSWORD_VARIABLE = "BOOKPRINT_SSL_KEYFILE_PASSWORD"

SECRETS = (
    *ADMIN_KEY_VARIABLES,
    "DATABASE_URL",
    "PGPASSWORD",
    "REDIS_URL",
    "BOOKPRINT_KEY",
    TLS_PASSWORD_VARIABLE,
    "UVICORN_SSL_KEYFILE_PASSWORD",
)
"""Environment variables that contain a password or key, or the path of one."""

_PR_SET_DUMPABLE = 4


def take_secrets() -> None:
    """Add the variables in a JSON object on standard input, which the starter of this process writes, to the
    environment."""
    os.environ.update(json.load(sys.stdin))


def forget_secrets() -> dict[str, str]:
    """Remove passwords and keys from the environment, and return them by name.

    Settings that were read before still contain them. Later child processes do not inherit them. On Linux,
    other processes of this user can no longer read them in /proc or in the memory of this process, and it
    writes no core dump.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ}
    for name, secret in secrets.items():
        # Unsetting a variable would leave its value in the memory that /proc shows.
        ctypes.memset(libc.getenv(name.encode()), 0, len(os.fsencode(secret)))
        del os.environ[name]
    if sys.platform == "linux":
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return secrets
