"""Administration: keys, sessions, webhooks, failed jobs and the audit log, each on its own page.

A change that cannot be undone must be confirmed on a separate page.
"""

from datetime import UTC, date, datetime, time
from typing import Annotated
from uuid import UUID

from fastapi import Form, Query, Request
from pydantic import Field
from starlette.responses import Response

from app.api.http.deps import ActorDep, ServicesDep
from app.api.http.problems import UnknownPath
from app.services.access.audit import ACTIONS, Action, AuditFilter
from app.services.access.keys import SCOPES, Scope
from app.services.changes import ChangeType
from app.web.library import CHANGES, STATES, TASKS
from app.web.rendering import page, redirect
from app.web.routes import Filters, PageRouter
from app.wiring import Services

MOST_LISTED = 200
"""Maximum number of webhooks or failed jobs on a page."""

_AT_ONCE = 50

ASKED = {
    ("keys", "revoke"): "Revoke this key for ever? It stops working at once, and its users are signed out.",
    ("keys", "rotate"): "Make a new text for this key? The present text stops working at once.",
    ("webhooks", "delete"): "Delete this webhook? It will receive no more deliveries.",
    ("webhooks", "rotate"): "Make a new secret for this webhook? The present one also signs for one day.",
}
"""Questions that confirm a change."""

router = PageRouter()


@router.post("/admin/keys", scope="admin")
async def create_key(
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
    name: Annotated[str, Form()] = "",
    scopes: Annotated[list[Scope], Form()] = [],  # noqa: B006
    collection: Annotated[str | None, Form()] = None,
    expires: Annotated[date | None, Form()] = None,
) -> Response:
    """Make a key and show its text once."""
    ends = None if expires is None else datetime.combine(expires, time.max, UTC)
    made = await services.keys.create(name, scopes, ends, collection=collection or None, actor=actor)
    return await _keys_page(request, services, made.text)


@router.post("/admin/webhooks", scope="admin")
async def add_webhook(
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
    url: Annotated[str, Form()] = "",
    types: Annotated[list[ChangeType], Form()] = [],  # noqa: B006
) -> Response:
    """Register a webhook and show its secret once."""
    made = await services.webhooks.register(url.strip(), types or None, actor=actor)
    return await _webhooks_page(request, services, made.secret)


@router.get("/admin/{subject}/{object_id}/{change}", scope="admin")
async def confirm_change(
    subject: str, object_id: UUID, change: str, request: Request, services: ServicesDep
) -> Response:
    """Ask for confirmation of a change that cannot be undone."""
    if (question := ASKED.get((subject, change))) is None:
        raise UnknownPath("There is no page at this path.")
    if subject == "keys":
        name = (await services.keys.get(object_id)).name
    else:
        name = (await services.webhooks.read(object_id)).url
    return page(request, "admin_sure.html", subject=subject, question=question, name=name)


@router.post("/admin/{subject}/{object_id}/{change}", scope="admin")
async def make_change(
    subject: str, object_id: UUID, change: str, request: Request, services: ServicesDep, actor: ActorDep
) -> Response:
    """End a key, session or webhook, or make a new secret and show it once."""
    match subject, change:
        case "keys", "revoke":
            await services.keys.revoke(object_id, actor=actor)
        case "keys", "rotate":
            made = await services.keys.rotate(object_id, actor=actor)
            return await _keys_page(request, services, made.text)
        case "sessions", "end":
            await services.sessions.delete(object_id)
        case "webhooks", "delete":
            await services.webhooks.delete(object_id, actor=actor)
        case "webhooks", "rotate":
            webhook = await services.webhooks.rotate(object_id, actor=actor)
            return await _webhooks_page(request, services, webhook.secret)
        case _:
            raise UnknownPath("There is no page at this path.")
    return redirect(request, f"/admin/{subject}")


@router.post("/admin/jobs/retry", scope="admin")
async def retry_jobs(
    request: Request, services: ServicesDep, job: Annotated[int | None, Form()] = None
) -> Response:
    """Retry one failed job, or all failed jobs."""
    await (services.jobs.retry_all() if job is None else services.jobs.retry(job))
    return redirect(request, "/admin/jobs")


class AuditSearch(Filters):
    """Filters of the audit log."""

    key_id: UUID | None = None
    action: Action | None = None
    object: UUID | None = None
    since: date | None = None
    until: date | None = None  # this day is included
    after: Annotated[int, Field(ge=0, lt=2**63)] | None = None

    def to_filter(self) -> AuditFilter:
        since = None if self.since is None else datetime.combine(self.since, time.min, UTC)
        until = None if self.until is None else datetime.combine(self.until, time.max, UTC)
        return AuditFilter(self.key_id, self.action, self.object, since, until)


@router.get("/admin/audit", scope="admin")
async def list_audit(
    search: Annotated[AuditSearch, Query()], request: Request, services: ServicesDep
) -> Response:
    """List who changed what, newest first."""
    entries = await services.audit.list_entries(search.to_filter(), search.after, _AT_ONCE + 1)
    shown = entries[:_AT_ONCE]
    following = search.query(after=shown[-1].sequence) if len(entries) > _AT_ONCE else None
    return page(
        request, "admin_audit.html", search=search, entries=shown, following=following, actions=ACTIONS
    )


@router.get("/admin", scope="admin")
@router.get("/admin/{section}", scope="admin")
async def show_section(request: Request, services: ServicesDep, section: str = "keys") -> Response:
    """Show the keys, sessions, webhooks or jobs."""
    match section:
        case "keys":
            return await _keys_page(request, services)
        case "sessions":
            return page(request, "admin_sessions.html", sessions=await services.sessions.list_open())
        case "webhooks":
            return await _webhooks_page(request, services)
        case "jobs":
            counts, failed = await services.jobs.count(), await services.jobs.list_failed(MOST_LISTED)
            return page(request, "admin_jobs.html", counts=counts, failed=failed, tasks=TASKS, states=STATES)
    raise UnknownPath("There is no page at this path.")


async def _keys_page(request: Request, services: Services, text: str | None = None) -> Response:
    keys = await services.keys.list_keys()
    return page(request, "admin_keys.html", keys=keys, text=text, scopes=SCOPES, now=datetime.now(UTC))


async def _webhooks_page(request: Request, services: Services, secret: str | None = None) -> Response:
    webhooks = await services.webhooks.list_webhooks(None, MOST_LISTED)
    return page(request, "admin_webhooks.html", webhooks=webhooks, secret=secret, types=CHANGES)
