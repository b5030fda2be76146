"""Handlers: every error of a request is answered with a problem document."""

from collections.abc import Sequence

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.admission import Overloaded
from app.api.http.bodies import BodyTooSlow
from app.api.http.problems import problem_response
from app.api.http.usage import LimitReached
from app.core.errors import BookprintError

log = structlog.get_logger()

_DENIED = frozenset({401, 403, 429})


def install_handlers(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Let the application answer every foreseen error, the router's own included, with a problem.

    `routes` are all routes of the application; they show which methods a path takes.
    """

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 405:
            error = HTTPException(405, headers={"Allow": ", ".join(_allowed_methods(routes, request.scope))})
        response = problem_response(error)
        if isinstance(error, BookprintError | LimitReached) and response.status_code in _DENIED:
            app.state.metrics.count_denied(error.problem)
        return response

    for kind in (BookprintError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


class UnhandledErrors:
    """Logs unforeseen errors and answers them with a problem that shows nothing of the inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ClientDisconnect:
            log.info("client went away", method=scope["method"], path=scope["path"])
        except (BodyTooSlow, Overloaded) as error:
            # Of an answer that has begun; without its end the connection is closed.
            log.info("an answer ends early", method=scope["method"], path=scope["path"], reason=error.detail)
        except Exception as error:
            log.exception("request failed", method=scope["method"], path=scope["path"])
            if begun:
                raise
            await problem_response(error)(scope, receive, send)


def _allowed_methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    matching = (route for route in routes if route.matches(scope)[0] is not Match.NONE)
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
