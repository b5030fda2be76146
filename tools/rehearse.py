"""Starts what tools.dockerfile has built, as a container engine would: `python -m tools.rehearse FOLDER`.

First the image alone, with its own CMD, until its HEALTHCHECK passes: the servers are then those that it
brings along. Then, where DATABASE_URL and REDIS_URL name servers, the commands of docker-compose.yml on them:
`migrate` must end well, after it `api` and `worker` must stay up, the API healthy and aware of a worker.
Ports are changed to free ones; everything is stopped by SIGTERM and must be gone within 30 seconds.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from urllib.request import Request, urlopen

import yaml

from tools.dockerfile import Build, Stage, parse

START_SECONDS = 120
STOP_SECONDS = 30
IMAGE_PORT = "8000"
KEY = {"BOOKPRINT_ADMIN_KEY": token_hex(32)}


def rehearse_image(build: Build, stage: Stage) -> None:
    """Run the image's CMD until its HEALTHCHECK passes, then stop it."""
    if stage.command is None:
        raise SystemExit("The image has no CMD.")
    port = free_port()
    with running(build, with_port(stage.command.command, port), KEY) as process:
        wait_healthy(build, stage, port, process)
    print("The image's CMD became healthy and ended on SIGTERM.", flush=True)


def rehearse_compose(build: Build, stage: Stage, urls: dict[str, str]) -> None:
    """Run the compose file's commands of ours on the servers given."""
    services = yaml.safe_load(Path("docker-compose.yml").read_text(encoding="utf-8"))["services"]
    port = free_port()
    status = build.execute(services["migrate"]["command"], urls).wait(START_SECONDS)
    if status != 0:
        raise SystemExit(f"migrate ended with status {status}.")
    with ExitStack() as stack:
        api = stack.enter_context(running(build, with_port(services["api"]["command"], port), urls | KEY))
        worker = stack.enter_context(running(build, services["worker"]["command"], urls))
        wait_healthy(build, stage, port, api)
        deadline = time.monotonic() + START_SECONDS
        while "No worker" in (health := ready(port)):
            if time.monotonic() > deadline or worker.poll() is not None:
                raise SystemExit(f"The API sees no worker: {health}")
            time.sleep(0.5)
    print("The compose file's migrate, api and worker ran on the servers given.", flush=True)


def wait_healthy(build: Build, stage: Stage, port: int, process: subprocess.Popen[bytes]) -> None:
    """Repeat the image's HEALTHCHECK until it passes."""
    if stage.healthcheck is None:
        raise SystemExit("The image has no HEALTHCHECK.")
    command = with_port(stage.healthcheck.command, port)
    deadline = time.monotonic() + START_SECONDS
    while build.execute(command, quiet=True).wait() != 0:
        if process.poll() is not None:
            raise SystemExit(f"The service ended with status {process.returncode}.")
        if time.monotonic() > deadline:
            raise SystemExit(f"The service was not healthy within {START_SECONDS} s.")
        time.sleep(0.5)


@contextmanager
def running(
    build: Build, command: Sequence[str], variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the image; at the end it is asked to stop and must do so, with status 0."""
    process = build.execute(list(command), variables)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        status = process.wait(STOP_SECONDS)
        if status != 0:
            raise SystemExit(f"{' '.join(command)} ended with status {status} on SIGTERM.")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def with_port(command: Sequence[str], port: int) -> list[str]:
    """The command with the image's port replaced."""
    return [word.replace(IMAGE_PORT, str(port)) for word in command]


def free_port() -> int:
    """A free port of loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def ready(port: int) -> str:
    """What the API says of its parts."""
    request = Request(
        f"http://127.0.0.1:{port}/health/ready", headers={"X-API-Key": KEY["BOOKPRINT_ADMIN_KEY"]}
    )
    with urlopen(request, timeout=5) as answer:
        return json.dumps(json.load(answer))


def main(arguments: list[str]) -> int:
    """Build the Dockerfile of the current folder in the folder named, and start what comes out."""
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True)
    build = Build(Path.cwd(), folder)
    stage = build.run(parse(Path("Dockerfile").read_text(encoding="utf-8")))
    print("Every step of the Dockerfile ran.", flush=True)
    rehearse_image(build, stage)
    urls = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL") if os.environ.get(name)}
    if len(urls) == 2:
        rehearse_compose(build, stage, urls)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
