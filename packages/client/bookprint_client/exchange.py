"""The exchange that both clients share: errors, requests from calls, answers, and retries."""

import json
import logging
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import httpx

from bookprint_client.call import LINES, AnswerT, Call

log = logging.getLogger(__name__)

_TIMEOUT = httpx.Timeout(120.0, connect=5.0)  # a very large book may need minutes
_PASSING = frozenset({429, 502, 503, 504})
_LIMIT_REACHED = 429
_LONGEST_LIMIT = 150.0
"""Longest wait for a limit, in seconds. Limits are per minute; a limit of bytes may need two minutes."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
"""First and longest pause between attempts, in seconds. The pause doubles with each attempt."""


class ClientError(Exception):
    """The request cannot succeed. The message contains advice."""


class InvalidUrl(ClientError):
    """The URL cannot belong to a service."""


class Refused(ClientError):
    """The service answered with an error, whose text is the message.

    `problem` is the last part of the problem type.
    """

    def __init__(self, http_status: int, detail: str, problem: str = "http") -> None:
        super().__init__(detail)
        self.http_status = http_status
        self.problem = problem


class NoService(ClientError):
    """No service answers at the URL, the service stays overloaded, or it refuses the key."""


class Interrupted(Exception):
    """The user ended the command during a wait between attempts."""


def http_options(url: str, connections: int, key: str | None, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """Return the options of an httpx client for the service at `url`.

    Raises InvalidUrl, and ClientError for a key that cannot be sent.
    """
    if not url.startswith(("http://", "https://")):
        raise InvalidUrl(f"The URL must start with http:// or https://, which {url} does not.")
    try:
        # A proxy from the environment cannot reach this machine's loopback addresses.
        outside = httpx.URL(url).host not in {"localhost", "127.0.0.1", "::1"}
    except (httpx.InvalidURL, ValueError) as exc:
        raise InvalidUrl(f"{url} is not a URL: {exc}") from exc
    if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
        raise ClientError("The key contains characters that are not allowed in a key. Copy it again.")
    return {
        "base_url": url.rstrip("/"),
        "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
        "timeout": _TIMEOUT,
        "limits": httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        "trust_env": outside,
        "verify": tls or _default_tls(),
    }


def _default_tls() -> ssl.SSLContext:
    """Return a context that trusts the authorities of httpx, and of the system or SSL_CERT_FILE."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


@contextmanager
def request_options(call: Call[Any]) -> Iterator[dict[str, Any]]:
    """Yield the options for `httpx.request`. A file among them is closed at the end."""
    headers = {} if call.if_version is None else {"If-Match": f'"{call.if_version}"'}
    if call.accept is not None:
        headers["Accept"] = call.accept
    options: dict[str, Any] = {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "headers": headers,
        "follow_redirects": call.method == "GET",
    }
    with ExitStack() as opened:
        if (upload := call.upload) is not None:
            options["files"] = {"file": (upload.name, opened.enter_context(upload.open()))}
            if upload.metadata is not None:
                options["files"]["metadata"] = (None, upload.metadata, upload.metadata_type)
        elif call.content is not None:
            options["content"] = call.content
            headers["Content-Type"] = call.content_type
        yield options


def answer_of(call: Call[AnswerT], response: httpx.Response) -> AnswerT:
    """Return the service's answer. Raises Refused, or ClientError if the server is not Bookprint."""
    if not response.is_success:
        problem_type = str(_problem(response).get("type") or "http").rpartition(":")[2]
        raise Refused(response.status_code, _problem_text(response), problem_type)
    try:
        if call.content_type == LINES:
            return cast(AnswerT, [json.loads(line) for line in response.content.splitlines()])
        if call.accept is not None:
            return cast(AnswerT, response.content.decode())
        return cast(AnswerT, json.loads(response.content) if response.content else None)
    except ValueError as exc:
        raise ClientError(f"The server at {response.url} is not Bookprint. Check the URL.") from exc


class Retries:
    """Rule for the waits between attempts to send a call, and for giving up."""

    def __init__(self, url: str, call: Call[Any], patience: float) -> None:
        self._url = url
        self._call = call
        self._deadline = time.monotonic() + patience
        self._pause = _FIRST_PAUSE

    def after_response(self, response: httpx.Response) -> float | None:
        """Return the seconds to wait, or None if the response is final. Raises NoService after `patience`."""
        if response.status_code not in _PASSING:
            return None
        wait = max(self._pause, _retry_after(response))
        if response.status_code == _LIMIT_REACHED and wait <= _LONGEST_LIMIT:
            log.warning("%s Waiting %.0f s.", _problem_text(response), wait)
            self._deadline += wait
            return wait
        if time.monotonic() + wait > self._deadline:
            raise NoService(f"{self._url} cannot serve now: {_problem_text(response)}")
        return self._waited(wait)

    def after_error(self, error: httpx.TransportError) -> float:
        """Return the seconds to wait after a connection failed. Raises NoService after `patience`.

        Raises an error immediately if the call is not repeatable or the certificate is not trusted.
        """
        if _distrust(error) is not None:
            raise missing(self._url, error) from error
        if not self._call.repeatable and not isinstance(error, httpx.ConnectError):
            raise NoService(
                f"The answer to {self._call.method} {self._call.path} was lost, so it may have been done. "
                "Check before you send it again."
            ) from error
        if time.monotonic() + self._pause > self._deadline:
            raise missing(self._url, error) from error
        return self._waited(self._pause)

    def _waited(self, wait: float) -> float:
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return wait


def missing(url: str, error: httpx.TransportError) -> ClientError:
    """Return the error for a service that does not answer or is not trusted."""
    if (reason := _distrust(error)) is not None:
        return ClientError(
            f"The certificate of {url} is not trusted: {reason}. Name a file with the certificate of its "
            "authority in SSL_CERT_FILE."
        )
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError) and url.startswith("http://"):
        return NoService(
            f"The server at {url} does not speak plain HTTP. If it uses TLS, write https:// for http://."
        )
    return NoService(f"No service answers at {url}. Start one with: bookprint serve")


def _distrust(error: BaseException | None) -> str | None:
    """Return the reason why a certificate was refused, or None for another error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _problem_text(response: httpx.Response) -> str:
    """Return the message of a problem document, on one line."""
    problem = _problem(response)
    parts = [str(problem[name]).rstrip(".") for name in ("title", "detail") if problem.get(name)]
    return f"HTTP {response.status_code}: {'. '.join(parts)}." if parts else f"HTTP {response.status_code}"


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    """Return the problem document in a response, or an empty mapping."""
    try:
        document = json.loads(response.content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(response: httpx.Response) -> float:
    try:
        return float(response.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0
