"""A client that openapi-python-client makes of the OpenAPI document, used against the running service."""

import importlib
import json
import sys
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from openapi_python_client import Config, MetaType, generate
from openapi_python_client.config import ConfigFile

from app.settings import Settings
from app.stores.postgres.connections import SQL
from app.wiring import Services
from tests.api.access.key_holders import ADMIN_KEY
from tests.api.library import prose, scanned
from tests.api.service_process import Server, serving
from tests.open_services import open_with_stores
from tests.paged_books import run_jobs

pytestmark = pytest.mark.slow

PACKAGE = "generated_bookprint_client"


class GeneratedClient:
    """The operations of the generated package, by their ids; it remembers which were used."""

    def __init__(self, url: str) -> None:
        self.models: ModuleType = importlib.import_module(f"{PACKAGE}.models")
        self.file_type: Any = importlib.import_module(f"{PACKAGE}.types").File
        self.used: set[str] = set()
        self._client = importlib.import_module(PACKAGE).AuthenticatedClient(base_url=url, token=ADMIN_KEY)

    def __call__(self, tag: str, operation: str, status: int, **arguments: Any) -> Any:
        """The parsed answer, which holds what was sent."""
        module = importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}")
        response = module.sync_detailed(client=self._client, **arguments)
        assert response.status_code == status, response.content
        if response.headers.get("content-type", "").endswith(("/json", "+json")):
            # Python writes UTC so.
            assert response.parsed.to_dict() == json.loads(response.content.replace(b'Z"', b'+00:00"'))
        self.used.add(operation)
        return response.parsed


@pytest.fixture
async def services(database_url: str, redis_url: str) -> AsyncIterator[Services]:
    async with open_with_stores(Settings(database_url=database_url, redis_url=redis_url)) as services:
        await services.upkeep.catch_up()
        yield services


@pytest.fixture
def server(services: Services, database_url: str, redis_url: str) -> Iterator[Server]:
    variables = {
        "BOOKPRINT_COMPUTE": "vectors",
        "BOOKPRINT_AUTH": "keys",
        "BOOKPRINT_ADMIN_KEY": ADMIN_KEY,
        "BOOKPRINT_WEBHOOK_ALLOW_HOSTS": "127.0.0.1",
    }
    with serving(database_url, redis_url, **variables) as server:
        yield server


@pytest.fixture
def document(server: Server) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{server.url}/openapi.json", timeout=60).json()
    return document


@pytest.fixture
def call(
    server: Server, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GeneratedClient]:
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(document))
    # The generator knows no lines of JSON; as bytes they are what they are.
    lines = {"application/x-ndjson": "application/octet-stream"}
    config = Config.from_sources(
        ConfigFile(post_hooks=[], content_type_overrides=lines),
        MetaType.NONE,
        source,
        "utf-8",
        True,
        output_path=tmp_path / PACKAGE,
    )
    assert generate(config=config) == []
    monkeypatch.syspath_prepend(str(tmp_path))
    yield GeneratedClient(server.url)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


async def test_generated_client_can_use_every_operation(
    call: GeneratedClient, document: dict[str, Any], services: Services
) -> None:
    models, text = call.models, prose(1)

    book = call("books", "post_book", 201, body=models.BookBody(text=text, title="Emma", year=1815))
    assert call("books", "post_book", 200, body=models.BookBody(text=text)).created is False
    isbns = ["isbn:9780141439600", "isbn:9783161484100"]
    body = models.BookBody(text=scanned(text, 1), identifiers=isbns[:1])
    copy = call("books", "post_book", 201, body=body)
    [job] = await services.database.rows(SQL("SELECT min(id) AS id FROM procrastinate_jobs"))
    assert call("jobs", "read_job", 200, job_id=str(job["id"])).book_id == book.id

    file_type = call.file_type
    alto = b"<alto><Page><TextLine><String CONTENT='Nice'/><String CONTENT='day'/></TextLine></Page></alto>"
    form = models.PostBookFilesBody(
        file=file_type(BytesIO(alto), "day.xml"), metadata=models.MetadataBody(title="Day")
    )
    day = call("books", "post_book", 201, body=form)
    assert (day.format_, day.title, day.page_count, day.warnings) == ("alto", "Day", 1, [])
    form = models.LookUpFilesBody(file=file_type(BytesIO(alto), "day.xml"))
    assert call("lookups", "look_up", 200, body=form).format_ == "alto"
    lines = BytesIO(b'{"text": "One."}\n{"text": ""}\n')
    answered = call("books", "post_books", 200, body=file_type(lines)).payload.read()
    assert [json.loads(line)["status"] for line in answered.splitlines()] == [201, 422]

    assert [each.id for each in call("books", "list_books", 200, title="emma").items] == [book.id]
    assert call("books", "read_book", 200, book_id=book.id).year == 1815
    assert call("books", "read_book", 404, book_id="none").errors[0].field == "id"
    changes = models.MetadataBody(year=1816, title=None, identifiers=isbns[1:])
    assert call("books", "change_metadata", 200, book_id=book.id, body=changes, if_match='"1"').title is None

    alike = call("similar_books", "similar_books", 200, book_id=book.id, copies=True)
    assert [(each.id, each.similarity > 0) for each in alike.items] == [(copy.id, True)]

    within = call("lookups", "near_duplicates", 200, book_id=book.id, d=30)
    assert (within.query.max_distance, within.query.nearest) == (30, None)
    assert [each.id for each in within.items] == [copy.id]
    nearest = call("lookups", "look_up", 200, body=models.LookupBody(identifier=book.identifier), k=1)
    assert (nearest.query.max_distance, nearest.query.nearest, nearest.items[0].id) == (None, 1, book.id)
    lookup = models.LookupBody(fingerprint=models.FingerprintBody.from_dict(book.fingerprint.to_dict()))
    assert call("lookups", "look_up", 200, body=lookup).query.id is None

    await run_jobs(services)
    pair = {"book_id": book.id, "other_id": copy.id}
    [related] = call("relations", "list_relations", 200, book_id=book.id, wait=5.0).items
    assert call("relations", "read_relation", 200, **pair).kind == related.kind
    decision = models.DecisionBody.from_dict({"kind": "OVERLAPPING_TEXT"})
    assert call("relations", "decide", 200, **pair, body=decision).confidence == 1
    call("relations", "withdraw", 204, **pair)
    assert len(call("decisions", "list_reviews", 200).items) == 1
    rejected = models.DecisionItem.from_dict(
        {"left": str(book.id), "right": str(copy.id), "verdict": "rejected"}
    )
    [decided] = call("decisions", "decide_many", 200, body=models.DecisionsBody(items=[rejected])).items
    assert (decided.status, decided.outcome) == (200, "counts")
    withdrawn = models.DecisionItem.from_dict(
        {"left": str(book.id), "right": str(copy.id), "verdict": "withdrawn"}
    )
    call("decisions", "decide_many", 200, body=models.DecisionsBody(items=[withdrawn]))
    history = call("decisions", "list_decisions", 200).items
    assert [each.verdict for each in history] == ["withdrawn", "rejected", "withdrawn", "kind"]
    assert call("library", "read_library", 200).books >= 1
    assert call("completeness", "read_completeness", 409, book_id=book.id).errors[0].field == "id"

    cluster = call("clusters", "read_cluster_of_book", 200, book_id=copy.id)
    assert call("clusters", "read_cluster", 200, cluster_id=cluster.key).size == 2
    assert [each.size for each in call("clusters", "list_clusters", 200).items] == [2]
    master_copy = call("clusters", "read_master_copy", 200, cluster_id=cluster.key, limit=1)
    assert [page.page for page in master_copy.items] == [0]
    [conflict] = call("conflicts", "list_conflicts", 200, by=models.ListConflictsBy.TEXT).items
    assert [each.identifiers for each in conflict.books] == [isbns[1:], isbns[:1]]

    rows = BytesIO(b'{"isbn": "9783161484100"}\n{"title": 1}\n')
    answered = call("checks", "check_rows", 200, body=file_type(rows)).payload.read()
    assert [json.loads(line).get("verdict") for line in answered.splitlines()] == ["have", None]

    assert call("reconciliation", "manifest", 200)["versions"] == ["0.2"]
    queries = json.dumps(
        {"q0": {"query": "Emma", "properties": [{"pid": "identifier", "v": {"id": str(copy.id)}}]}}
    )
    batch = call("reconciliation", "reconcile", 200, body=models.ReconcileBody(queries=queries))
    assert batch["q0"]["result"][0]["match"] is True
    [suggested] = call("reconciliation", "suggest_entity", 200, prefix=str(book.id))["result"]
    assert suggested["id"] == str(book.id)
    assert call("reconciliation", "propose_properties", 200)["properties"]
    call("reconciliation", "preview", 200, book_id=book.id)

    changes = call("changes", "list_changes", 200, limit=2)
    assert [each.type_ for each in changes.items] == ["book.created"] * 2
    assert call("changes", "read_collection", 200).total_items >= 4
    assert call("changes", "read_collection_page", 200, number="0").ordered_items[0].type_ == "Create"
    hook = call("webhooks", "register_webhook", 201, body=models.WebhookBody(url="http://127.0.0.1:9/"))
    assert [each.id for each in call("webhooks", "list_webhooks", 200).items] == [hook.id]
    assert call("webhooks", "read_webhook", 200, webhook_id=str(hook.id)).state == "active"
    assert call("webhooks", "rotate_secret", 200, webhook_id=str(hook.id)).secret != hook.secret
    call("webhooks", "delete_webhook", 204, webhook_id=str(hook.id))

    content = models.ContentBody(pages=[prose(3), ""])
    assert call("books", "replace_content", 200, book_id=book.id, body=content).version == 3
    call("books", "delete_book", 204, book_id=copy.id)
    [deleted] = call("audit", "list_audit", 200, limit=1, object_=copy.id).items
    assert (deleted.action, deleted.actor.kind, deleted.object_.id) == ("book.deleted", "admin_key", copy.id)
    assert call("health", "live", 200).status == "alive"
    assert call("health", "started", 200).status == "started"
    assert call("health", "ready", 200).parts["redis"].ok
    assert "bookprint_lookups_total" in call("health", "scrape", 200)

    assert call.used == {
        operation["operationId"] for path in document["paths"].values() for operation in path.values()
    }
