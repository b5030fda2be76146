"""schemathesis: requests made from the OpenAPI document, right and wrong ones, to the running service."""

from collections.abc import Iterator
from fnmatch import fnmatch

import httpx
import pytest
import schemathesis
from hypothesis import settings
from schemathesis.checks import positive_data_acceptance
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import ignored_auth

from app.main import create_app
from app.settings import Settings
from tests.api.access.key_holders import ADMIN_KEY
from tests.api.library import prose
from tests.api.service_process import Server, reconcile, serving

PROJECT = ProjectConfig(generation=GenerationConfig(deterministic=True, with_security_parameters=False))
# From a fixture, because the requests of all operations take long to make: in one process, not in each.
SCHEMA = schemathesis.pytest.from_fixture("schema")
KEY = {"X-API-Key": ADMIN_KEY}

BEYOND_JSON_SCHEMA = {
    ("invalid", "after"): "A cursor is one that an answer gave.",
    ("invalid", "url"): "A webhook's URL leads to a public address.",
    ("invalid", "title"): "The title of a search has a word, in any script.",
    ("invalid", "author"): "The author of a search has a name, in any script.",
    ("empty-text", "*"): "A text has a letter or a digit, in any script.",
    ("invalid-text", "*"): "A text has at most 64 combining marks in a row.",
    ("invalid-identifier", "identifier"): "A book identifier ends with its check characters.",
    ("invalid", "*fingerprint.hex"): "How many digits a fingerprint has depends on its recipe.",
    ("invalid", "signatures.*.values"): "Base64 holds a multiple of the bytes of one signature.",
    ("invalid", "signatures.sample.*"): "Hashes ascend and are below 2^level, and each has a place.",
    ("invalid", "signatures.word_count"): "A book has no more words than characters.",
    ("invalid", "signatures.minhash.shingle_count"): "A book has no more shingles than words.",
    ("invalid", "signatures.pages.unit"): "The unit depends on whether `page_count` is given.",
    ("invalid", "signatures.page_count"): "There are as many signatures of pages as pages.",
    ("invalid", "page_labels"): "A book has as many labels as pages, and a text has none.",
    ("invalid", "*marc"): "A record has fields as MARC 21 has them.",
    ("invalid", "jaccard"): "An identifier or a fingerprint has no MinHash to compare.",
    ("invalid", "datasketch.*"): "A MinHash has the seed, the scheme and as many values as ours.",
    ("recipe-mismatch", "recipe"): "Signatures are of the recipes that the service uses at the time.",
    ("recipe-not-indexed", "recipe"): "Fingerprints are of a recipe that is indexed at the time.",
    ("invalid", "queries"): "One of two fields of a form is sent, and its text is a JSON object.",
    ("unparsable", "queries"): "The text of the field is JSON.",
    ("invalid", "extend"): "The text of the field is a JSON object.",
    ("unparsable", "extend"): "The text of the field is JSON.",
    ("invalid", "id"): "Only what is suggested can be described.",
    ("unsupported-format", "file"): "A file is in one of the formats that are read.",
    ("broken-file", "file"): "A file is as its format wants it.",
    ("no-text", "file"): "A file holds text.",
}
"""Rules by the kind of problem and the field; only requests that break one may be refused."""


@schemathesis.serializer("application/x-ndjson")
def as_it_is(context: schemathesis.SerializationContext, value: object) -> object:
    return value


@pytest.fixture
def schema(request: pytest.FixtureRequest) -> BaseSchema:
    request.node._nodeid = request.node.nodeid  # schemathesis 4.32 uses it, and pytest 9.2 has it no more
    nowhere = {"DATABASE_URL": "postgresql://nowhere/none", "REDIS_URL": "redis://nowhere"}
    app = create_app(Settings(**nowhere, BOOKPRINT_AUTH="keys"))
    config = SchemathesisConfig(seed=16, projects=ProjectsConfig(default=PROJECT))
    return schemathesis.openapi.from_dict(app.openapi(), config=config)


@pytest.fixture(scope="module")
def server(module_database_url: str, module_redis_url: str) -> Iterator[Server]:
    reconcile(module_database_url, module_redis_url)
    variables = {"BOOKPRINT_AUTH": "keys", "BOOKPRINT_ADMIN_KEY": ADMIN_KEY}
    with serving(module_database_url, module_redis_url, **variables) as server:
        yield server


@pytest.fixture(scope="module")
def book_id(server: Server) -> str:
    """Id of a stored book."""
    return str(
        httpx.post(f"{server.url}/v1/books", json={"text": prose(1)}, headers=KEY, timeout=60).json()["id"]
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)  # all operations, each as a test of its own within it
@SCHEMA.parametrize()
@settings(max_examples=6, deadline=None)
def test_service_answers_every_request_as_the_document_says(
    case: schemathesis.Case, server: Server, book_id: str
) -> None:
    if case.meta is not None and case.meta.generation.mode.is_positive:
        keep_rules_between_requests(case)
    if "book_id" in case.path_parameters and case.method != "DELETE" and "wait" not in case.query:
        case.path_parameters["book_id"] = book_id

    # longer than any `wait`
    response = case.call(base_url=server.url, headers=KEY, timeout=120)

    beyond_schema = response.status_code in {415, 422} and all(
        is_beyond_schema(response.json()["type"].rpartition(":")[2], error["field"])
        for error in response.json()["errors"]
    )
    excluded = [ignored_auth, *([positive_data_acceptance] if beyond_schema else [])]
    case.validate_response(response, excluded_checks=excluded)


def keep_rules_between_requests(case: schemathesis.Case) -> None:
    """Leave out values that only an earlier answer could give, and one of two that exclude each other.

    A long poll waits a second at most: nothing happens meanwhile.
    """
    if "wait" in case.query:
        case.query["wait"] = min(float(case.query["wait"]), 1)
    case.query.pop("cursor", None)
    case.query.pop("after", None)
    case.headers.pop("If-Match", None)
    # OpenAPI has no rule for two parameters.
    for names in (("d", "k", "jaccard", "include"), ("min_size", "max_size")):
        for other in [name for name in names if name in case.query][1:]:
            case.query.pop(other)


def is_beyond_schema(kind: str, field: str) -> bool:
    return any(kind == rule_kind and fnmatch(field, pattern) for rule_kind, pattern in BEYOND_JSON_SCHEMA)
