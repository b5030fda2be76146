"""The index as it should be, made from Postgres."""

import errno
from io import BytesIO

import pytest

from app.wiring import Services
from bookprint_core.errors import Unavailable
from bookprint_core.model import Submission
from bookprint_core.text.content import content_from_text
from tests.api.library import prose
from tests.factories import ACTOR


async def test_posting_list_in_parts_is_the_one_that_is_made_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(6):
        await services.ingest.post(Submission(content=content_from_text(prose(seed))), actor=ACTOR)
    lists: list[int] = []
    with monkeypatch.context() as narrow:
        narrow.setattr("app.services.index.contents._ROOM", 600)
        await services.upkeep.rebuild(lambda done, total: lists.append(done))

    report = await services.upkeep.verify(lambda done, total: None)

    assert len(lists) == 8 + 32 + 1  # bands, two parts of each partition, the flat index
    assert report.clean
    assert report.records > 6 * (8 + 100 + 1)


class FullFile(BytesIO):
    def write(self, _: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_full_folder_for_temporary_files_is_told_and_the_index_built_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.ingest.post(Submission(content=content_from_text(prose(7))), actor=ACTOR)
    name = "app.services.index.contents.SpooledTemporaryFile"
    with monkeypatch.context() as full:
        full.setattr(name, lambda most: FullFile())
        with pytest.raises(Unavailable, match=r"temporary files, .* is full. .* 1 books .* TMPDIR"):
            await services.upkeep.rebuild()
    await services.upkeep.catch_up()
    assert (await services.upkeep.verify(lambda done, total: None)).clean
