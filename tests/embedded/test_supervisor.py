"""A supervisor in a process of its own, with real servers and commands that write down their pids."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
import redis
from sqlalchemy.exc import OperationalError

from app.embedded import EmbeddedServers
from tests.embedded.programs import Program, alive_in, is_named, running, sql
from tests.waiting import eventually

SERVE = """
    import sys
    from pathlib import Path
    from app.embedded import EmbeddedServers
    from app.embedded.forks import ChildSpec
    from app.embedded.supervisor import Supervisor

    data_dir, source, *names = sys.argv[1:]
    log = (Path(data_dir) / "serve.log").open("w")
    environment = {"HOME_OF_TEST": data_dir}
    supervisor = Supervisor(
        EmbeddedServers(Path(data_dir)),
        [
            ChildSpec(name, "tests.embedded.sources", [source, name], environment, grace=1)
            for name in names
        ],
        prepare=lambda servers: print(servers.database_url, servers.redis_url, flush=True) or {},
        log=lambda line: print(line, file=log, flush=True),
    )
    sys.exit(supervisor.run())
"""
# Each command writes its pid and that of a grandchild, and the URLs that it was given.
WORK = """
import json, os, subprocess, sys, time
urls = json.load(sys.stdin)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
os.chdir(os.environ["HOME_OF_TEST"])
with open(sys.argv[1] + ".new", "w") as file:
    print(os.getpid(), child.pid, urls["DATABASE_URL"], urls["REDIS_URL"], file=file)
os.replace(sys.argv[1] + ".new", sys.argv[1] + ".pids")
time.sleep(600)
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WORK


def words(data_dir: Path, name: str) -> list[str]:
    """The command's notes, once it has written them."""
    file = data_dir / f"{name}.pids"
    assert eventually(file.exists)
    return file.read_text().split()


def pid_of(data_dir: Path, name: str) -> int:
    return int(words(data_dir, name)[0])


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def waits_to_be_reaped(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def dead_below(process: psutil.Process) -> list[psutil.Process]:
    """Descendants that have ended and wait to be reaped."""
    return list(filter(waits_to_be_reaped, process.children(recursive=True)))


def answers(program: Program) -> bool:
    try:
        return bool(sql(program.servers.database_url, "SELECT true")) and bool(
            redis.Redis.from_url(program.servers.redis_url).ping()
        )
    except (OperationalError, redis.RedisError):
        return False


@pytest.mark.slow
def test_processes_that_die_are_reaped_and_started_again(data_dir: Path) -> None:
    with running(SERVE, data_dir, WORK, "api", "worker") as program:
        supervisor = psutil.Process(program.process.pid)
        assert words(data_dir, "worker")[2:] == program.words
        for name in ("api", "worker"):
            first, grandchild = (int(word) for word in words(data_dir, name)[:2])
            (data_dir / f"{name}.pids").unlink()
            os.kill(first, signal.SIGKILL)
            assert pid_of(data_dir, name) != first
            assert eventually(lambda pid=grandchild: not psutil.pid_exists(pid))  # type: ignore[misc]
        for name in ("postgres", "valkey-server"):
            (server,) = (child for child in supervisor.children() if is_named(child, name))
            server.kill()
            assert eventually(lambda dead=server: not dead.is_running())  # type: ignore[misc]
            assert eventually(lambda: answers(program))
        assert eventually(lambda: not dead_below(supervisor))
    log = (data_dir / "serve.log").read_text()
    assert "api was killed by SIGKILL; starting it again in 0.1 s" in log
    assert "postgres is restarted" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_everything_in_good_order(data_dir: Path, number: signal.Signals) -> None:
    with running(SERVE, data_dir, WORK, "api", "worker") as program:
        pids = [int(word) for name in ("api", "worker") for word in words(data_dir, name)[:2]]
        program.process.send_signal(number)
        assert program.process.wait(100) == 0
        assert not any(map(is_alive, pids))
        assert alive_in(data_dir) == []
        assert not (data_dir / "postgres" / "postmaster.pid").exists()
    assert (data_dir / "serve.log").read_text().endswith("stopping\neverything is stopped\n")


@pytest.mark.slow
def test_under_nohup_it_outlives_its_terminal_and_ends_when_it_is_told_to(data_dir: Path) -> None:
    with running(SERVE, data_dir, WORK, "api", prefix=["nohup"]) as program:
        pids = [int(word) for word in words(data_dir, "api")[:2]]
        program.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert all(map(is_alive, pids))
        program.process.terminate()
        assert program.process.wait(100) == 0
        assert not any(map(is_alive, pids))


@pytest.mark.slow
def test_a_signal_in_the_midst_of_starting_a_command_stops_everything_in_good_order(data_dir: Path) -> None:
    command = "[source, name]"
    signalling = """
    import os, signal
    class Signalling(list):
        def __iter__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            return super().__iter__()
    """
    with running(
        signalling + SERVE.replace(command, f"Signalling({command})"), data_dir, WORK, "api", "worker"
    ) as program:
        assert program.process.wait(100) == 0
        assert alive_in(data_dir) == []
    assert "everything is stopped" in (data_dir / "serve.log").read_text()


def test_a_command_that_ignores_sigterm_is_killed_in_time(data_dir: Path) -> None:
    with running(SERVE, data_dir, STUBBORN, "api") as program:
        pids = [int(word) for word in words(data_dir, "api")[:2]]
        program.process.terminate()
        assert program.process.wait(100) == 0
        assert not any(map(is_alive, pids))


@pytest.mark.slow
def test_a_stop_while_the_servers_are_still_starting_leaves_nothing(folder: Path) -> None:
    source = SERVE.replace("sys.exit(", "print('ready', flush=True); sys.exit(")
    with running(source, folder, WORK, "api") as program:
        assert eventually(lambda: (folder / "postgres.new").exists())
        program.process.terminate()
        assert program.process.wait(100) == 0
        assert alive_in(folder) == []
    with EmbeddedServers(folder) as servers:
        assert sql(servers.database_url, "SELECT 1") == 1


@pytest.mark.slow
def test_commands_end_with_their_killed_supervisor_and_a_new_one_starts(data_dir: Path) -> None:
    with running(SERVE, data_dir, WORK, "api") as program:
        first, grandchild = (int(word) for word in words(data_dir, "api")[:2])
        program.kill()
        assert eventually(lambda: not is_alive(first))
    (data_dir / "api.pids").unlink()
    with running(SERVE, data_dir, WORK, "api") as program:
        assert is_alive(pid_of(data_dir, "api"))
        assert not is_alive(grandchild)
        assert answers(program)


def test_a_command_that_never_stays_up_ends_the_service_with_an_error(data_dir: Path) -> None:
    with running(SERVE, data_dir, "raise SystemExit(3)", "api") as program:
        assert program.process.wait(100) == 1
    log = (data_dir / "serve.log").read_text()
    assert log.count("api ended with status 3; starting it again") == 4
    assert "api ended with status 3; giving up" in log


@pytest.mark.slow
def test_an_error_while_preparing_stops_the_servers(data_dir: Path) -> None:
    source = SERVE.replace("prepare=lambda servers: print(", "prepare=lambda servers: 1 / 0 or print(")
    with running(source, data_dir, WORK, "api") as program:
        assert program.process.wait(100) == 1
        assert alive_in(data_dir) == []
