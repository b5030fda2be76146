"""A client of a running service over HTTP; its errors say what to do."""

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx
import orjson

_TIMEOUT = httpx.Timeout(120.0, connect=5.0)  # a very large book takes its time
_PASSING = frozenset({429, 502, 503, 504})
_FIRST_DELAY = 0.25  # seconds; doubles with each try
_LONGEST_DELAY = 5.0


class ClientError(Exception):
    """A request that cannot succeed; the message says what to do."""


class InvalidUrl(ClientError):
    """The URL cannot be that of a service."""


class Refused(ClientError):
    """The service answered with an error; the message is its own."""

    def __init__(self, http_status: int, detail: str, problem: str = "http") -> None:
        super().__init__(detail)
        self.http_status = http_status
        self.problem = problem
        """Last part of the problem type."""


class NoService(ClientError):
    """Nothing answers at the URL, or the answer stays that it cannot serve now."""


class Interrupted(Exception):
    """The user ended the command while it waited to ask again."""


class Client:
    """Asks the service at `url`; safe for threads.

    While it is down or overloaded it is asked again for `patience` seconds; setting `stop` ends the waiting.
    """

    def __init__(self, url: str, connections: int = 1, patience: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self.stop = threading.Event()
        self._patience = patience
        if not self.url.startswith(("http://", "https://")):
            raise InvalidUrl(f"The URL must start with http:// or https://, which {url} does not.")
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        try:
            # A proxy that the environment names has no way back to this machine.
            outside = httpx.URL(self.url).host not in {"localhost", "127.0.0.1", "::1"}
            self._client = httpx.Client(base_url=self.url, timeout=_TIMEOUT, limits=limits, trust_env=outside)
        except (httpx.InvalidURL, ValueError) as exc:
            raise InvalidUrl(f"{url} is not a URL: {exc}") from exc

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def insist(self) -> None:
        """Raise NoService when nothing answers."""
        try:
            self._client.get("/health/live")
        except httpx.TransportError as exc:
            raise self._missing() from exc

    def shortfall(self) -> str | None:
        """The reason why the service is not ready; None when it is."""
        try:
            response = self._client.get("/health/ready", timeout=5.0)
        except httpx.TransportError:
            return "the API does not answer yet"
        return None if response.is_success else _detail(response)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The JSON at a path; raises Refused or NoService."""
        return self._answer(self._request("GET", path, query, None))

    def post(self, path: str, body: Mapping[str, Any], query: Mapping[str, str] | None = None) -> Any:
        """Post JSON, and return the JSON that answers; raises Refused or NoService.

        Only for posts that may be repeated: after a lost answer the post is sent again.
        """
        return self._answer(self._request("POST", path, query, orjson.dumps(body)))

    def delete(self, path: str) -> None:
        """Delete the resource at a path, if there is one; raises Refused or NoService."""
        response = self._request("DELETE", path, None, None)
        if not response.is_success and response.status_code != 404:
            raise Refused(response.status_code, _detail(response))

    def _request(
        self, method: str, path: str, query: Mapping[str, str] | None, content: bytes | None
    ) -> httpx.Response:
        headers = {"Content-Type": "application/json"} if content is not None else {}
        deadline = time.monotonic() + self._patience
        delay = _FIRST_DELAY
        while True:
            try:
                response = self._client.request(method, path, params=query, content=content, headers=headers)
            except httpx.TransportError as exc:
                if time.monotonic() + delay > deadline:
                    raise self._missing() from exc
                wait = delay
            else:
                if response.status_code not in _PASSING:
                    return response
                wait = max(delay, _retry_after(response))
                if time.monotonic() + wait > deadline:
                    raise NoService(f"{self.url} cannot serve now: {_detail(response)}")
            if self.stop.wait(wait):
                raise Interrupted
            delay = min(2 * delay, _LONGEST_DELAY)

    def _answer(self, response: httpx.Response) -> Any:
        if response.is_success:
            try:
                return orjson.loads(response.content)
            except orjson.JSONDecodeError as exc:
                raise ClientError(f"What answers at {self.url} is not Bookprint. Check the URL.") from exc
        raise Refused(response.status_code, _detail(response), _problem(response))

    def _missing(self) -> NoService:
        return NoService(f"No service answers at {self.url}. Start one with: bookprint serve")


def _retry_after(response: httpx.Response) -> float:
    try:
        return float(response.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0


def _detail(response: httpx.Response) -> str:
    """The message of a problem document, in one line."""
    problem = _document(response)
    parts = [str(problem[name]) for name in ("title", "detail") if problem.get(name)]
    if not parts:
        return f"HTTP {response.status_code}"
    return f"HTTP {response.status_code}: {'. '.join(part.rstrip('.') for part in parts)}."


def _problem(response: httpx.Response) -> str:
    """The last part of the type of a problem document."""
    return str(_document(response).get("type") or "http").rpartition(":")[2]


def _document(response: httpx.Response) -> Mapping[str, Any]:
    try:
        document = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}
