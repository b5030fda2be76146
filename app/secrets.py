"""Passwords and keys of a process: how it gets them from its starter, and how it keeps them to itself.

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
"""Environment variables that hold a password or a key, or lead to one."""

_PR_SET_DUMPABLE = 4


def take_secrets() -> None:
    """Put the variables into the environment that the starter of this process has written to its standard
    input, as a JSON object."""
    os.environ.update(json.load(sys.stdin))


def forget_secrets() -> dict[str, str]:
    """Take passwords and keys out of the environment, and return them by name. Settings that have been read
    keep them.

    Processes that are started afterwards do not inherit them. On Linux no other process of this user can read
    them in /proc any more, nor look into the memory of this one, which leaves no core dump either.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ}
    for name, secret in secrets.items():
        # To unset a variable leaves its value in the memory that /proc shows.
        ctypes.memset(libc.getenv(name.encode()), 0, len(os.fsencode(secret)))
        del os.environ[name]
    if sys.platform == "linux":
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return secrets
