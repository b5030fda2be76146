"""The description of the API, and the page that shows it.

The page is Swagger UI from files of our own, so that it works without a network.
"""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from app.api.http.access import NEEDED, SCHEMES
from app.api.http.openapi import USAGE_HEADERS, problems, with_usage

_PARAMETERS = {
    # Else the page sends its address to a validator on the network.
    "validatorUrl": None,
    "displayRequestDuration": True,
    "tryItOutEnabled": True,
}

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a browser may load with the page (Content-Security-Policy). Swagger UI sets styles on elements."""


class DescribedApi(FastAPI):
    """An application whose description names the keys and the refusals of each operation."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer HEAD as GET; the server leaves the body out."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; where no key is asked for, one need not be sent."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        document["components"]["securitySchemes"] = SCHEMES
        document["components"]["headers"] = USAGE_HEADERS
        for path in document["paths"].values():
            for operation in path.values():
                if NEEDED in operation:
                    described = {str(status): answer for status, answer in problems(401, 403, 429).items()}
                    operation["responses"] = with_usage(described | operation["responses"])
                    if not self.state.asks_for_keys:
                        operation["security"] = [{}, *operation["security"]]
        return document


def add_docs(app: FastAPI) -> None:
    """Serve the page at /docs and the files it needs below it; / leads there."""

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        # Relative, because a proxy may serve the API below another path.
        return RedirectResponse("docs", 307)

    @app.get("/docs", include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        prefix = request.scope.get("root_path", "").rstrip("/")
        page = get_swagger_ui_html(
            openapi_url=f"{prefix}{app.openapi_url}",
            title=app.title,
            swagger_js_url=f"{prefix}/docs/swagger-ui-bundle.js",
            swagger_css_url=f"{prefix}/docs/swagger-ui.css",
            swagger_favicon_url=f"{prefix}/docs/favicon-32x32.png",
            swagger_ui_parameters=_PARAMETERS,
        )
        page.headers["Content-Security-Policy"] = _policy(bytes(page.body))
        return page

    app.mount("/docs", StaticFiles(packages=[("fastapi_swagger", "resources")]))


def _policy(page: bytes) -> str:
    """The policy that lets the scripts in this page run, and no other."""
    digests = (b64encode(sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    return _POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))
