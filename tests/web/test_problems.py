"""What people see of an error that nobody has foreseen."""

import re

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html
from structlog.testing import capture_logs

SECRET = "the password of the database is opensesame"


@pytest.fixture
def broken(application: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service of which one part fails on every call."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(application.state.services.clusters, "list_clusters", fail)
    monkeypatch.setattr(application.state.services.decisions, "decide", fail)


async def test_people_get_a_page_and_programs_a_document(browser: AsyncClient, broken: None) -> None:
    books = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46/01935090-11c2-7e0a-8d3f-b5c0a1e27f47"
    for path, data in (("/clusters", None), (f"/pairs/{books}/decision", {"answer": "rejected"})):
        with capture_logs() as logs:
            answer = await browser.request("POST" if data else "GET", path, data=data)
        assert answer.status_code == 500
        assert answer.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        page = html.document_fromstring(answer.text)
        assert page.xpath("string(//title)").startswith("An error of the service")
        alert = page.xpath("string(//p[@role='alert'])")
        number = re.search(r"In the log it is request ([0-9a-f]{32})\.", alert)
        assert number
        assert [log["request"] for log in logs if log["event"] == "request failed"] == [number[1]]
        assert SECRET not in answer.text
        assert "Traceback" not in answer.text

    answer = await browser.get("/v1/clusters", headers={"Accept": "text/html"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:bookprint:problem:internal"
    assert SECRET not in answer.text
