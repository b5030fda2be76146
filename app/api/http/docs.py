"""The page that shows the API: Swagger UI from files of our own, so that it works without a network."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import Response

_FILES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
_PARAMETERS = {
    # Else the page sends its address to a validator on the network.
    "validatorUrl": None,
    "displayRequestDuration": True,
    "tryItOutEnabled": True,
}


def add_docs(app: FastAPI) -> None:
    """Serve the page at /docs and what it needs below it."""

    async def page(request: Request) -> Response:
        root = request.scope.get("root_path", "").rstrip("/")
        return get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=app.title,
            swagger_js_url=f"{root}/docs/swagger-ui-bundle.js",
            swagger_css_url=f"{root}/docs/swagger-ui.css",
            swagger_favicon_url=f"{root}/docs/favicon-32x32.png",
            swagger_ui_parameters=_PARAMETERS,
        )

    app.add_api_route("/docs", page, include_in_schema=False, response_model=None)
    for name, media_type in _FILES.items():
        app.add_api_route(
            f"/docs/{name}", _file(name, media_type), include_in_schema=False, response_model=None
        )


def _file(name: str, media_type: str) -> Callable[[], Awaitable[Response]]:
    async def file() -> Response:
        data = await asyncio.to_thread((files("fastapi_swagger.resources") / name).read_bytes)
        return Response(data, media_type=media_type, headers={"Cache-Control": "max-age=86400"})

    return file
