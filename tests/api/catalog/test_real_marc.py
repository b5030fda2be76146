"""Sound records of every file of BOOKPRINT_CATALOGS are posted, and come back with every field."""

import os
import re
from itertools import count
from pathlib import Path

import pytest
from httpx import AsyncClient

from app.catalog.marc import forms
from app.catalog.marc.forms import NumberedRecord
from app.catalog.marc.record import InvalidRecord, MarcRecord
from app.core.model import CatalogRecord
from tests.api.catalog.test_marc import TYPES, exported, own_fields
from tests.api.library import prose
from tests.catalog.marc.made_records import without_lengths

FOLDER = Path(os.environ.get("BOOKPRINT_CATALOGS", "/nonexistent")) / "marc"
# The tests share one application.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.catalogs,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_CATALOGS names no folder"),
]

SEEDS = count()
MOST_RECORDS = 5
"""Of each file; all of them are read and written in tests/catalog/marc."""
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*"))


def records_of(name: str) -> list[NumberedRecord]:
    path = FOLDER / name
    with path.open("rb") as stream:
        return list(forms.records(stream, forms.format_of(path.read_bytes()[:1_000])))


@pytest.mark.parametrize("name", FILES)
async def test_record_comes_back_with_every_field(module_client: AsyncClient, name: str) -> None:
    records = records_of(name)
    for each in records[:: 1 + len(records) // MOST_RECORDS]:
        if each.source is None:
            continue
        text = prose(next(SEEDS), 100)
        parts = {
            "file": ("book.txt", text.encode()),
            "metadata": ("record", each.source.data, TYPES[each.source.format]),
        }
        response = await module_client.post("/v1/books", files=parts)
        if isinstance(each.record, InvalidRecord):
            assert response.status_code == 422
            reason = re.sub(r"^Record \d+", "Record 1", str(each.record))
            assert reason in response.json()["detail"]
            continue
        assert response.status_code == 201, response.text
        answer = await exported(module_client, response.json())
        assert own_fields(answer) == each.record.fields
        assert without_lengths(answer)[0] == without_lengths(each.record)[0]
        binary = await module_client.get(
            response.json()["links"]["self"], headers={"Accept": "application/marc"}
        )
        if binary.status_code == 200:
            again: MarcRecord = forms.single(CatalogRecord("marc", binary.content))
            assert own_fields(again) == each.record.fields
        else:
            assert binary.json()["type"].endswith("too-long-for-binary")
