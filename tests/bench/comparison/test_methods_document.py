"""docs/methods.md is what its results and its words make of it."""

import json
from pathlib import Path

import pytest

from bench.comparison.compared_methods import compared_methods
from bench.comparison.document import BITS, DOCUMENT, METHODS, RESULTS, document, kept, write_document
from bench.harness.report import Section


@pytest.fixture
def sections() -> tuple[Section, Section]:
    figures, bits = (kept(RESULTS / name) for name in (METHODS, BITS))
    assert figures
    assert bits
    return figures, bits


def test_document_is_that_of_the_results(sections: tuple[Section, Section]) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(*sections), (
        "Run `python -m bench.comparison.document`."
    )


def test_every_method_has_figures_and_words(sections: tuple[Section, Section]) -> None:
    methods = [each for group in compared_methods().values() for each in group]
    figures = sections[0].tables[0]
    assert ["all", *(each.method.name for each in methods)] == [row[0] for row in figures.rows]
    assert all(each.does and each.index and each.advice for each in methods)


def test_figures_count_every_pair_of_the_corpus(sections: tuple[Section, Section]) -> None:
    every, *rows = sections[0].tables[0].rows
    assert every[1:6] == [145, 18, 6, 51, 77_200]
    assert all(0 <= found <= most for row in rows for found, most in zip(row[1:6], every[1:6], strict=True))


def test_results_that_go_elsewhere_leave_the_document(
    sections: tuple[Section, Section], tmp_path: Path
) -> None:
    figures, bits = sections
    write_document(tmp_path, figures=figures)
    assert not list(tmp_path.iterdir())
    (tmp_path / BITS).write_text(json.dumps(bits.to_json()), encoding="utf-8")
    write_document(tmp_path, figures=figures)
    assert (tmp_path / "methods.md").read_text(encoding="utf-8") == document(figures, bits)
