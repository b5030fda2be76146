"""Servers and launchers that are killed: the next start finds all that was committed."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import redis

from app.embedded import EmbeddedServers
from tests.embedded.programs import HOLD_IN_MAIN_THREAD, HOLD_IN_OTHER_THREAD, alive_in, copy_of, running, sql
from tests.waiting import eventually


def start_again(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        assert sql(servers.database_url, "SELECT sum(value) FROM kept") == 7
        assert redis.Redis.from_url(servers.redis_url).ping()


@pytest.mark.parametrize("name", ["postgres", "valkey-server"])
def test_a_killed_server_is_launched_again_with_the_same_url(data_dir: Path, name: str) -> None:
    embedded = EmbeddedServers(data_dir)
    with embedded as servers:
        sql(servers.database_url, "INSERT INTO kept VALUES (7)")
        (server,) = (server for server in embedded.running if server.name == name)
        assert server.exit_status() is None
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: server.exit_status() == -signal.SIGKILL)
        server.launch()
        server.wait_ready(100)
        assert sql(servers.database_url, "SELECT sum(value) FROM kept") == 7
        assert redis.Redis.from_url(servers.redis_url).ping()


@pytest.mark.slow
def test_servers_end_soon_after_their_killed_launcher(data_dir: Path) -> None:
    with running(HOLD_IN_MAIN_THREAD, data_dir) as program:
        sql(program.servers.database_url, "INSERT INTO kept VALUES (7)")
        program.kill()
        assert eventually(lambda: alive_in(data_dir) == [])
    start_again(data_dir)


@pytest.mark.slow
def test_a_start_right_after_the_launcher_was_killed_works(data_dir: Path) -> None:
    with running(HOLD_IN_MAIN_THREAD, data_dir) as program:
        sql(program.servers.database_url, "INSERT INTO kept VALUES (7)")
        program.kill()
    start_again(data_dir)


def test_living_orphans_of_a_killed_launcher_are_stopped_by_the_next_start(data_dir: Path) -> None:
    # The kernel ends servers with the thread that started them only where that is the main thread.
    with running(HOLD_IN_OTHER_THREAD, data_dir) as program:
        sql(program.servers.database_url, "INSERT INTO kept VALUES (7)")
        program.kill()
    assert len(alive_in(data_dir)) > 2
    assert sql(program.servers.database_url, "SELECT 1") == 1
    start_again(data_dir)


def test_everything_killed_at_once_is_recovered(data_dir: Path) -> None:
    with running(HOLD_IN_OTHER_THREAD, data_dir) as program:
        sql(program.servers.database_url, "INSERT INTO kept VALUES (7)")
        program.kill()
        for process in alive_in(data_dir):
            with suppress(psutil.NoSuchProcess):  # it has ended with another
                process.kill()
    assert (data_dir / "postgres" / "postmaster.pid").exists()
    start_again(data_dir)


def test_a_stale_pid_file_that_names_another_living_process_does_no_harm(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        sql(servers.database_url, "INSERT INTO kept VALUES (7)")
        stale = (data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
    other_pid = os.getppid()
    (data_dir / "postgres" / "postmaster.pid").write_text("\n".join([str(other_pid), *stale[1:], ""]))
    start_again(data_dir)
    os.kill(other_pid, 0)


@pytest.mark.slow
def test_an_interrupted_creation_of_the_database_is_begun_anew(folder: Path) -> None:
    half = folder / "postgres.new" / "base"
    half.mkdir(parents=True)
    (half / "1").write_bytes(b"\0" * 8192)
    with EmbeddedServers(folder) as servers:
        assert sql(servers.database_url, "SELECT 1") == 1
    assert not half.parent.exists()


@pytest.mark.slow
def test_a_database_that_was_never_created_is_created(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        sql(servers.database_url.replace("/bookprint?", "/postgres?"), "DROP DATABASE bookprint")
    with EmbeddedServers(data_dir) as servers:
        assert sql(servers.database_url, "SELECT current_database()") == "bookprint"


@pytest.mark.slow
def test_a_damaged_snapshot_of_valkey_is_dropped(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        sql(servers.database_url, "INSERT INTO kept VALUES (7)")
        redis.Redis.from_url(servers.redis_url).set("key", "value")
    snapshot = data_dir / "valkey" / "snapshot.rdb"
    snapshot.write_bytes(snapshot.read_bytes()[:20] + b"\xff" * 40)
    start_again(data_dir)


@pytest.mark.slow
def test_any_start_removes_folders_of_sockets_that_no_living_launcher_holds(
    data_dir: Path, prepared: Path, folder: Path
) -> None:
    with running(HOLD_IN_MAIN_THREAD, copy_of(prepared, folder / "other")) as other:
        used = Path(other.servers.redis_url.removeprefix("unix://").split("?")[0]).parent
        left = used.with_name(f"{used.name[:-8]}forsaken")
        left.mkdir(mode=0o700)
        for path in (used, left):
            os.utime(path, (0, 0))
        with EmbeddedServers(data_dir):
            pass
        assert not left.exists()
        assert redis.Redis.from_url(other.servers.redis_url).ping()
