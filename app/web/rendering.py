"""Pages from templates: the frame that all share, what a browser may load with them, and errors as pages."""

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
"""The fields of forms by the names that errors give them."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "private, no-store",
}
"""Header fields of every page. It has no code and no style of its own, so no digest is named."""

templates = Environment(
    loader=PackageLoader("app.web"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    auto_reload=False,
)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template; `values` are what the template shows.

    Each template can use `caller` (None: nobody has signed in), `url(path)` for addresses of this service,
    and the filters `number`, `share` and `moment`.
    """
    return HTMLResponse(rendered(request, template, **values), status, HEADERS)


def rendered(request: Request, template: str, **values: Any) -> str:
    return templates.get_template(template).render(values | _frame(request))


def redirect(request: Request, path: str) -> RedirectResponse:
    """Send the browser on to a page of this service after a form has been acted on."""
    return RedirectResponse(_root(request) + path, 303, HEADERS)


async def page_of_problem(request: Request, problem: Problem) -> Response | None:
    """An error as a page; None where a program asked, which gets the document."""
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
    """Find out who has signed in, whom no route has told where there is no page: the menu is for them."""
    state = request.scope.setdefault("state", {})
    if "caller" not in state and not request.app.state.asks_for_keys:
        state["caller"] = ANYONE
    elif "caller" not in state:
        with suppress(Unavailable):
            session = await session_of(request.scope)
            state["caller"] = session and session.caller


def _frame(request: Request) -> dict[str, Any]:
    """What the frame of every page shows."""
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
    """The known metadata of a book, by the name of the field."""
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
