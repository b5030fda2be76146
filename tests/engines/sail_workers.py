"""Sail with a driver and several worker processes, as it runs on Kubernetes, but on this machine.

Sail 0.7 has workers start as pods and in no other way. Here a stand-in for the API of Kubernetes gets the
driver's wish for a pod, and starts a process with the pod's environment. All else is Sail's own: driver and
workers speak gRPC and Arrow Flight to each other.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import psutil

from tests.waiting import eventually

WORKERS = 3

_SAIL = str(Path(sys.executable).with_name("sail"))
_HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class SailCluster:
    """A driver that runs, and its workers."""

    address: str
    driver: psutil.Process
    workers: list[psutil.Process]  # those that were ever asked for


@contextmanager
def sail_cluster(folder: Path) -> Iterator[SailCluster]:
    """A cluster of Sail with `WORKERS` workers; what it says is written to files of the folder."""
    started: list[subprocess.Popen[bytes]] = []
    lock = Lock()

    def start(name: str, command: list[str], variables: dict[str, str]) -> psutil.Process:
        with lock, (folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [_SAIL, *command],
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            started.append(process)
        return psutil.Process(process.pid)

    workers: list[psutil.Process] = []

    class Pods(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            pod = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            [container] = pod["spec"]["containers"]
            # What is taken from the pod's status is its address.
            variables = {each["name"]: each.get("value", _HERE) for each in container["env"]}
            variables["SAIL_CLUSTER__WORKER_LISTEN_HOST"] = _HERE
            workers.append(start(pod["metadata"]["name"], container["args"], variables))
            self._answer(201, pod | {"status": {"phase": "Running", "podIP": _HERE}})

        def do_DELETE(self) -> None:
            self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing: what was asked for is seen by its process."""

    with ThreadingHTTPServer((_HERE, 0), Pods) as pods:
        Thread(target=pods.serve_forever, daemon=True).start()
        port = _free_port()
        variables = {
            "KUBECONFIG": str(_written_config(folder, pods.server_port)),
            "RUST_LOG": "warn",
            "SAIL_MODE": "kubernetes-cluster",
            "SAIL_CLUSTER__DRIVER_LISTEN_HOST": _HERE,
            "SAIL_CLUSTER__DRIVER_EXTERNAL_HOST": _HERE,
            "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(WORKERS),
        }
        try:
            driver = start("driver", ["spark", "server", "--ip", _HERE, "--port", str(port)], variables)
            _wait_until_open(port)
            yield SailCluster(f"sc://{_HERE}:{port}", driver, workers)
        finally:
            pods.shutdown()
            with lock:
                for process in started:
                    process.kill()
                    process.wait()


def _written_config(folder: Path, port: int) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": f"http://{_HERE}:{port}"}}],
        "users": [{"name": "anyone", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "anyone"}}],
        "current-context": "here",
    }
    path = folder / "kubeconfig.json"
    path.write_text(json.dumps(config))
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HERE, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_open(port: int) -> None:
    def is_open() -> bool:
        with suppress(OSError):
            socket.create_connection((_HERE, port), 60).close()
            return True
        return False

    assert eventually(is_open)
