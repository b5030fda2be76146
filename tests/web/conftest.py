"""The pages on real servers, asked as a browser does."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html

from app.settings import Settings
from app.wiring import Services, open_stores
from tests.api.conftest import asking, started
from tests.open_services import with_stores

OF_BROWSERS = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
"""Header fields that a browser sends with a form of our own pages."""


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url)


@pytest.fixture
async def application(settings: Settings) -> AsyncIterator[FastAPI]:
    async with started(settings) as app:
        yield app


@pytest.fixture
async def services(application: FastAPI, settings: Settings) -> AsyncIterator[Services]:
    async with open_stores(settings) as stores:
        yield with_stores(application.state.services, stores)


@pytest.fixture
async def browser(application: FastAPI) -> AsyncIterator[AsyncClient]:
    """What reads pages and sends forms, without scripts; it follows no redirect."""
    async with asking(application) as client:
        client.headers.update(OF_BROWSERS)
        yield client


async def shown(browser: AsyncClient, path: str, **query: Any) -> html.HtmlElement:
    """The page at a path, which is well-formed and runs nothing that a title says."""
    answer = await browser.get(path, params=query or None, follow_redirects=True)
    assert answer.status_code == 200, answer.text[:2000]
    assert "<script>alert" not in answer.text
    document = html.document_fromstring(answer.text)
    assert len(document.xpath("//h1")) == 1
    ids = document.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert not document.xpath("//script[not(@src)] | //style | //@style | //th[not(@scope)]")
    assert not [name for each in document.iter("*") for name in each.attrib if name.startswith("on")]
    return document
