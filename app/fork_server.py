"""`python -m app.fork_server CONTROL SOCKETS NAME...`: the process that forks the others of a service.

All forks share the memory of everything loaded before. NAME is a module to load, or MODULE:FUNCTION to call.
CONTROL is the number of a socket for JSON objects, one per line. SOCKETS are numbers of sockets that forks
may inherit. A request contains `name`, the `module` whose `main` the fork runs, `arguments`, `environment`,
`input` (its standard input) and `sockets`. The answers are `{"loaded": true}` once, `{"started": pid}` for
each request in order, and `{"ended": pid, "status": status as of subprocess}`.
"""

import ctypes
import gc
import io
import json
import mmap
import os
import pkgutil
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn

import psutil

from app.embedded.processes import PR_SET_PDEATHSIG, prctl
from app.secrets import forget_secrets

_PR_SET_NAME = 15


def main() -> None:
    """Load the modules, then fork on request until the other end of the socket is closed."""
    forget_secrets()  # protects the secrets of requests from other processes
    number, inherited, *names = sys.argv[1:]
    control = socket.socket(fileno=int(number))
    for name in names:
        loaded = pkgutil.resolve_name(name)
        if ":" in name:
            loaded()
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        _unmap_libraries()
    awake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _answer(control, loaded=True)
    lines = control.makefile("r", encoding="utf-8")
    parent = os.getpid()
    while True:
        ready, _, _ = select.select([control, awake], [], [])
        if awake in ready:
            awake.recv(4096)
            for pid, status in _reaped():
                _answer(control, ended=pid, status=status)
        if control in ready:
            line = lines.readline()
            if not line:
                return
            pid = os.fork()
            if not pid:
                for each in (lines, control, awake, waker):
                    each.close()
                _become(json.loads(line), {int(each) for each in inherited.split(",") if each}, parent)
            _answer(control, started=pid)


def _unmap_libraries() -> None:
    """Release the unchanged pages of mapped libraries; most belong to the compiler."""
    for each in psutil.Process().memory_maps(grouped=False):
        if ".so" in each.path and each.perms.startswith("r-") and not each.anonymous + each.swap:
            start, end = (int(bound, 16) for bound in each.addr.split("-"))
            size = ctypes.c_size_t(end - start)
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), size, mmap.MADV_DONTNEED)


def _answer(control: socket.socket, **answer: Any) -> None:
    control.sendall(json.dumps(answer).encode() + b"\n")


def _reaped() -> Iterator[tuple[int, int]]:
    """Yield the pid and exit status of each fork that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def _become(request: Any, inherited: set[int], parent: int) -> NoReturn:
    """Run the requested module in this fork, which leads a new session and ends with its parent."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for number in inherited - set(request["sockets"]):
            os.close(number)
        os.environ.update(request["environment"])
        if sys.platform == "linux":
            end_with_parent(parent)
            name = ctypes.create_string_buffer(request["name"].encode())
            prctl(_PR_SET_NAME, ctypes.addressof(name))
        else:
            _execute(request)  # other systems' libraries do not work in a fork
        sys.argv = [request["module"], *request["arguments"]]
        sys.stdin = io.StringIO(request["input"])
        import_module(request["module"]).main()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def end_with_parent(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles. On Linux, also end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _execute(request: Any) -> NoReturn:
    reading, writing = os.pipe()
    os.write(writing, request["input"].encode())
    os.close(writing)
    os.dup2(reading, 0)
    for number in request["sockets"]:
        os.set_inheritable(number, True)
    os.execv(sys.executable, [sys.executable, "-P", "-m", request["module"], *request["arguments"]])


if __name__ == "__main__":
    main()
