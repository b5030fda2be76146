"""`bookprint serve` as a whole: what it says, what it survives, and that nothing of it is left."""

import signal
import socket
import time
from pathlib import Path

import httpx
import psutil
import pytest

from app.cli.commands import run
from tests.api.library import prose
from tests.cli.command_line import STOP_SECONDS, UNSET, Service, bookprint, serving
from tests.redis_cluster import running_cluster, wait_for


@pytest.mark.slow
def test_sigterm_leaves_no_process_and_the_books_outlive_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir) as service:
        family = service.family()
        assert {process.name() for process in family} >= {"postgres", "valkey-server"}
        posted = httpx.post(f"{service.url}/v1/books", json={"text": "a book that stays " * 50}).json()
        started = time.monotonic()
        assert service.stop() == 0
        _, alive = psutil.wait_procs(family, timeout=max(0.0, started + STOP_SECONDS - time.monotonic()))
        assert not alive
    offline = bookprint("verify", "--data-dir", data_dir)
    assert offline.returncode == 0, offline.stdout + offline.stderr
    with serving(data_dir) as again:
        assert httpx.get(f"{again.url}/v1/books/{posted['id']}").json()["id"] == posted["id"]


@pytest.mark.slow
def test_on_a_cluster_it_names_the_node_that_is_down_and_mends_the_index_when_it_is_back(
    tmp_path: Path,
) -> None:
    with running_cluster() as cluster, serving(tmp_path / "data", REDIS_URL=cluster.url) as service:
        assert "valkey-server" not in {process.name() for process in service.family()}
        books = [
            httpx.post(f"{service.url}/v1/books", json={"text": text}).json()
            for text in (prose(1), f"{prose(1)} The end.")
        ]
        assert {book["status"] for book in books} == {"indexed"}
        # A verified lookup reads posting lists on all nodes; others may do without the one that is killed.
        ask = f"{service.url}{books[0]['links']['near_duplicates']}"
        assert [item["id"] for item in httpx.get(ask).json()["items"]] == [books[1]["id"]]
        victim = cluster.masters[0]
        victim.kill()
        ready = httpx.get(f"{service.url}/health/ready")
        assert ready.status_code == 503
        assert f"127.0.0.1:{victim.port}" in ready.json()["parts"]["redis"]["detail"]
        assert httpx.get(ask).status_code == 503
        victim.start()
        wait_for(lambda: httpx.get(f"{service.url}/health/ready").status_code == 200)
        assert [item["id"] for item in httpx.get(ask).json()["items"]] == [books[1]["id"]]
        for command in ("verify", "reindex"):
            done = bookprint(command, "--data-dir", service.data_dir)
            assert done.returncode == 0, done.stdout + done.stderr


def test_a_killed_api_process_is_started_again(service: Service) -> None:
    [api] = [process for process in service.family() if "app.main:create_app" in process.cmdline()]
    api.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{service.url}/health/ready").status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.1)
    assert httpx.get(f"{service.url}/health/ready").status_code == 200


def test_it_listens_at_the_given_address_only(service: Service) -> None:
    listening = {
        connection.laddr.ip
        for process in service.family()
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_a_port_in_use_is_named_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = bookprint("serve", "--port", str(port), "--data-dir", tmp_path / "data")
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "--port" in done.stderr
    assert done.stderr.startswith("Error: ")
    assert not (tmp_path / "data").exists()


def test_a_data_folder_in_use_is_named_with_a_remedy(service: Service) -> None:
    done = bookprint("serve", "--port", "0", "--data-dir", service.data_dir)
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
    arguments: tuple[str, ...],
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "book.txt"
    file.write_text("a book")
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["bookprint", *(part.format(file=file, folder=tmp_path) for part in arguments)]
    )
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code in {1, 2}
    message = capsys.readouterr().err
    assert remedy in message
    assert "Traceback" not in message
    assert message.startswith("Error: ")


def test_a_worker_without_a_service_says_how_to_start_one(tmp_path: Path) -> None:
    done = bookprint("worker", "--data-dir", tmp_path / "none")
    assert done.returncode == 1
    assert "bookprint serve" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ")
