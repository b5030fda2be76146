"""Programs of Bookprint in forks of a process that has loaded all of it: they start in a tenth of the time.

`python -m tests.forks SOCKET` is that process. It runs a module as `python -m` does, with an environment, a
folder and standard streams of its own.
"""

import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any, NoReturn

_STREAMS = 3
_KERNELS = "tests.loaded_kernels"
_READERS: Any = forkserver._forkserver
_TRACKER: Any = resource_tracker._resource_tracker


class Fork:
    """A program that was started; to its starter what `subprocess.Popen` is."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: Sequence[int] = (0, 1, 2),
        *,
        shares_readers: bool,
    ) -> None:
        """Run a module with its arguments; the streams are standard input, output and error.

        One that `shares_readers` has its children that read files forked by a process that others have, too.
        """
        self._told, theirs = socket.socketpair()
        request = {
            "command": command,
            "environment": dict(environment),
            "folder": os.getcwd(),
            "shares_readers": shares_readers,
        }
        with theirs:
            socket.send_fds(_server(), [b"\n"], [*streams, theirs.fileno()])
        self._told.sendall(json.dumps(request).encode() + b"\n")
        self.pid = self._number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = self._number()
            self._told.close()
        return self.returncode

    def wait(self, seconds: float) -> int:
        if self.returncode is None:
            select.select([self._told], [], [], seconds)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired("a fork", seconds)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _number(self) -> int:
        return int.from_bytes(self._told.recv(4), signed=True)


@cache
def _server() -> socket.socket:
    """The way to the server of this process, which ends with it."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tests.forks", str(theirs.fileno())]
        subprocess.Popen(
            command, cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )
    return ours


def have_readers_load_kernels() -> None:
    """Have what forks the children that read files load all kernels once, unless it runs already."""
    import_module("bookprint_readers.killable")  # which names what else is loaded
    forkserver.set_forkserver_preload([*_READERS._preload_modules, _KERNELS])


def main() -> None:
    """Load, and fork as asked, until the other end of the socket is closed."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    _load()
    awake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    starters: dict[int, socket.socket] = {}  # of those that run, by pid
    while True:
        ready, _, _ = select.select([asked, awake], [], [])
        if awake in ready:
            awake.recv(4096)
            for pid, status in _ended():
                if pid in starters:  # and not what forks the readers
                    with starters.pop(pid) as starter:
                        _tell(starter, status)
        if asked in ready:
            _, numbers, _, _ = socket.recv_fds(asked, 1, _STREAMS + 1)
            if not numbers:
                return
            *streams, number = numbers
            starter = socket.socket(fileno=number)
            pid = os.fork()
            if not pid:
                _become(starter, streams)
            for stream in streams:
                os.close(stream)
            _tell(starter, pid)
            starters[pid] = starter


def _load() -> None:
    """Import all of the service and the commands, and load the kernels."""
    import app

    import_module(_KERNELS)
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    have_readers_load_kernels()
    forkserver.ensure_running()
    gc.collect()
    gc.freeze()


def _ended() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def _tell(starter: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # who started it need not wait for its end
        starter.sendall(number.to_bytes(4, signed=True))


def _become(starter: socket.socket, streams: Sequence[int]) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for standard, stream in enumerate(streams):
            os.dup2(stream, standard)
            os.close(stream)
        request = json.loads(starter.makefile().readline())
        starter.close()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["shares_readers"]:
            _READERS.ensure_running = lambda: None
        else:
            _READERS._forkserver_pid = _TRACKER._fd = None  # it starts both by itself
        module, *arguments = request["command"]
        if sys.platform != "linux":  # elsewhere libraries of the system may not be used in a fork
            os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])
        sys.argv[1:] = arguments
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
