"""The pages on real servers, asked as a browser does."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from tests.api.conftest import application, asking, services, settings

__all__ = ["application", "services", "settings"]

OF_BROWSERS = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
"""Header fields that a browser sends with a form of our own pages."""


@pytest.fixture
async def browser(application: FastAPI) -> AsyncIterator[AsyncClient]:
    """What reads pages and sends forms, without scripts; it follows no redirect."""
    async with asking(application) as client:
        client.headers.update(OF_BROWSERS)
        yield client
