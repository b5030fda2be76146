"""Running heads, page numbers and catchwords, on pages made for the purpose."""

import random

import pytest

from bookprint_core.text.page_furniture import with_plain_hyphens, without_furniture

LETTERS = "abcdefghiklmnoprstuvwy"


def body(seed: int, lines: int = 6) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(8 * lines)]
    return [" ".join(words[start : start + 8]) for start in range(0, len(words), 8)]


def pages_with(heads: list[str], feet: list[str] | None = None) -> tuple[list[str], list[str]]:
    """Pages with these first and last lines, and the same pages without them."""
    bodies = [body(seed) for seed in range(len(heads))]
    feet = feet or [""] * len(heads)
    framed = ["\n".join([head, *lines, foot]) for head, lines, foot in zip(heads, bodies, feet, strict=True)]
    return framed, ["\n".join(lines) for lines in bodies]


@pytest.mark.parametrize(
    ("heads", "feet"),
    [
        (["EMMA"] * 6, None),
        ([f"{page} EMMA" if page % 2 else f"VOLUME I. {page}" for page in range(11, 21)], None),
        ([""] * 8, [f"- {page} -" for page in range(8)]),
        ([""] * 6, ["ix", "x", "xi", "xii", "xiii", "xiv"]),
        (["THE TIME MACHINE", "THF TIME MACHlNE", "THE TLME MACHINE", "THE TIME MACHINB"], None),
        ([f"Emma\n{page}" for page in range(5)], None),
        ([""] * 6, [f"{page}\nDigitized by Google" for page in range(6)]),
    ],
    ids=["same", "left-right", "numbers", "roman", "ocr", "two-lines", "foot"],
)
def test_furniture_goes(heads: list[str], feet: list[str] | None) -> None:
    framed, bare = pages_with(heads, feet)
    assert without_furniture(framed) == bare


@pytest.mark.parametrize(
    "heads",
    [
        ["CHAPTER I", "", "", "CHAPTER II", "", "", "CHAPTER III", "", ""],
        [f"{number}. {' '.join(body(number + 100, 1))}" for number in (1, 4, 2, 9, 7)],
        [f"{number}. {' '.join(body(number + 100, 1))}" for number in range(1, 9)],
        ["In 1815", "", "", "7 men", ""],
    ],
    ids=["chapters", "numbered", "an-entry-a-page", "numbers-in-text"],
)
def test_text_stays(heads: list[str]) -> None:
    framed, _ = pages_with(heads)
    assert without_furniture(framed) == [page.strip() for page in framed]


def test_the_number_at_the_foot_of_a_first_page_goes() -> None:
    heads = [f"{page} EMMA" if page % 7 else "" for page in range(1, 20)]
    feet = ["" if page % 7 else str(page) for page in range(1, 20)]
    framed, bare = pages_with(heads, feet)
    assert without_furniture(framed) == bare


def test_a_running_head_between_pages_without_one_goes() -> None:
    framed, bare = pages_with([f"{page} EMMA" if page in {2, 4, 6, 10} else "" for page in range(12)])
    assert without_furniture(framed) == bare


def test_the_heading_that_running_heads_repeat_stays() -> None:
    framed, bare = pages_with(["EMMA", *(f"{page} EMMA" for page in range(2, 9))])
    assert without_furniture(framed) == [f"EMMA\n{bare[0]}", *bare[1:]]


def test_something_stays() -> None:
    assert without_furniture(["1", "2", "3"]) == ["1", "2", "3"]


def test_catchwords_go_and_other_last_lines_stay() -> None:
    assert without_furniture(["so it was\nbegun", "begun at last\nthe end", "of all"]) == [
        "so it was",
        "begun at last\nthe end",
        "of all",
    ]


def test_blank_pages_stay_pages() -> None:
    assert without_furniture(["", "text of a page", " \n "]) == ["", "text of a page", ""]


@pytest.mark.parametrize("hyphen", "¬⸗\ufffe")
def test_hyphens_at_line_ends_are_plain(hyphen: str) -> None:
    assert with_plain_hyphens(f"ver{hyphen} \nſchieden {hyphen} x{hyphen}") == f"ver- \nſchieden {hyphen} x-"
