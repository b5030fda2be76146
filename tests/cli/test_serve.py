"""`bookprint serve` as a whole: where it listens, what it refuses, and what it survives."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest
from redis import Redis

from app.cli.serve import _announce, listen
from tests.api.library import prose
from tests.cli.command_line import BOOKPRINT, Serve, bookprint, environment, in_a_process, serving
from tests.redis_cluster import running_cluster
from tests.secret_search import ADMIN_KEY
from tests.waiting import eventually


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    proxy = ("--forwarded-allow-ips", "127.0.0.1")
    with serving(tmp_path_factory.mktemp("service") / "data", *proxy) as service:
        yield service


@pytest.mark.slow
def test_on_a_cluster_it_names_the_node_that_is_down_and_mends_the_index_when_it_is_back(
    tmp_path: Path,
) -> None:
    with running_cluster() as cluster, serving(tmp_path / "data", REDIS_URL=cluster.url) as service:
        assert "valkey-server" not in {process.name() for process in service.family()}
        books = [
            httpx.post(f"{service.url}/v1/books", json={"text": text}, timeout=60).json()
            for text in (prose(1), f"{prose(1)} The end.")
        ]
        assert {book["status"] for book in books} == {"indexed"}
        # A verified lookup reads posting lists on all nodes; others may do without the one that is killed.
        ask = f"{service.url}{books[0]['links']['near_duplicates']}"
        assert [item["id"] for item in httpx.get(ask, timeout=60).json()["items"]] == [books[1]["id"]]
        victim = cluster.masters[0]
        victim.kill()
        # An answer given just before stands for 0.2 s.
        assert eventually(lambda: httpx.get(f"{service.url}/health/ready", timeout=60).status_code == 503)
        ready = httpx.get(f"{service.url}/health/ready", timeout=60).json()
        assert f"127.0.0.1:{victim.port}" in ready["parts"]["redis"]["detail"]
        assert httpx.get(ask, timeout=60).status_code == 503
        victim.start()
        assert eventually(lambda: httpx.get(f"{service.url}/health/ready", timeout=60).status_code == 200)
        assert [item["id"] for item in httpx.get(ask, timeout=60).json()["items"]] == [books[1]["id"]]
        for command in ("verify", "reindex"):
            done = bookprint(command, "--data-dir", service.data_dir)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_port_is_held_from_the_first_moment_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        # Nothing comes of this start: its database does not answer.
        silent = f"postgresql://books@127.0.0.1:{taken.getsockname()[1]}/books"
        command = [*BOOKPRINT, "serve", "--port", str(port), "--data-dir", str(tmp_path / "data")]
        with subprocess.Popen(command, env=environment({"DATABASE_URL": silent}), text=True) as process:
            try:
                assert eventually((tmp_path / "data" / "servers.json").exists)
                with pytest.raises(OSError, match="in use"):
                    socket.create_server(("127.0.0.1", port)).close()
            finally:
                process.kill()


def test_readiness_is_asked_for_without_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKPRINT_ADMIN_KEY", ADMIN_KEY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heads: list[bytes] = []

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                heads.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        server = threading.Thread(target=answer)
        server.start()
        _announce(f"http://127.0.0.1:{listener.getsockname()[1]}", None, 0.0)
        server.join()
    assert heads[0].startswith(b"GET /health/ready ")
    assert b"authorization" not in heads[0].lower()
    assert "Bookprint is ready" in capsys.readouterr().out


def test_it_listens_at_all_addresses_of_a_name() -> None:
    listeners = listen("localhost", 0)
    addresses = {listener.getsockname()[:2] for listener in listeners}
    names = {info[4][0] for info in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    assert addresses == {(name, listeners[0].getsockname()[1]) for name in names}
    for listener in listeners:
        listener.close()


def test_a_redis_that_may_drop_books_is_refused(redis_url: str, tmp_path: Path) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")
        try:
            command = ("serve", "--port", "0", "--data-dir", tmp_path / "data")
            refused = in_a_process(*command, REDIS_URL=redis_url)
        finally:
            redis.config_set("maxmemory-policy", "noeviction")
    assert refused.returncode == 1
    assert "Set maxmemory-policy noeviction" in refused.stderr
    assert not (tmp_path / "data").exists()


def test_only_a_named_proxy_tells_the_scheme(service: Serve) -> None:
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    for address, is_believed in (("127.0.0.1", True), ("127.0.0.2", False)):
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=60) as client:
            answer = client.get(f"{service.url}/health/live", headers=told)
            assert ("strict-transport-security" in answer.headers) == is_believed


def test_it_listens_at_the_given_address_only(service: Serve) -> None:
    listening = set()
    for process in service.family():
        with suppress(psutil.NoSuchProcess):  # connections of Postgres come and go
            connections = process.net_connections("inet")
            listening |= {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_a_port_in_use_is_named_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = in_a_process("serve", "--port", str(port), "--data-dir", tmp_path / "data")
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "--port" in done.stderr
    assert done.stderr.startswith("Error: ")
    assert not (tmp_path / "data").exists()


def test_a_data_folder_in_use_is_named_with_a_remedy(service: Serve) -> None:
    done = in_a_process("serve", "--port", "0", "--data-dir", service.data_dir)
    assert done.returncode == 1
    assert "in use by another Bookprint" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("ingest", "{file}", "--url", "http://127.0.0.1:9"), "bookprint serve"),
        (("lookup", "{file}", "--url", "http://127.0.0.1:9"), "bookprint serve"),
        (("demo", "--url", "http://127.0.0.1:9"), "bookprint serve"),
        (("verify", "--data-dir", "{folder}/none"), "bookprint serve"),
        (("reindex", "--data-dir", "{folder}/none"), "bookprint serve"),
        (("migrate", "--data-dir", "{folder}/none"), "--data-dir"),
        (("ingest", "{folder}/none.txt"), "cannot be read"),
        (("sign", "{folder}/none.txt"), "cannot be read"),
        (("ingest", "{file}", "--url", "127.0.0.1:9"), "http://"),
        (("serve", "--host", "192.0.2.1", "--data-dir", "{folder}/none"), "--host"),
    ],
)
def test_what_a_user_can_mend_is_said_without_a_traceback(
    arguments: tuple[str, ...], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "book.txt"
    file.write_text("a book")
    monkeypatch.chdir(tmp_path)
    done = bookprint(*(part.format(file=file, folder=tmp_path) for part in arguments))
    assert done.returncode in {1, 2}
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ")
