"""Rendering of pages from templates: common frame, security headers, and error pages."""

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from app.api.http.problems import Problem
from app.services.access.keys import ANYONE, Caller
from app.web.routes import PageRoute, session_of
from bookprint_core.errors import Unavailable
from bookprint_core.metadata import FIELDS, Metadata

_FIELDS = {each.name: each.label for each in FIELDS} | {"metadata": "MARC record"}
"""Labels of form fields, by the field names in errors."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "private, no-store",
}
"""Header fields of every page. Pages contain no inline script or style, so no hash is needed."""

templates = Environment(
    loader=PackageLoader("app.web"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    auto_reload=False,
)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template to a response with these values.

    Each template can use `caller` (None if nobody has signed in), `url(path)` for addresses of this service,
    and the filters `number`, `share` and `moment`.
    """
    return HTMLResponse(rendered(request, template, **values), status, HEADERS)


def rendered(request: Request, template: str, **values: Any) -> str:
    return templates.get_template(template).render(values | _frame(request))


def redirect(request: Request, path: str) -> RedirectResponse:
    """Redirect the browser to a page of this service after a form was handled."""
    return RedirectResponse(_root(request) + path, 303, HEADERS)


async def page_of_problem(request: Request, problem: Problem) -> Response | None:
    """Return an error as a page; None if the client wants a problem document."""
    route = request.scope.get("route")
    if not isinstance(route, PageRoute) and (
        route is not None or "text/html" not in request.headers.get("accept", "")
    ):
        return None
    if problem.status == 401 and request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        return redirect(request, f"/sign-in?to={quote(request.scope['path'] + query, safe='')}")
    await _name_caller(request)
    return page(request, "problem.html", problem.status, problem=problem, fields=_FIELDS)


async def _name_caller(request: Request) -> None:
    """Set the caller for the menu of an error page, if no route has set it."""
    state = request.scope.setdefault("state", {})
    if "caller" not in state and not request.app.state.asks_for_keys:
        state["caller"] = ANYONE
    elif "caller" not in state:
        with suppress(Unavailable):
            session = await session_of(request.scope)
            state["caller"] = session and session.caller


def _frame(request: Request) -> dict[str, Any]:
    """Return the values that the frame of every page needs."""
    state = request.scope.get("state", {})
    caller: Caller | None = state.get("caller")
    root = _root(request)
    return {
        "caller": caller,
        "asks_for_keys": request.app.state.asks_for_keys and caller != ANYONE,
        "queued": state.get("queued"),
        "path": request.scope["path"],
        "url": lambda path: root + path,
    }


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/")


def facts(metadata: Metadata) -> dict[str, str]:
    """Return the metadata of a book, by field label."""
    values = {each.label: getattr(metadata, each.name) for each in FIELDS}
    return {
        name: "; ".join(value) if isinstance(value, tuple) else str("" if value is None else value)
        for name, value in values.items()
    }


def _share(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}%}"


templates.filters |= {
    "begun": lambda text: text[:1].upper() + text[1:],
    "facts": facts,
    "number": lambda value: f"{value:,}",
    "share": _share,
    "moment": lambda value: f"{value:%-d %B %Y, %H:%M} UTC",
    "person": lambda name: name or "unknown",
}
