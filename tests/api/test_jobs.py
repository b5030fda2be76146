"""Background jobs as clients and Prometheus see them."""

from uuid import UUID

from httpx import AsyncClient

from app.stores.postgres.connections import SQL
from app.stores.postgres.jobs import insert_relate_jobs_of
from app.wiring import Services
from tests.api.library import prose
from tests.api.test_operation import labelled, samples


async def deferred(services: Services, *entry_ids: int) -> list[int]:
    """New relate jobs of these entries."""
    defer = SQL(insert_relate_jobs_of("unnest($entry_ids::bigint[]) AS entry_id"))
    [row] = await services.database.rows(defer, entry_ids=list(entry_ids))
    [ids] = row.values()
    return list(ids)


async def test_a_waiting_job_names_its_book_and_its_next_try(client: AsyncClient, services: Services) -> None:
    book = (await client.post("/v1/books", json={"text": prose(1)})).json()
    entry_id = (await services.books.get(UUID(book["id"]))).entry_id
    later, soon = await deferred(services, entry_id, entry_id)
    await services.database.rows(
        SQL("UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 hour' WHERE id = $id"),
        id=later,
    )

    answer = await client.get(f"/v1/jobs/{later}")
    job = answer.json()

    from jsonschema import Draft202012Validator  # late, as it takes seconds to load

    assert answer.status_code == 200
    document = (await client.get("/openapi.json")).json()
    schema = document["components"]["schemas"]["JobAnswer"]
    assert list(Draft202012Validator(schema).iter_errors(job)) == []
    assert (job["id"], job["task"], job["state"]) == (later, "relate", "waiting")
    assert (job["attempts"], job["max_attempts"]) == (0, 6)
    assert (job["book_id"], job["reason"]) == (book["id"], None)
    assert job["next_try_at"] > job["created_at"]
    assert (await client.get(f"/v1/jobs/{soon}")).json()["next_try_at"] is None


async def test_metrics_tell_jobs_by_state_and_the_tries_that_failed(
    client: AsyncClient, services: Services
) -> None:
    ids = await deferred(services, 0, 1, 2)
    await services.database.rows(
        SQL("UPDATE procrastinate_jobs SET status = 'failed' WHERE id = $id"), id=ids[0]
    )
    await services.jobs.note_failure(ids[0], "relate", ValueError("no"))

    counted = await samples(client)
    assert counted[labelled("bookprint_jobs", task="relate", state="waiting")] == 2
    assert counted[labelled("bookprint_jobs", task="relate", state="failed")] == 1
    assert counted[labelled("bookprint_job_failures_total", task="relate")] == 1
    await services.jobs.retry_all()
    counted = await samples(client)
    assert counted[labelled("bookprint_jobs", task="relate", state="waiting")] == 3
    assert labelled("bookprint_jobs", task="relate", state="failed") not in counted
    assert counted[labelled("bookprint_job_failures_total", task="relate")] == 1
