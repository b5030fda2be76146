"""The index as it should be, made from Postgres."""

import pytest

from app.core.model import Submission
from app.core.text.content import content_from_text
from app.wiring import Services
from tests.api.library import prose
from tests.factories import ACTOR


async def test_posting_list_in_parts_is_the_one_that_is_made_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(6):
        await services.ingest.post(Submission(content=content_from_text(prose(seed))), actor=ACTOR)
    lists: list[int] = []
    with monkeypatch.context() as narrow:
        narrow.setattr("app.services.index.contents._ROOM", 3000)
        await services.upkeep.rebuild(lambda done, total: lists.append(done))

    report = await services.upkeep.verify(lambda done, total: None)

    assert len(lists) == 8 + 5 + 1  # bands, parts, the flat index
    assert report.clean
    assert report.records > 6 * (8 + 100 + 1)
