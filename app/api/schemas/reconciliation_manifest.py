"""The manifest of the reconciliation service: what it can do, and under which addresses."""

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.api.documents import Document, shown
from app.api.schemas.reconciliation_queries import BATCH_SIZE, BOOK_TYPE, WIDER_TYPE

PREVIEW_WIDTH, PREVIEW_HEIGHT = 430, 300

_SCHEMA_SPACE = "https://schema.org/Book"


def manifest_at(address: str, version: str) -> dict[str, Any]:
    """The manifest of the service at an address without a slash at its end."""
    page = f"{address}/reconcile/preview/{{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": "Bookprint",
        "identifierSpace": f"{address}/v1/books/",
        "schemaSpace": _SCHEMA_SPACE,
        "documentation": f"{address}/docs",
        "serviceVersion": version,
        "defaultTypes": [BOOK_TYPE | {"broader": [WIDER_TYPE]}],
        "view": {"url": page},
        "preview": {"url": page, "width": PREVIEW_WIDTH, "height": PREVIEW_HEIGHT},
        "suggest": {kind: _suggest(address, kind) for kind in ("entity", "property", "type")},
        "extend": {
            "propose_properties": {"service_url": address, "service_path": "/reconcile/properties"},
            "property_settings": [
                {
                    "name": "limit",
                    "label": "Limit",
                    "type": "number",
                    "default": 0,
                    "help_text": "How many values of a book to fetch at most; 0 for all.",
                }
            ],
        },
        "batchSize": BATCH_SIZE,
    }


def _suggest(address: str, kind: str) -> dict[str, str]:
    return {
        "service_url": address,
        "service_path": f"/reconcile/suggest/{kind}",
        "flyout_service_path": f"/reconcile/flyout/{kind}?id=${{id}}",
    }


class Manifest(Document):
    """What the reconciliation service can do, as the API's schema of manifests says."""

    model_config = shown(manifest_at("https://bookprint.example", "1.0")) | ConfigDict(
        alias_generator=to_camel
    )

    versions: list[str] = Field(description="Versions of the reconciliation API.")
    name: str
    identifier_space: str = Field(description="What the ids of books begin with as URIs.")
    schema_space: str = Field(description="The type of what is found, as a URI.")
    documentation: str
    service_version: str
    default_types: list[dict[str, Any]]
    view: dict[str, str] = Field(description="The page of a book.")
    preview: dict[str, str | int] = Field(description="The same page, and the size of its frame.")
    suggest: dict[str, dict[str, str]]
    extend: dict[str, Any]
    batch_size: int = Field(description="How many queries a batch may have.")
