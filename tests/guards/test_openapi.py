"""The OpenAPI document, as the service sends it."""

import json
from collections import Counter
from typing import Any

from app.main import create_app
from app.settings import Settings
from tests.api.conftest import asking
from tests.guards.recorded import compare, laid_out

LEAST = 150
"""Characters of a part that is written where it stands first, and named where it stands again."""


async def test_the_document_is_as_recorded() -> None:
    nowhere = {"DATABASE_URL": "postgresql://nowhere/none", "REDIS_URL": "redis://nowhere"}
    async with asking(create_app(Settings(**nowhere, BOOKPRINT_AUTH="keys"))) as client:
        document = (await client.get("/openapi.json")).json()
    compare("openapi", "openapi.json", laid_out(written_once(document)))


def written_once(document: Any) -> Any:
    """The document with the place of the first of equal parts instead of the others."""
    seen, places = Counter[str](), dict[str, str]()

    def count(part: Any) -> None:
        text = json.dumps(part, sort_keys=True)
        seen[text] += 1
        if seen[text] == 1 or len(text) < LEAST:
            for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
                count(inner)

    def write(part: Any, place: str) -> Any:
        if not isinstance(part, dict | list):
            return part
        text = json.dumps(part, sort_keys=True)
        if len(text) >= LEAST and seen[text] > 1 and places.setdefault(text, place) != place:
            return {"as at": places[text]}
        if isinstance(part, dict):
            return {key: write(part[key], f"{place} {key}".lstrip()) for key in sorted(part)}
        return [write(inner, f"{place} {number}") for number, inner in enumerate(part)]

    count(document)
    return write(document, "")
