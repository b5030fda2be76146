"""Issues of one form, and copies that are badly read, spelt in another way or corrected here and there."""

import re

import numpy as np
import pytest

from app.synthesis.noise import corrupt_pages
from bookprint_core.model import Metadata
from bookprint_core.relations.classification import REVISED_LINES
from bookprint_core.relations.relation import ComparedBook, Relation, compare, relation_of
from bookprint_core.relations.revision import changed_lines, is_one_issue
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.api.library import prose

LINE = 9
PAGE = 30
"""Words of a line and lines of a page."""


def form(state: str, year: int, seed: int = 1) -> list[str]:
    """Pages of an act that names its state on every seventh line and its year on every eleventh."""
    words = prose(seed, 12 * PAGE * LINE).split(" ")
    lines = [" ".join(words[start : start + LINE]) for start in range(0, len(words), LINE)]
    lines[::7] = [f"{line} of {state}" for line in lines[::7]]
    lines[::11] = [f"{line} in {year}" for line in lines[::11]]
    return ["\n".join(lines[start : start + PAGE]) for start in range(0, len(lines), PAGE)]


def misread(pages: list[str], rate: float, seed: int) -> list[str]:
    return corrupt_pages(pages, rate, np.random.default_rng(seed))


def related(left: list[str], right: list[str]) -> Relation:
    contents = content_from_pages(left), content_from_pages(right)
    signed = [sketch(content) for content in contents]
    books = [ComparedBook(each.pages, each.minhash, Metadata()) for each in signed]
    comparison = compare(*books)
    assert relation_of(comparison, Metadata(), Metadata()).classification.kind == "SAME_PAGINATION"
    return relation_of(comparison, Metadata(), Metadata(), changed_lines(*contents, comparison.alignment))


@pytest.mark.parametrize("errors", [0.0, 0.02, 0.05])
def test_the_same_form_of_another_state_is_no_copy(errors: float) -> None:
    left = misread(form("Virginia", 1868), errors, 1)
    right = misread(form("Louisiana", 1868), errors, 2)
    relation = related(left, right)

    assert 0.07 < relation.revised < 0.2  # one line in seven, as far as it is read well
    for classified in (relation.classification, relation.mirrored):
        assert classified.kind == "OVERLAPPING_TEXT"
        assert classified.confidences["OVERLAPPING_TEXT"] == classified.confidence > 0.5
        assert sum(classified.confidences.values()) == pytest.approx(1)
        assert f"in {relation.revised:.0%} of the lines" in classified.because
    assert relation.link is not None  # the two are related all the same


def test_another_year_alone_is_another_issue() -> None:
    relation = related(form("Virginia", 1868), form("Virginia", 1871))
    assert relation.classification.kind == "OVERLAPPING_TEXT"
    assert relation.revised == pytest.approx(1 / 11, abs=0.02)


@pytest.mark.parametrize("errors", [0.0, 0.02, 0.05, 0.1])
def test_a_badly_read_copy_is_not_revised(errors: float) -> None:
    relation = related(*(misread(form("Virginia", 1868), errors, seed) for seed in (1, 2)))
    assert relation.classification.kind == "SAME_PAGINATION"
    assert relation.revised < REVISED_LINES


NAMES = "Bentley", "Lachmann", "Madvig", "Reiske", "Casaubon", "Scaliger", "Heinsius", "Markland", "Porson"
TAKEN_FOR = "689o", "47I", "73z", "85B", "19A", "63S", "580b", "12T", "360B", "048g"
"""What each digit from 0 to 9 is taken for in small type."""


def notes_on(pages: list[str]) -> list[str]:
    """An apparatus for each page: variants, sigla, names and numbers."""
    rng = np.random.default_rng(1)
    return [
        "\n".join(
            f"{line} {rng.choice(page.split())}] {rng.choice(page.split())} A V, {rng.choice(NAMES)} "
            f"{rng.integers(1690, 1880)} p. {rng.integers(2, 480)}"
            for line in range(1, 12)
        )
        for page in pages
    ]


def reading(pages: list[str], notes: list[str], rate: float, seed: int) -> list[str]:
    """The pages above their notes, with twice as many errors in these, and lost and wrong digits."""
    rng = np.random.default_rng(seed)

    def read(digit: str) -> str:
        return str(rng.choice([*TAKEN_FOR[int(digit)], ""])) if rng.random() < 2 * rate else digit

    small = [re.sub(r"\d", lambda digit: read(digit[0]), note) for note in misread(notes, 2 * rate, seed)]
    return [f"{page}\n{note}" for page, note in zip(misread(pages, rate, seed + 9), small, strict=True)]


def test_two_readings_of_badly_printed_notes_are_not_revised() -> None:
    pages = form("Virginia", 1868)
    relation = related(*(reading(pages, notes_on(pages), 0.1, side) for side in (1, 2)))
    assert relation.classification.kind == "SAME_PAGINATION"
    assert relation.revised < REVISED_LINES


def test_other_names_and_years_above_badly_printed_notes_are_another_issue() -> None:
    pages, other = form("Virginia", 1868), form("Louisiana", 1871)
    notes = notes_on(pages)
    relation = related(reading(pages, notes, 0.02, 1), reading(other, notes, 0.02, 2))
    assert relation.classification.kind == "OVERLAPPING_TEXT"


def test_numbers_that_lost_digits_are_not_revised() -> None:
    relation = related(form("Virginia", 1868), form("Virginia", 868))
    assert relation.revised == 0


def test_numbers_that_are_replaced_as_often_as_misread_do_not_count() -> None:
    left, right = form("Virginia", 1868), form("Virginia", 1868)
    right = [page.replace("1868", "1871" if number % 2 else "l868") for number, page in enumerate(right)]
    assert related(left, right).revised == 0


def test_one_replacement_in_each_running_head_is_no_misreading() -> None:
    left, right = (
        [
            f"expires January {day}\n{page.replace('1868', str(first + number), 1)}\nexpires January {day}"
            for number, page in enumerate(form("Virginia", 1868))
        ]
        for day, first in ((9, 1850), (19, 1871))
    )
    assert related(left, right).classification.kind == "OVERLAPPING_TEXT"


def test_columns_that_are_read_in_another_order_are_not_revised() -> None:
    columns = [page.split("\n") for page in form("Virginia", 1868)]
    turned = ["\n".join([*page[:8], *page[19:27], *page[8:19], *page[27:]]) for page in columns]
    relation = related(form("Virginia", 1868), turned)
    assert relation.classification.kind == "SAME_PAGINATION"


def test_modern_spelling_is_not_revised() -> None:
    old = [
        re.sub(r"(\w{3,})c\b", r"\1ck", page.replace("j", "i").replace("v", "u"))
        for page in form("Virginia", 1868)
    ]
    relation = related(old, form("Virginia", 1868))
    assert relation.classification.kind == "SAME_PAGINATION"


def test_a_few_corrected_lines_make_no_other_issue() -> None:
    corrected = form("Virginia", 1868)
    corrected[3] = corrected[3].replace("1868", "1871", 1)
    relation = related(form("Virginia", 1868), corrected)
    assert relation.classification.kind == "SAME_PAGINATION"
    assert 0 < relation.revised < REVISED_LINES


def test_texts_without_pages_are_not_compared() -> None:
    contents = [content_from_text("\n".join(form(state, 1868))) for state in ("Virginia", "Louisiana")]
    books = [ComparedBook((made := sketch(each)).pages, made.minhash, Metadata()) for each in contents]
    alignment = compare(*books).alignment
    assert changed_lines(*contents, alignment) is None


@pytest.mark.parametrize(
    ("other", "one"),
    [
        (Metadata(title="Acts of the State.", year=1868), True),
        (Metadata(title="Acts of the state", year=1871), False),
        (Metadata(title="Acts of the state", year=1868, volume="2"), False),
        (Metadata(title="Acts of another state", year=1868), False),
        (Metadata(title="Acts of the state"), False),
        (Metadata(), False),
    ],
)
def test_a_catalogue_tells_one_issue_by_title_year_and_volume(other: Metadata, one: bool) -> None:
    assert is_one_issue(Metadata(title="Acts of the state", year=1868), other) is one
    assert not is_one_issue(Metadata(), Metadata())
