"""The first page: what the library holds, what is being worked on, and what changed lately."""

from fastapi import Request
from starlette.responses import Response

from app.web.rendering import page
from app.web.routes import PageRouter

router = PageRouter()


@router.get("/", scope="read")
async def show_library(request: Request) -> Response:
    """What is there, and what is going on."""
    return page(request, "library.html")
