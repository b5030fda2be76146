"""The OpenAPI document, and the page at /docs that shows it."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from app.api.http import examples, files
from app.api.http.problems import Responses, problems
from app.api.http.routes import FORM, NEEDED, SCHEMES


def with_file() -> dict[str, Any]:
    """Describe the file and the header Accept of an operation that accepts JSON or a file."""
    # OpenAPI tools ignore a parameter named Accept. It makes openapi-python-client 0.29 import a type that
    # its code for two kinds of body needs but does not import (its issue 1451).
    accept = {
        "name": "Accept",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "The media type of the answer.",
    }
    return {"requestBody": {"content": {FORM: files.REQUEST_BODY}}, "parameters": [accept]}


RETRY_AFTER: dict[str, Any] = {
    "description": "Seconds to wait before sending the request again.",
    "schema": {"type": "integer"},
    "example": 7,
}


def with_headers(status: int, **descriptions: str) -> Responses:
    """Describe the headers of the answer with this status, by name."""
    shown = {name: {"description": text, "schema": {"type": "string"}} for name, text in descriptions.items()}
    return {status: {"headers": shown}}


_PARAMETERS = {
    # None, because the page would otherwise send its address to a validator on the network.
    "validatorUrl": None,
    "displayRequestDuration": True,
    "tryItOutEnabled": True,
}

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page. Inline styles are allowed, because Swagger UI sets them."""


class DescribedApi(FastAPI):
    """An application whose OpenAPI document includes keys and refusals of each operation."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; keys are optional in it if the service does not require them."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        document["components"]["securitySchemes"] = SCHEMES
        examples.add_to(document["components"]["schemas"])
        for path in document["paths"].values():
            for operation in path.values():
                if NEEDED in operation:
                    described = {str(status): answer for status, answer in problems(401, 403, 429).items()}
                    described["429"] |= {"headers": {"Retry-After": RETRY_AFTER}}
                    operation["responses"] = described | operation["responses"]
                    if not self.state.asks_for_keys:
                        operation["security"] = [{}, *operation["security"]]
        return document


def add_docs(app: FastAPI) -> None:
    """Serve the page at /docs, and its files below /docs."""

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
    """Return the policy that allows only the scripts of this page."""
    digests = (b64encode(sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    return _POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))
