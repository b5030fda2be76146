"""docs/methods.md is what its results and its words make of it."""

import json
from pathlib import Path

import pytest

from bench.comparison.compared_methods import compared_methods
from bench.comparison.document import DOCUMENT, RESULT, document, write_document
from bench.harness.report import Section


@pytest.fixture
def section() -> Section:
    return Section.from_json(json.loads(RESULT.read_text(encoding="utf-8")))


def test_document_is_that_of_the_results(section: Section) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(section), (
        "Run `python -m bench.comparison.document`."
    )


def test_every_method_has_figures_and_words(section: Section) -> None:
    methods = [each for group in compared_methods().values() for each in group]
    assert ["all", *(each.method.name for each in methods)] == [row[0] for row in section.tables[0].rows]
    assert all(each.does and each.index and each.advice for each in methods)


def test_results_that_go_elsewhere_leave_the_document(section: Section, tmp_path: Path) -> None:
    write_document(section, tmp_path)
    assert (tmp_path / "methods.md").read_text(encoding="utf-8") == document(section)
