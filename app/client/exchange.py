"""What both clients have in common: requests from calls, answers from responses, and when to ask again."""

import logging
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, TypeVar, cast

import httpcore
import httpx
import orjson

from app.client.calls import LINES, Call
from app.client.errors import ClientError, InvalidUrl, NoService, Refused

log = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")

_TIMEOUT = httpx.Timeout(120.0, connect=5.0)  # a very large book takes its time
_PASSING = frozenset({429, 502, 503, 504})
_LIMIT_REACHED = 429
_LONGEST_LIMIT = 150.0
"""Seconds; limits are by the minute, and one of bytes may take two to free."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
"""Seconds; doubled with each try."""


def options(url: str, connections: int, key: str | None, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """The options of an httpx client for the service at `url`.

    Without `tls` the certificates count that the system or SSL_CERT_FILE trusts.

    Raises InvalidUrl, and ClientError for a key that cannot be sent.
    """
    if not url.startswith(("http://", "https://")):
        raise InvalidUrl(f"The URL must start with http:// or https://, which {url} does not.")
    try:
        # A proxy that the environment names has no way back to this machine.
        outside = httpx.URL(url).host not in {"localhost", "127.0.0.1", "::1"}
    except (httpx.InvalidURL, ValueError) as exc:
        raise InvalidUrl(f"{url} is not a URL: {exc}") from exc
    if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
        raise ClientError("The key holds characters that no key has. Copy it again.")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return {
        "base_url": url.rstrip("/"),
        "headers": headers,
        "timeout": _TIMEOUT,
        "limits": limits,
        "trust_env": outside,
        "verify": tls or httpcore.default_ssl_context(),
    }


def request_options(call: Call[Any], opened: ExitStack) -> dict[str, Any]:
    """The options of `httpx.request`; what has to be closed after it goes into `opened`."""
    headers = {} if call.if_version is None else {"If-Match": f'"{call.if_version}"'}
    options: dict[str, Any] = {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "headers": headers,
        "follow_redirects": call.method == "GET",
    }
    if (upload := call.upload) is not None:
        options["files"] = {"file": (upload.name, opened.enter_context(upload.open()))}
        if upload.metadata is not None:
            options["files"]["metadata"] = (None, upload.metadata, upload.metadata_type)
    elif call.content is not None:
        options["content"] = call.content
        headers["Content-Type"] = call.content_type
    return options


def answer_of(call: Call[AnswerT], response: httpx.Response) -> AnswerT:
    """What the service answered; raises Refused, or ClientError where it is no Bookprint."""
    if not response.is_success:
        raise Refused(response.status_code, problem_text(response), _problem_type(response))
    try:
        if call.content_type == LINES:
            return cast(AnswerT, [orjson.loads(line) for line in response.content.splitlines()])
        return cast(AnswerT, orjson.loads(response.content) if response.content else None)
    except orjson.JSONDecodeError as exc:
        raise ClientError(f"What answers at {response.url} is not Bookprint. Check the URL.") from exc


class Retries:
    """Tells how long to wait before a call is sent again, and when not to any more."""

    def __init__(self, url: str, call: Call[Any], seconds: float, now: float) -> None:
        """`now` and later moments are seconds of any one clock."""
        self._url = url
        self._call = call
        self._deadline = now + seconds
        self._pause = _FIRST_PAUSE

    def after_response(self, response: httpx.Response, now: float) -> float | None:
        """Seconds to wait; None: the response is final. Raises NoService at the end of the patience."""
        if response.status_code not in _PASSING:
            return None
        wait = max(self._pause, _retry_after(response))
        if response.status_code == _LIMIT_REACHED and wait <= _LONGEST_LIMIT:
            log.warning("%s Waiting %.0f s.", problem_text(response), wait)
            self._deadline += wait
            return wait
        if now + wait > self._deadline:
            raise NoService(f"{self._url} cannot serve now: {problem_text(response)}")
        return self._waited(wait)

    def after_error(self, error: httpx.TransportError, now: float) -> float:
        """Seconds to wait after a connection failed; raises NoService at the end of the patience.

        Raises ClientError at once where the service's certificate is not trusted.
        """
        if _distrust(error) is not None:
            raise missing(self._url, error) from error
        if not self._call.repeatable and not isinstance(error, httpx.ConnectError):
            raise NoService(
                f"The answer to {self._call.method} {self._call.path} was lost, so it may have been done. "
                "Look before you send it again."
            ) from error
        if now + self._pause > self._deadline:
            raise missing(self._url, error) from error
        return self._waited(self._pause)

    def _waited(self, wait: float) -> float:
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return wait


def missing(url: str, error: httpx.TransportError) -> ClientError:
    """The error where nothing answers that can be trusted."""
    if (reason := _distrust(error)) is not None:
        return ClientError(
            f"The certificate of {url} is not trusted: {reason}. Name a file with the certificate of its "
            "authority in SSL_CERT_FILE."
        )
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError) and url.startswith("http://"):
        return NoService(
            f"What answers at {url} does not speak plain HTTP. If it has TLS, write https:// for http://."
        )
    return NoService(f"No service answers at {url}. Start one with: bookprint serve")


def _distrust(error: BaseException | None) -> str | None:
    """The reason why a certificate was refused, None where something else went wrong."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def problem_text(response: httpx.Response) -> str:
    """The message of a problem document, in one line."""
    problem = _document(response)
    parts = [str(problem[name]) for name in ("title", "detail") if problem.get(name)]
    if not parts:
        return f"HTTP {response.status_code}"
    return f"HTTP {response.status_code}: {'. '.join(part.rstrip('.') for part in parts)}."


def _problem_type(response: httpx.Response) -> str:
    """The last part of the type of a problem document."""
    return str(_document(response).get("type") or "http").rpartition(":")[2]


def _document(response: httpx.Response) -> Mapping[str, Any]:
    try:
        document = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(response: httpx.Response) -> float:
    try:
        return float(response.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0
