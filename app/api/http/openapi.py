"""The OpenAPI document, and the page that shows it."""

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
    """What an operation that takes JSON adds to its description where it takes a file, too."""
    # OpenAPI has tools pass over a parameter of this name. It makes openapi-python-client 0.29 import a type
    # that its code for two kinds of body needs and forgets (its issue 1451).
    accept = {
        "name": "Accept",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "The type of the answer.",
    }
    return {"requestBody": {"content": {FORM: files.REQUEST_BODY}}, "parameters": [accept]}


RETRY_AFTER: dict[str, Any] = {
    "description": "Seconds after which the request may be sent again.",
    "schema": {"type": "integer"},
    "example": 7,
}


def with_headers(status: int, **descriptions: str) -> Responses:
    """The headers of the answer of this status, by name."""
    shown = {name: {"description": text, "schema": {"type": "string"}} for name, text in descriptions.items()}
    return {status: {"headers": shown}}


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

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; where no key is asked for, one need not be sent."""
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
    """Serve the page at /docs and the files it needs below it."""

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
