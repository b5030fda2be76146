"""The sentences of the README, the start and the guides: short, and beginning with their subject."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md")), *sorted((ROOT / "docs").glob("*.md"))]
READ = [page for page in PAGES if page.parent.name not in {"reference", "why"}]
MOST_WORDS = 35
OPENINGS = {"Of", "Those", "What", "So", "Such"}

_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^ *(?:-|\d+\.) ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?:;])\s+")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page without code, headings and addresses; each cell and item begins a new one."""
    plain = re.sub(r"\]\([^)]*\)", "]", _CODE.sub("", text))
    plain = re.sub(r"^#.*$|^[|: -]+$", "", plain, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\|", _ITEM.sub("\n\n", plain)):
        yield from _END.split(" ".join(paragraph.split()).replace("**", ""))


@pytest.mark.parametrize("page", READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short_and_begin_with_their_subject(page: Path) -> None:
    found = list(sentences(page.read_text(encoding="utf-8")))
    assert [sentence for sentence in found if len(sentence.split()) > MOST_WORDS] == []
    assert [sentence for sentence in found if sentence.split(" ")[0] in OPENINGS] == []


def test_a_long_sentence_and_a_genitive_are_seen() -> None:
    text = "# Of none\n\nOf two books one. It is\nnear.\n\n```\nOf code\n```\n- Such a thing\n\n| So | b |"
    assert [each for each in sentences(text) if each.split(" ")[0] in OPENINGS] == [
        "Of two books one.",
        "Such a thing",
        "So",
    ]
