"""The pages of administrators: what they do is what commands and the API do, and nobody else may."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from lxml import html

from app.services.access.keys import Scope
from app.settings import Settings
from app.stores.postgres.connections import SQL
from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_text
from tests.api.conftest import asking
from tests.api.library import prose
from tests.factories import ACTOR
from tests.open_services import OpenServices
from tests.web.conftest import OF_BROWSERS, shown

HOSTILE = "<script>alert(1)</script> \"' {{ 7*7 }} "


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        auth="keys",
        webhook_allow_hosts="127.0.0.1",  # type: ignore[arg-type]
    )


async def signed_in(client: AsyncClient, services: OpenServices, *scopes: Scope) -> None:
    client.headers.update(OF_BROWSERS)
    key = (await services.keys.create(HOSTILE.strip(), scopes, actor=ACTOR)).text
    assert (await client.post("/sign-in", data={"key": key})).status_code == 303


@pytest.fixture
async def admin(browser: AsyncClient, services: OpenServices) -> AsyncClient:
    await signed_in(browser, services, "admin")
    return browser


@pytest.fixture
async def reader(application: FastAPI, services: OpenServices) -> AsyncIterator[AsyncClient]:
    async with asking(application) as client:
        await signed_in(client, services, "read")
        yield client


async def test_a_key_is_made_shown_once_rotated_and_revoked(
    admin: AsyncClient, services: OpenServices
) -> None:
    form = {"name": "Bea", "scopes": ["read", "decide"], "collection": "lent", "expires": "2099-12-31"}
    made = html.document_fromstring((await admin.post("/admin/keys", data=form)).text)
    [text] = made.xpath("//code[@class='secret']/text()")
    caller = await services.keys.caller_of(text)
    assert caller is not None
    assert (caller.name, caller.collection) == ("Bea", "lent")
    [key] = [key for key in await services.keys.list_keys() if key.name == "Bea"]
    assert text not in (await admin.get("/admin/keys")).text

    path = f"/admin/keys/{key.id}"
    assert "Bea" in (await shown(admin, f"{path}/rotate")).text_content()
    rotated = html.document_fromstring((await admin.post(f"{path}/rotate")).text)
    assert rotated.xpath("//code[@class='secret']/text()") != [text]
    assert "Revoke this key for ever?" in (await shown(admin, f"{path}/revoke")).text_content()
    assert (await services.keys.get(key.id)).revoked_at is None
    assert (await admin.post(f"{path}/revoke")).status_code == 303
    assert (await services.keys.get(key.id)).revoked_at is not None
    assert (await admin.post(f"{path}/rotate")).status_code == 404
    assert (await admin.post("/admin/keys", data={"name": "x"})).status_code == 422


async def test_a_session_is_ended(admin: AsyncClient, reader: AsyncClient, services: OpenServices) -> None:
    [session] = [each for each in await services.sessions.list_open() if each.caller.scopes == ("read",)]
    path = f"/admin/sessions/{session.id}/end"
    assert (await shown(admin, "/admin/sessions")).xpath(f"//form[@action='{path}']")
    assert (await admin.post(path)).status_code == 303
    assert (await reader.get("/")).status_code == 303


async def test_a_webhook_is_added_and_deleted(admin: AsyncClient, services: OpenServices) -> None:
    form = {"url": "https://127.0.0.1/changes", "types": ["book.created"]}
    added = html.document_fromstring((await admin.post("/admin/webhooks", data=form)).text)
    [secret] = added.xpath("//code[@class='secret']/text()")
    [webhook] = await services.webhooks.list_webhooks(None, 9)
    assert (webhook.secret, webhook.types) == (secret, ("book.created",))
    path = f"/admin/webhooks/{webhook.id}"
    assert "Make a new secret" in (await shown(admin, f"{path}/rotate")).text_content()
    assert (await admin.post(f"{path}/rotate")).status_code == 200
    assert (await services.webhooks.read(webhook.id)).former_secret == secret
    assert (await admin.post(f"{path}/delete")).status_code == 303
    assert await services.webhooks.list_webhooks(None, 9) == []
    assert (await admin.post("/admin/webhooks", data={"url": "https://10.0.0.1/"})).status_code == 422


async def test_failed_jobs_are_tried_again(admin: AsyncClient, services: OpenServices) -> None:
    await services.ingest.post(Submission(Metadata(title="x"), content_from_text(prose(7, 600))), actor=ACTOR)
    failing = SQL("UPDATE procrastinate_jobs SET status = 'failed' RETURNING id")
    [row] = await services.database.rows(failing)
    await services.jobs.note_failure(row["id"], "relate", RuntimeError(HOSTILE))
    page = await shown(admin, "/admin/jobs")
    assert HOSTILE.strip() in page.text_content()
    assert (await admin.post("/admin/jobs/retry", data={"job": str(row["id"])})).status_code == 303
    assert (await services.jobs.get(row["id"])).state == "waiting"
    assert (await admin.post("/admin/jobs/retry", data={"job": str(row["id"])})).status_code == 409
    assert (await admin.post("/admin/jobs/retry")).status_code == 303


async def test_the_audit_log_is_filtered_and_goes_on(admin: AsyncClient, services: OpenServices) -> None:
    for seed in range(55):
        book = Submission(Metadata(title=str(seed)), content_from_text(prose(seed, 60)))
        await services.ingest.post(book, actor=ACTOR)
    first = await shown(admin, "/admin/audit?action=book.created&since=2020-01-01&until=&object=")
    assert len(first.xpath("//tbody/tr")) == 50
    [following] = first.xpath("//a[@rel='next']/@href")
    assert len((await shown(admin, following)).xpath("//tbody/tr")) == 5
    assert (await admin.get("/admin/audit?key_id=x")).status_code == 422


async def test_a_reader_checks_but_neither_adds_nor_administers(
    reader: AsyncClient, services: OpenServices
) -> None:
    checked = await reader.post("/check", data={"text": "Nobody has this"})
    assert 'class="no"' in checked.text
    [session] = await services.sessions.list_open()
    for path in ("/admin", "/admin/keys", "/admin/audit", "/admin/jobs", "/add"):
        assert (await reader.get(path)).status_code == 403
    for path in ("/admin/keys", "/admin/jobs/retry", f"/admin/sessions/{session.id}/end", "/add"):
        assert (await reader.post(path, data={"name": "x", "scopes": "admin"})).status_code == 403
    assert len(await services.keys.list_keys()) == 1
