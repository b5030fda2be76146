"""The user that PostgreSQL runs as: it refuses root, and needs a user that the system has a name for."""

import os
import pwd
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DATA_DIR_MODE = 0o711 if os.geteuid() == 0 else 0o700
"""Of a data folder that is made: the user that root's PostgreSQL runs as must get through it."""

_NOBODY = (65534, 65534)


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a process runs as."""

    exec_as: str  # the argument IDENTITY of `exec_as.py`
    uid: int  # owner of its files
    gid: int


def ourselves() -> Identity:
    """The user and group of this process, unchanged."""
    return Identity("same", os.geteuid(), os.getegid())


def namespace() -> Identity:
    """A user namespace in which our user shows as an ordinary one; files stay ours and no mode changes."""
    named = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    return Identity(f"namespace:{min(named, default=65534)}", os.geteuid(), os.getegid())


def other_user(uid: int, gid: int) -> Identity:
    """Another user, which only root can become; the files must be given to it."""
    return Identity(f"user:{uid}:{gid}", uid, gid)


def candidates(folder: Path) -> Sequence[Identity]:
    """Identities worth trying for a server with its data in `folder`, the least intrusive first."""
    on_linux = sys.platform == "linux"
    if os.geteuid() != 0:
        return [namespace() if on_linux and not _has_name(os.geteuid()) else ourselves()]
    # Within a private home, its owner gets through to the folder.
    owners = [parent.stat() for parent in folder.resolve().parents]
    owner = next(((each.st_uid, each.st_gid) for each in owners if each.st_uid != 0), _NOBODY)
    user = other_user(*(owner if _has_name(owner[0]) else _NOBODY))
    return [namespace(), user] if on_linux else [user]


def choose(folder: Path, works: Callable[[Identity], bool]) -> Identity | None:
    """The first candidate for which `works` is true once `folder` belongs to it; None if there is none."""
    for identity in candidates(folder):
        give(folder, identity)
        if works(identity):
            return identity
    return None


def give(folder: Path, identity: Identity) -> None:
    """Make the folder and all within it belong to the identity; only root has anything to do here."""
    if os.geteuid() != 0:
        return
    for parent, folders, files in os.walk(folder):
        for path in (parent, *(os.path.join(parent, name) for name in (*folders, *files))):
            status = os.lstat(path)
            if (status.st_uid, status.st_gid) != (identity.uid, identity.gid):
                os.chown(path, identity.uid, identity.gid, follow_symlinks=False)


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
