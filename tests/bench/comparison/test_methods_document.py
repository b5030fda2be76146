"""docs/methods.md is what its results and its words make of it."""

import json
from pathlib import Path

import pytest

from bench.comparison.compared_methods import compared_methods
from bench.comparison.document import (
    BITS,
    DOCUMENT,
    METHODS,
    RESULTS,
    document,
    kept,
    readable,
    write_document,
)
from bench.harness.report import Section, Table


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


def test_figures_have_the_digits_that_mean_something() -> None:
    headers = ["method", "false pairs", "bytes per book", "ms per book"]
    rows = [
        ["a", 77_200, 21_152, 0.05301],
        ["b", 1_234, 346.8, 4.832],
        ["c", 0, 16, 266.01],
        ["d", 0, 735, 1.97],
    ]
    shown = readable(Table(headers, [*rows, ["e", 2, None, None]], "caption"))
    assert shown == Table(
        headers,
        [
            ["a", 77_200, 21_200, 0.053],
            ["b", 1_234, 347, 4.8],
            ["c", 0, 16, 270],
            ["d", 0, 735, 2],
            ["e", 2, None, None],
        ],
        "caption",
    )


def test_shares_are_per_cent_and_whole_only_where_nothing_is_missed() -> None:
    shown = readable(Table(["index", "neighbours found"], [["a", 1.0], ["b", 0.9983], ["c", 0.99999]]))
    assert shown == Table(["index", "neighbours found, %"], [["a", 100], ["b", 99.8], ["c", 99.9]])


def test_no_measured_figure_has_more_than_three_digits(sections: tuple[Section, Section]) -> None:
    for section in sections:
        table = readable(*section.tables)
        floats = [cell for row in table.rows for cell in row if isinstance(cell, float)]
        assert floats
        assert all(cell == float(f"{cell:.3g}") for cell in floats)


def test_results_that_go_elsewhere_leave_the_document(
    sections: tuple[Section, Section], tmp_path: Path
) -> None:
    figures, bits = sections
    write_document(tmp_path, figures=figures)
    assert not list(tmp_path.iterdir())
    (tmp_path / BITS).write_text(json.dumps(bits.to_json()), encoding="utf-8")
    write_document(tmp_path, figures=figures)
    assert (tmp_path / "methods.md").read_text(encoding="utf-8") == document(figures, bits)
