"""Where a service listens, and whether it is ready to serve."""

import http.client
import json
import socket

from app.cli.output import UserError

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_SECONDS = 5.0


def free_port(host: str, port: int) -> int:
    """The port to listen at, a free one where `port` is 0; raises UserError where it cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as exc:
        raise UserError(f"--host {host} is no address: {exc.strerror}.") from exc
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen()
        except OSError as exc:
            raise UserError(
                f"Cannot listen at {host} port {port}: {exc.strerror}. "
                "Choose another with --port (and --host), or stop what listens there."
            ) from exc
        return int(listener.getsockname()[1])


def url_of(host: str, port: int) -> str:
    """The URL at which this machine reaches a service that listens at `host`."""
    name = _EVERYWHERE.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def missing(host: str, port: int) -> str | None:
    """What a service still lacks before it is ready; None when it is."""
    connection = http.client.HTTPConnection(_EVERYWHERE.get(host, host), port, timeout=_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException):
        return "the API does not answer yet"
    finally:
        connection.close()
    if response.status == 200:
        return None
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    return str(problem.get("detail") if isinstance(problem, dict) else f"HTTP {response.status}")
