"""`bookprint serve` and `bookprint worker`: the processes of a running service."""

import asyncio
import json
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from app.cli.environment import DEFAULT_URL, DataDir, load_settings, name_unknown, require_running
from app.cli.listening import Tls, auth_at, read_tls, require_key, require_key_before_start
from app.cli.output import UserError, log_instead, notices, results
from app.embedded import EmbeddedServers, Servers
from app.embedded.forks import ChildSpec, shared_memory
from app.embedded.supervisor import Supervisor
from app.fork_server import end_with_parent
from app.kernel_cache import has_kernels, keep_kernels
from app.secrets import ADMIN_KEY_VARIABLES, TLS_PASSWORD_VARIABLE, forget_secrets
from app.settings import BANDS, SHARE, ProcessShare, Settings, optimal_bands
from bookprint_client import Client
from bookprint_core.errors import Unavailable

_MOST_WAITING_CONNECTIONS = 2048  # connections that the API has not accepted yet; others retry
_SECONDS_BETWEEN_NOTICES = 30.0
_MOST_FILES = 65_536
_LOADED = (
    "app.kernel_cache:compile_kernels",
    "app.main",
    "app.services.deliveries",
    "workers.process",
    "app.kernel_cache:load_kernels",
)
"""Modules and functions to load before processes are forked. Loading is most of the time of a start."""

_MOST_PROCESSES = 8  # maximum number of API processes by default

_OF_A_QUEUE, _QUEUES = 4, 2  # connections of a worker's queue to Postgres, and queues per worker
_FOR_COMMANDS = 5  # connections reserved for commands
_LEAST_CONNECTIONS = 3  # per process for statements; a reconciliation needs as many for transactions

_BYTES_OF_COUNTS = 72 << 22  # 4 MiB for each of at most 72 processes

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all addresses.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for a free port.")] = 8000,
    data_dir: DataDir = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Number of API processes [one per two cores, at most 8].",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=64,
            help="Number of worker processes [BOOKPRINT_WORKERS, else one per core].",
        ),
    ] = None,
    ssl_certfile: Annotated[
        Path | None, typer.Option(help="File with the certificate and its chain, PEM; turns on TLS.")
    ] = None,
    ssl_keyfile: Annotated[
        Path | None, typer.Option(help="File with the key of the certificate, PEM [--ssl-certfile].")
    ] = None,
    ssl_password_file: Annotated[
        Path | None,
        typer.Option(help="File with the password of the key."),
    ] = None,
    forwarded_allow_ips: Annotated[
        str | None,
        typer.Option(
            help="Proxies whose X-Forwarded headers are trusted: addresses or networks, comma-separated."
        ),
    ] = None,
) -> None:
    """Run the whole service until Ctrl-C or SIGTERM: servers, API, pages and workers.

    PostgreSQL and Valkey are started with their data in the data folder, unless DATABASE_URL or REDIS_URL
    names a server. A process that ends is started again. SIGHUP replaces the API processes one by one; no
    request fails.

    At other addresses than loopback every request needs an API key (bookprint keys create, or
    BOOKPRINT_ADMIN_KEY). The variable BOOKPRINT_SSL_KEYFILE_PASSWORD may contain the password of the key, and
    BOOKPRINT_TRUSTED_PROXIES the proxies.
    """
    started = time.monotonic()
    if _logs_as_json():
        log_instead()
    name_unknown()
    if forwarded_allow_ips is not None:
        os.environ["BOOKPRINT_TRUSTED_PROXIES"] = forwarded_allow_ips
    settings = load_settings(data_dir)
    # Listen first, and keep the sockets: no other program gets the port while the service starts or restarts.
    listeners = listen(host, port)
    auth = auth_at(host, settings)
    if auth == "keys":
        require_key_before_start(settings)
    tls = read_tls(ssl_certfile, ssl_keyfile, ssl_password_file)
    if settings.redis_url is not None:
        _require_noeviction(settings.redis_url)
    secrets = forget_secrets()
    _allow_many_connections()
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise UserError(
            f"{settings.data_dir} cannot be made: {exc.strerror}. Choose another --data-dir."
        ) from exc
    if not os.access(settings.data_dir, os.R_OK | os.W_OK | os.X_OK):
        raise UserError(f"{settings.data_dir} belongs to another user. Choose another --data-dir.")
    keep_kernels(settings.data_dir)
    embedded = EmbeddedServers(
        settings.data_dir, database_url=settings.database_url, redis_url=settings.redis_url
    )
    if not has_kernels():
        notices().print("Compiling the kernels; later starts are faster.")

    def prepare(servers: Servers) -> dict[str, str]:
        migrating = ProcessPoolExecutor(1, context)
        try:
            upgraded = migrating.submit(_bring_up, os.getpid(), settings, auth, servers.database_url)
            threshold = settings.jaccard_threshold
            bands = {BANDS: " ".join(map(str, (threshold, *optimal_bands(threshold))))}
            most = upgraded.result()
        finally:
            migrating.shutdown(wait=False)
        threading.Thread(target=_announce, args=(url, tls, started), daemon=True).start()
        return bands | _share_out_connections(most, api_count, worker_count)

    worker_count = settings.workers if workers is None else workers
    by_default = min(max(1, (os.cpu_count() or 1) // 2), _MOST_PROCESSES)
    api_count = processes or by_default
    known = {name: secrets[name] for name in ADMIN_KEY_VARIABLES if name in secrets}
    counts = shared_memory(_BYTES_OF_COUNTS)
    environment = {
        "BOOKPRINT_AUTH": auth,
        "BOOKPRINT_COUNTS": str(counts.fileno()),
    }
    api = _api(listeners, counts, tls, settings.trusted_proxies, environment, known)
    # Forked before any thread starts, so that modules that only a start needs do not stay in this process.
    context = get_context("fork") if sys.platform == "linux" else get_context("spawn")
    answering = context.Process(target=_answer_meanwhile, args=(os.getpid(), listeners, api))
    answering.start()
    children = [
        *(replace(api, name=f"api {number}") for number in range(1, api_count + 1)),
        ChildSpec("delivery", "workers.__main__", ["--take-secrets", "--only", "urgent"]),
        *(
            ChildSpec(f"worker {number}", "workers.__main__", ["--take-secrets", "--only", "jobs"])
            for number in range(1, worker_count + 1)
        ),
    ]
    url = url_of(host, listeners[0].getsockname()[1], "http" if tls is None else "https")
    supervisor = Supervisor(
        embedded,
        children,
        loaded=_LOADED,
        prepare=prepare,
        stand_in=answering.pid,
        log=lambda line: notices().print(line, style="dim"),
    )
    status = supervisor.run()
    if status:
        raise UserError("A process of the service ends again and again. Its last lines above say why.")


def worker(
    concurrency: Annotated[
        int,
        typer.Option(
            "-c",
            "--concurrency",
            min=1,
            max=256,
            help="Number of books related at the same time.",
        ),
    ] = 1,
    data_dir: DataDir = None,
) -> None:
    """Run one more worker for the service in the data folder, or on DATABASE_URL and REDIS_URL."""
    if _logs_as_json():
        log_instead()
    name_unknown()
    settings = load_settings(data_dir)
    servers = require_running(settings)
    keep_kernels(settings.data_dir)
    forget_secrets()
    urls = {"DATABASE_URL": str(servers.database_url), "REDIS_URL": str(servers.redis_url)}
    reading, writing = os.pipe()
    os.write(writing, json.dumps(urls).encode())
    os.dup2(reading, 0)
    os.close(writing)
    # -P: the module of this installation, never a module of the current folder.
    arguments = ["-P", "-m", "workers", "--take-secrets", "--only", "jobs", "--concurrency", str(concurrency)]
    os.execv(sys.executable, [sys.executable, *arguments])


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at all addresses of a host. With `port` 0 they share one free port.

    Raises UserError if a socket cannot listen.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as exc:
        raise UserError(f"--host {host} is not an address: {exc.strerror}.") from exc
    listeners: list[socket.socket] = []
    for family, _, _, _, (address, _, *rest) in found:
        try:
            listeners.append(
                socket.create_server((address, port, *rest), family=family, backlog=_MOST_WAITING_CONNECTIONS)
            )
        except OSError as exc:
            raise UserError(
                f"Cannot listen at {address} port {port}: {exc.strerror}. "
                "Choose another with --port (and --host), or stop the program that listens there."
            ) from exc
        port = listeners[0].getsockname()[1]
    return listeners


def _require_noeviction(redis_url: str) -> None:
    """Raise BookprintError if Redis may evict keys; an unreachable Redis is ignored."""
    from app.stores.redis.client import open_client

    async def ask() -> None:
        async with open_client(redis_url) as client:
            await client.require_noeviction()

    with suppress(Unavailable):
        asyncio.run(ask())


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """Return the URL by which this machine reaches a service that listens at `host`."""
    name = _LOOPBACK.get(host, host)
    return f"{scheme}://[{name}]:{port}" if ":" in name else f"{scheme}://{name}:{port}"


def _allow_many_connections() -> None:
    """Raise the limit of open files of this process and its children as far as the system allows.

    On many systems the limit is 1,024, which the connections of slow clients would exhaust.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _api(
    listeners: Sequence[socket.socket],
    counts: IO[bytes],
    tls: Tls | None,
    proxies: Sequence[str],
    environment: Mapping[str, str],
    secrets: Mapping[str, str],
) -> ChildSpec:
    options: dict[str, Any] = {
        "sockets": [listener.fileno() for listener in listeners],
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": ",".join(proxies),
    }
    if tls is not None:
        options |= {"ssl_certfile": str(tls.certfile), "ssl_keyfile": str(tls.keyfile)}
        if tls.password is not None:
            secrets = {**secrets, TLS_PASSWORD_VARIABLE: tls.password}
    arguments = [json.dumps(options)]
    inherited: list[socket.socket | IO[bytes]] = [*listeners, counts]
    return ChildSpec("api", "app.api.__main__", arguments, environment, secrets, inherited, replaceable=True)


def _answer_meanwhile(parent: int, listeners: list[socket.socket], api: ChildSpec) -> None:
    end_with_parent(parent)
    from app.api.__main__ import answer_meanwhile

    answer_meanwhile(listeners, api.arguments[0], api.secrets, has_kernels())


def _bring_up(parent: int, settings: Settings, auth: str, database_url: str) -> int:
    """Bring the catalogue to the newest schema; returns the number of connections that it allows."""
    end_with_parent(parent)
    from app.stores.postgres.connections import upgrade

    if auth == "keys":
        require_key(settings, database_url)
    return upgrade(database_url)


def _share_out_connections(most: int, processes: int, workers: int) -> dict[str, str]:
    """Return the variable that limits the connections of each process to its share of what Postgres allows.

    Raises UserError if there are too many processes.

    One more API process is counted than runs: while a process is replaced, both exist.
    """
    pools = 2 * (processes + 1 + workers + 1)
    wanted = ProcessShare().connections
    others = _OF_A_QUEUE * _QUEUES * workers + _FOR_COMMANDS
    each = min(wanted, (most - others) // pools)
    if each < _LEAST_CONNECTIONS:
        raise UserError(
            f"PostgreSQL allows {most} connections, too few for {processes} API processes and {workers} "
            f"workers. Set its max_connections to {others + _LEAST_CONNECTIONS * pools + 3} or more, or "
            "choose fewer --processes or --workers."
        )
    if each < wanted:
        notices().print(
            f"PostgreSQL allows {most} connections, so each process opens at most {each} for single "
            "statements and as many for transactions."
        )
    return {SHARE: f"{processes} {each}"}


def _announce(url: str, tls: Tls | None, started: float) -> None:
    """Print when the service is ready; until then, print a notice every 30 seconds.

    Requests have no key, because a key could be read on the way."""
    last_notice = time.monotonic()
    with Client(url, tls=None if tls is None else tls.context()) as client:
        while not client.is_ready():
            if time.monotonic() - last_notice > _SECONDS_BETWEEN_NOTICES:
                last_notice = time.monotonic()
                notices().print("Not ready yet. Once the API runs, it prints here what is missing.")
            time.sleep(0.1)
    console = results()
    console.print(f"Bookprint is ready at {url} ({time.monotonic() - started:.1f} s)", style="bold green")
    if _logs_as_json():
        return
    option = "" if url == DEFAULT_URL else f" --url {url}"
    console.print(f"  post books       bookprint ingest FOLDER{option}", soft_wrap=True)
    console.print(f"  find duplicates  bookprint lookup FILE{option}", soft_wrap=True)
    console.print(f"  pages            {url}/", soft_wrap=True)
    console.print(f"  interface        {url}/docs", soft_wrap=True)
    console.print("  stop             Ctrl-C")


def _logs_as_json() -> bool:
    # Not read from the settings: errors in the settings must be logged too.
    return os.environ.get("BOOKPRINT_LOG_FORMAT") == "json"
