"""Answers beside the success of an operation, as FastAPI's `responses` describes them."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from app.api.http import examples, files
from app.api.http.problems import MEDIA_TYPE, Problem
from app.api.http.routes import FORM, NEEDED, SCHEMES

_DESCRIPTIONS = {
    400: "The body is not well-formed.",
    401: "The request has no valid API key.",
    403: "The API key lacks the scope of the operation, which `scope` names, or is bound to a collection "
    "that a book of the request is outside of.",
    404: "There is no such book, cluster, job, relation, decision, page or webhook.",
    406: "None of the types in Accept can be answered.",
    409: "Another book is in the way, `book_id` names it; nothing is to be confirmed; a text is not kept; "
    "more pages match than are written one by one; or there are no vectors to go by.",
    410: "The changes asked for are not kept any more.",
    412: "The book has changed since the version in If-Match.",
    413: "The body or the file, or the text in it, is larger than this service takes.",
    415: "The body is of a type, or the file in a format, that is not read here.",
    422: "The request is invalid; `errors` names each field and what to do about it.",
    429: "A limit of the key is reached, `violated-policies` names it; try again after Retry-After seconds.",
    503: "A part of the service is down or being rebuilt, or too much is asked of it; try again after "
    "Retry-After seconds.",
}

Responses = dict[int | str, dict[str, Any]]


class ProblemResponse(JSONResponse):
    """The only answer with a body of an operation that answers 204."""

    media_type = MEDIA_TYPE


def problems(*statuses: int) -> Responses:
    """The problems that an operation can end in."""
    # FastAPI describes a `model` under the media type of the success, so these refer to its schema.
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status: {"description": _DESCRIPTIONS[status], "content": content} for status in statuses}


def problems_only(*statuses: int) -> Responses:
    """The problems of an operation whose response class is `ProblemResponse`."""
    return {status: {"description": _DESCRIPTIONS[status], "model": Problem} for status in statuses}


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
