"""Supervision of a service: the embedded servers and commands run until a signal stops them.

A process that ends is reaped and started again. SIGTERM or SIGINT ends everything: first the commands, which
may still need the servers, then the servers. SIGHUP replaces the replaceable commands one by one; if the
terminal is gone, it ends everything. On Linux this process adopts the orphans of its children, so no process
that it started outlives it.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType

import psutil

from app.embedded.forks import ChildSpec, Fork, ForkServer
from app.embedded.processes import is_alive, kill, mark, prctl
from app.embedded.server import Server
from app.embedded.servers import EmbeddedServers, Servers
from app.replaceable import LEAVE, REPORT_TO, Reports

_FIRST_DELAY = 0.1  # seconds before the first restart; doubles with each restart
_LONGEST_DELAY = 2.0
_STEADY_AFTER = 10.0  # seconds of life after which delays and false starts begin anew
_MOST_FALSE_STARTS = 5  # exits without a signal after which a never steady command is given up
_SECONDS_TO_CLAIM = 1.0  # time for the code that started a process to reap it
_SECONDS_BETWEEN_LOGS = 10.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds to wait for a replaceable command."""

    ready: float = 120.0  # from the start to the first report that it is ready
    silent: float = 60.0  # without a report; then the command counts as hung
    leaving: float = 90.0  # from LEAVE to the end


_DEADLINES = Deadlines()


class Supervisor:
    """Supervisor of `children` on `servers`. After the servers start it calls `prepare`, as for migrations.

    All children are forks of one process, which loads the modules and calls the functions in `loaded`. The
    variables that `prepare` returns are set for all children. The process `stand_in` gets LEAVE once all is
    loaded.
    """

    def __init__(
        self,
        servers: EmbeddedServers,
        children: Sequence[ChildSpec],
        *,
        loaded: Sequence[str] = (),
        prepare: Callable[[Servers], Mapping[str, str]] = lambda servers: {},
        stand_in: int | None = None,
        log: Callable[[str], None],
        deadlines: Deadlines = _DEADLINES,
    ) -> None:
        self._servers = servers
        self._specs = children
        self._loaded = loaded
        self._prepare = prepare
        self._stand_in = None if stand_in is None else psutil.Process(stand_in)
        self._log = log
        self._deadlines = deadlines
        self._starting = False
        self._stop_requested = False
        self._keeping: asyncio.Task[None] | None = None
        self._child_ended = asyncio.Event()
        self._replacing = asyncio.Event()
        self._lives: dict[str, Fork] = {}  # latest fork of each command
        self._reports = Reports()
        self._given: Mapping[str, str] = {}
        self._all_forking: dict[ForkServer, asyncio.Task[None]] = {}

    def run(self) -> int:
        """Start everything in order, and keep it running until a signal. Must run in the main thread.

        Returns 0 after a signal, 1 if a command would not stay up. Errors of the servers' start or of
        `prepare` are raised after everything is stopped.
        """
        if sys.platform == "linux":
            prctl(_PR_SET_CHILD_SUBREAPER, 1)
        status = 0
        with self._stop_signals():
            try:
                asyncio.run(self._keep_all(self._start()))
            except* _GaveUp:
                status = 1
            except* (_StopRequested, asyncio.CancelledError):
                pass
            finally:
                self._keeping, self._starting = None, False
                self._stop()
        return status

    def _start(self) -> ForkServer:
        self._starting = True
        if self._stop_requested:
            raise _StopRequested
        self._log("starting the servers")
        forking = self._fork_server()  # loads while the servers start
        try:
            servers = self._servers.start()
            for server in self._servers.running:
                self._log(f"{server.name} is ready")
            urls = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
            report_to = {REPORT_TO: str(self._reports.sender.fileno())}
            self._given = {**urls, **report_to, **self._prepare(servers)}
        except BaseException:
            forking.kill()
            raise
        return forking

    def _fork_server(self) -> ForkServer:
        listeners = [listener for spec in self._specs for listener in spec.listeners]
        inherited = [self._reports.sender, *dict.fromkeys(listeners)]
        return ForkServer(self._loaded, {**os.environ, **mark(self._servers.data_dir)}, inherited)

    async def _keep_all(self, forking: ForkServer) -> None:
        self._keeping, self._starting = asyncio.current_task(), False
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._on_child_ended)
        self._reports.listen(self._note_report)
        self._take(forking)
        try:
            await forking.loaded.wait()
            if self._stand_in is not None:
                with suppress(psutil.NoSuchProcess):
                    self._stand_in.send_signal(LEAVE)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep("the process that forks", self._fork_server_life))
                group.create_task(self._replace_on_demand())
                group.create_task(self._kill_silent())
                group.create_task(self._turn_logs())
                for server in self._servers.running:
                    life = partial(self._server_life, server)
                    group.create_task(self._keep(server.name, life, proven=True))
                for spec in self._specs:
                    group.create_task(self._keep(spec.name, partial(self._command_life, spec)))
        finally:
            for task in self._all_forking.values():
                task.cancel()
            await asyncio.gather(*self._all_forking.values(), return_exceptions=True)

    def _take(self, forking: ForkServer) -> None:
        """Fork from this process from now on."""
        self._forking = forking
        self._all_forking[forking] = asyncio.create_task(forking.live())

    def _note_report(self, pid: int, is_ready: bool) -> None:
        for forking in self._all_forking:
            if fork := forking.forks.get(pid):
                fork.note_report(is_ready)

    async def _fork_server_life(self) -> int:
        if self._forking.has_ended:
            self._take(self._fork_server())
        while True:
            forking = self._forking
            status = await forking.ended()
            if forking is self._forking:
                return status

    async def _keep(self, name: str, life: Callable[[], Awaitable[int]], *, proven: bool = False) -> None:
        """Restart a process whenever it ends; raises _GaveUp if it is not `proven` and keeps ending."""
        delay, false_starts = _FIRST_DELAY, 0
        while True:
            started = time.monotonic()
            try:
                status = await life()
            except (OSError, RuntimeError) as error:
                self._log(f"{name} could not be started: {error}")
                await asyncio.sleep(_LONGEST_DELAY)
                continue
            if time.monotonic() - started >= _STEADY_AFTER:
                delay, proven = _FIRST_DELAY, True
            killed = status < 0
            ending = (
                f"was killed by {signal.Signals(-status).name}" if killed else f"ended with status {status}"
            )
            false_starts = 0 if killed else false_starts + 1
            if not proven and false_starts >= _MOST_FALSE_STARTS:
                self._log(f"{name} {ending}; giving up")
                raise _GaveUp
            self._log(f"{name} {ending}; starting it again in {delay:.1f} s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    async def _server_life(self, server: Server) -> int:
        if server.exit_status() is not None:
            server.launch()
            self._log(f"{server.name} is restarted")
        while (status := server.exit_status()) is None:
            await self._child_ended.wait()
        return status

    async def _command_life(self, spec: ChildSpec) -> int:
        fork = self._lives[spec.name] = await self._launch(spec)
        try:
            while True:
                status = await fork.wait()
                if self._lives[spec.name] is fork:
                    return status
                fork = self._lives[spec.name]  # its replacement
        except asyncio.CancelledError:
            for listener in spec.listeners:  # otherwise new connections would wait for ever
                listener.close()
            raise
        finally:
            await fork.end(spec.grace)

    async def _launch(self, spec: ChildSpec) -> Fork:
        fork = await self._forking.fork(spec, self._given, [self._reports.sender.fileno()])
        self._log(f"{spec.name} is started")
        return fork

    async def _replace_on_demand(self) -> None:
        while True:
            await self._replacing.wait()
            self._replacing.clear()
            old, new = self._forking, self._fork_server()
            self._take(new)
            for spec in self._specs:
                if not await self._replace(spec):
                    self._log("a new process did not get ready; the running processes continue")
                    if not new.forks:
                        self._forking = old
                    break
            for each in [each for each in self._all_forking if each is not self._forking]:
                if not each.forks:
                    each.kill()
                    await self._all_forking.pop(each)

    async def _replace(self, spec: ChildSpec) -> bool:
        """Start a command again, and end its old process; return False if the new process does not get ready.

        A command that cannot report counts as ready at once.
        """
        try:
            async with asyncio.timeout(self._deadlines.ready):
                old, new = self._lives.get(spec.name), await self._launch(spec)
        except (TimeoutError, RuntimeError):
            return False
        to_end = new
        try:
            is_ready = not spec.replaceable or await new.gets_ready(self._deadlines.ready)
            # If the old process has died in the meantime, another has already been started.
            if not is_ready or old is None or old.returncode is not None or self._lives[spec.name] is not old:
                return is_ready
            self._lives[spec.name], to_end = new, old
            self._log(f"{spec.name} is replaced")
            old.send_signal(LEAVE if spec.replaceable else signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(old.wait(), self._deadlines.leaving)
            return True
        finally:
            await to_end.end(spec.grace)

    async def _kill_silent(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._deadlines.silent / 4))
            for spec in self._specs:
                fork = self._lives.get(spec.name)
                if not spec.replaceable or fork is None or fork.returncode is not None:
                    continue
                if time.monotonic() - fork.heard_at > self._deadlines.silent:
                    self._log(f"{spec.name} has not reported for {self._deadlines.silent:.0f} s")
                    fork.send_signal(signal.SIGKILL)

    async def _turn_logs(self) -> None:
        while True:
            for server in self._servers.running:
                with suppress(OSError):
                    await asyncio.to_thread(server.turn_log)
            await asyncio.sleep(_SECONDS_BETWEEN_LOGS)

    def _on_child_ended(self) -> None:
        self._child_ended.set()
        self._child_ended.clear()
        dead = {child.pid for child in psutil.Process().children() if not is_alive(child)}
        asyncio.get_running_loop().call_later(_SECONDS_TO_CLAIM, _reap, dead)

    def _stop(self) -> None:
        self._log("stopping")
        self._servers.stop()
        for _ in range(3):  # orphans of an orphan become children of this process in turn
            orphans = psutil.Process().children()
            kill(orphans)
            _reap({orphan.pid for orphan in orphans})
        self._log("everything is stopped")

    @contextmanager
    def _stop_signals(self) -> Iterator[None]:
        handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: self._request_stop,
            signal.SIGINT: self._request_stop,
        }
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # ignored under nohup
            handlers[signal.SIGHUP] = partial(self._hang_up, _has_terminal())
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        first, self._stop_requested = not self._stop_requested, True
        if first and self._keeping is not None:
            self._keeping.get_loop().call_soon_threadsafe(self._keeping.cancel)
        elif first and self._starting:
            raise _StopRequested

    def _hang_up(self, needs_terminal: bool, number: int, frame: FrameType | None) -> None:
        if needs_terminal and not _has_terminal():
            self._request_stop(number, frame)
        elif self._keeping is not None:
            self._keeping.get_loop().call_soon_threadsafe(self._replacing.set)


class _StopRequested(BaseException):
    """A signal to stop arrived during the start."""


class _GaveUp(Exception):
    """A command was never steady and keeps ending without a signal."""


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _reap(pids: set[int]) -> None:
    """Reap ended children that no code here has claimed: adopted orphans."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
