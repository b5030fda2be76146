"""Whom the audit log names for what a command writes into the database itself."""

import os
import pwd
import socket

from app.stores.postgres.audit import Actor


def acting_user() -> Actor:
    """The user of the system who runs this command, on this host."""
    return Actor("command", _user(), address=socket.gethostname())


def _user() -> str:
    # Of the process: a variable as LOGNAME could claim any name.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # as containers run users that have no name
        return f"uid {os.getuid()}"
