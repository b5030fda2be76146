"""Takes another identity and becomes the given command: a step that only the process itself can take.

    python exec_as.py PARENT DEATH_SIGNAL IDENTITY FOLDER COMMAND…

PARENT        pid of the starting process, or 0; if it is no longer the parent, nothing is started
DEATH_SIGNAL  signal that the kernel sends when the starting thread ends (Linux; elsewhere no effect)
IDENTITY      `same`; `namespace:UID`, a user namespace where our own uid shows as UID; or `user:UID:GID`,
              that user, with root's right to pass closed folders where the system lets root hand it on
FOLDER        working directory of the command

A script, run by `app.embedded.processes.spawn`. It imports nothing of the project, so it starts in 20 ms, and
unlike a `preexec_fn` it is safe in a process that has threads.
Exit status 125: the identity could not be taken; 126: the folder or the command could not be reached.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
SECBIT_NO_SETUID_FIXUP = 4
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522
IDENTITY_REFUSED = 125
UNREACHABLE = 126


def prctl(option: int, *values: int) -> None:
    """Linux's `prctl`; OSError when it refuses."""
    padded = (*values, 0, 0, 0, 0)[:4]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *map(ctypes.c_ulong, padded)) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")


def enter_namespace(inside: int) -> None:
    """Show this process's own user and group as `inside`, with no rights beyond those it had."""
    outside_user, outside_group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are not available")
    for name, line in (
        ("setgroups", "deny"),
        ("gid_map", f"{inside} {outside_group} 1"),
        ("uid_map", f"{inside} {outside_user} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(line)


def become(uid: int, gid: int) -> None:
    """Become another user for good; on Linux one that keeps, where root may, the right to enter every folder.

    A container often has root at work in /root and forbids namespaces.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            # Else the kernel drops capabilities with root's uid.
            prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if sys.platform == "linux":
        with suppress(OSError):
            keep_reach()


def keep_reach() -> None:
    """Keep the capability to enter every folder, and no other, even after an `exec`."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    kept = 1 << CAP_DAC_OVERRIDE
    # effective, permitted, inheritable; first for capabilities 0 to 31, then for the others
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "the capability CAP_DAC_OVERRIDE is not available")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE)


def take_identity(identity: str) -> None:
    """Take the identity that IDENTITY names; OSError when the system does not allow it."""
    kind, *numbers = identity.split(":")
    if kind == "namespace":
        enter_namespace(int(numbers[0]))
    elif kind == "user":
        become(int(numbers[0]), int(numbers[1]))


def main(arguments: list[str]) -> int:
    """Become the command; returns an exit status only where that failed."""
    parent, death_signal, identity, folder, *command = arguments
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD", "SIGPIPE"):
        signal.signal(signal.Signals[name], signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        take_identity(identity)
    except OSError as error:
        sys.stderr.write(f"cannot run as {identity}: {error}\n")
        return IDENTITY_REFUSED
    # After the identity: the kernel forgets the death signal when the user changes.
    if int(parent) and sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != int(parent):
            return 0
    try:
        os.chdir(folder)
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]} in {folder}: {error}\n")
        return UNREACHABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
