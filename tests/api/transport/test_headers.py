"""What the headers of answers let browsers do."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from app.settings import Settings
from tests.api.example_requests import example_requests, make_present
from tests.api.transport.real_server import listening

ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}
PATHS = ["/v1/books", "/health/live", "/openapi.json", "/none", "/v1/books/none"]


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_them(path: str, client: AsyncClient) -> None:
    answer = await client.get(path)
    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    assert "strict-transport-security" not in answer.headers
    assert "server" not in answer.headers


async def test_over_tls_browsers_are_told_to_stay_with_it(client: AsyncClient) -> None:
    answer = await client.get("https://localhost/health/live")
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


async def test_the_page_of_the_api_may_run_its_own_scripts_alone(client: AsyncClient) -> None:
    answer = await client.get("/docs")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    scripts = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert scripts
    for script in scripts:
        digest = b64encode(sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy["script-src"]
    outside = re.findall(r'(?:src|href)="(?!/docs/)([^"]+)"', answer.text)
    assert outside == []


async def test_head_is_answered_as_get_without_a_body(application: FastAPI) -> None:
    pages = ["/", "/docs", "/openapi.json", "/docs/swagger-ui.css"]
    async with listening(application) as port, AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        present = await make_present(client, 1)
        requests = [each.on(client, present) for each in example_requests() if each.method == "GET"]
        for asked in (*requests, *(client.build_request("GET", page) for page in pages)):
            got = await client.send(asked)
            head = await client.head(asked.url)
            assert (head.status_code, head.content) == (got.status_code, b""), asked.url
            assert head.headers.keys() == got.headers.keys()
        refused = await client.head("/v1/lookups")
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("proxies", ["*", "proxy.example.org", "10.0.0.1/8"])
def test_proxies_are_named_by_address(proxies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKPRINT_TRUSTED_PROXIES", proxies)
    with pytest.raises(ValueError, match="address or network"):
        Settings()


@pytest.mark.parametrize("origin", ["*", "catalog.example.org", "https://catalog.example.org/"])
def test_origins_are_named_whole(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKPRINT_CORS_ORIGINS", origin)
    with pytest.raises(ValueError, match="is not an origin"):
        Settings()
