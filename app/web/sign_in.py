"""Sign-in with an API key, and sign-out."""

import re
from typing import Annotated

from fastapi import Form, Request
from starlette.responses import Response

from app.api.http.deps import ServicesDep
from app.api.http.usage import count_attempt, count_request
from app.services.access.keys import NoValidKey
from app.services.access.sessions import LASTING
from app.web.rendering import page, redirect
from app.web.routes import PageRouter, cookie_name, session_of

router = PageRouter()

_OWN_PATH = re.compile(r"/(?![/\\])[^\x00-\x20]*")
_LONGEST_PATH = 2_000  # characters


@router.get("/sign-in", scope=None)
async def show_sign_in(request: Request, to: str = "/") -> Response:
    """Show the form for a key, or redirect if no key is required."""
    if not request.app.state.asks_for_keys:
        return redirect(request, _own_path(to))
    return page(request, "sign_in.html", to=_own_path(to), refused=False)


@router.post("/sign-in", scope=None)
async def sign_in(
    request: Request,
    services: ServicesDep,
    key: Annotated[str, Form()],
    to: Annotated[str, Form()] = "/",
) -> Response:
    """Begin a session and redirect to the requested page. The sign-in counts as a request with the key."""
    key = key.strip()
    try:
        if (caller := await services.keys.caller_of(key)) is not None:
            await count_request(request.scope, caller)
        token = await services.sessions.begin(key)
    except NoValidKey:
        await count_attempt(request.scope)
        return page(request, "sign_in.html", 403, to=_own_path(to), refused=True)
    answer = redirect(request, _own_path(to))
    # Browsers store no Secure cookie without TLS. Plain HTTP is only used on this machine.
    answer.set_cookie(
        cookie_name(request.scope),
        token,
        max_age=int(LASTING.total_seconds()),
        secure=request.scope["scheme"] == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


@router.post("/sign-out", scope=None)
async def sign_out(request: Request, services: ServicesDep) -> Response:
    """End the session of this browser."""
    if (session := await session_of(request.scope)) is not None:
        await services.sessions.delete(session.id)
    answer = redirect(request, "/sign-in")
    answer.delete_cookie(cookie_name(request.scope), secure=request.scope["scheme"] == "https", httponly=True)
    return answer


def _own_path(path: str) -> str:
    """Return the path if it is on this service, else the path of the first page."""
    return path if len(path) <= _LONGEST_PATH and _OWN_PATH.fullmatch(path) else "/"
