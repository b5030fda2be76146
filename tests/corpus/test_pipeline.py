"""The order of the stages, and what makes one be skipped or done again."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from bookprint_core.errors import InvalidInput
from bookprint_core.matching.candidates import SelectionLimits
from bookprint_corpus import pipeline, storage
from bookprint_corpus.corpus import Corpus, Options
from bookprint_corpus.engine import Engine
from bookprint_corpus.pipeline import CorpusProgress, Stage
from bookprint_corpus.splits import CorpusInput
from bookprint_corpus.tables import VERSION

NO_ENGINE = SimpleNamespace(end_session=lambda session: None, spark=SimpleNamespace(session_id="one"))


class Killed(Exception):
    """The driver dies."""


class Recorded:
    """Stages that note that they ran; one may die."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.dies_in: str | None = None
        self.versions = {"read": 1, "compare": 1, "end": 1}

    def stages(self, source: CorpusInput) -> list[Stage]:
        return [
            Stage(name, self._runner(name), [name], version, is_optioned=name == "compare")
            for name, version in self.versions.items()
        ]

    def _runner(self, name: str) -> Callable[[Corpus], None]:
        def run(corpus: Corpus) -> None:
            self.ran.append(name)
            storage.write(corpus.out, name, pa.table({"book": [1, 2, 3]}))
            if name == self.dies_in:
                raise Killed

        return run


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(pipeline, "stages_of", recorded.stages)
    return recorded


def compute(out: Path | str, key: str = "input", nearest: int = 200) -> list[str]:
    told: list[str] = []
    corpus = Corpus(str(out), cast(Engine, NO_ENGINE), Options(SelectionLimits(nearest=nearest)))
    pipeline.run(corpus, CorpusInput([], key), told.append)
    return told


def test_finished_stages_are_skipped(stages: Recorded, tmp_path: Path) -> None:
    assert compute(tmp_path)[0].startswith("read: ")
    assert stages.ran == ["read", "compare", "end"]
    before = CorpusProgress.read(str(tmp_path))
    assert before.complete
    assert before.stages["read"].rows == {"read": 3}
    assert all("skipped" in line for line in compute(tmp_path))
    assert stages.ran == ["read", "compare", "end"]
    assert CorpusProgress.read(str(tmp_path)) == before


def test_a_stage_that_died_is_done_again_and_those_before_it_are_not(
    stages: Recorded, tmp_path: Path
) -> None:
    stages.dies_in = "compare"
    with pytest.raises(Killed):
        compute(tmp_path)
    assert not CorpusProgress.read(str(tmp_path)).complete
    stages.dies_in, stages.ran = None, []
    compute(tmp_path)
    assert stages.ran == ["compare", "end"]


def test_what_depends_on_a_change_is_done_again(stages: Recorded, tmp_path: Path) -> None:
    compute(tmp_path)
    for changed, expected in (
        ({"key": "other"}, ["read", "compare", "end"]),
        ({"key": "other", "nearest": 100}, ["compare", "end"]),
    ):
        stages.ran = []
        compute(tmp_path, **changed)  # type: ignore[arg-type]
        assert stages.ran == expected
    stages.ran, stages.versions["end"] = [], 2
    compute(tmp_path, "other", 100)
    assert stages.ran == ["end"]


@pytest.mark.parametrize("content", ["{", "[]", '{"stages": {"read": {"what": 1}}}', '{"surprise": 1}'])
def test_a_file_that_is_no_manifest_is_never_overwritten(
    stages: Recorded, tmp_path: Path, content: str
) -> None:
    (tmp_path / "progress.json").write_text(content)
    with pytest.raises(InvalidInput, match="is not valid"):
        compute(tmp_path)
    assert (tmp_path / "progress.json").read_text() == content


@pytest.mark.parametrize("out", ["/proc/corpus", __file__, f"{__file__}/corpus", "nowhere://corpus"])
def test_a_folder_that_cannot_be_used_is_refused(stages: Recorded, out: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{out} cannot be used: .*Choose another --out"):
        compute(out)
    assert stages.ran == []


def test_a_corpus_of_another_version_is_left_alone(stages: Recorded, tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_text(f'{{"stages": {{}}, "version": {VERSION - 1}}}')
    with pytest.raises(InvalidInput, match=r"another version of Bookprint\. Choose another --out"):
        compute(tmp_path)
