"""What agrees and what contradicts in two descriptions of books."""

import pytest

from app.catalog.agreement import agreement, shared_isbns
from app.core.model import Metadata


@pytest.mark.parametrize(
    ("this", "other", "agree"),
    [
        ("Jane Austen", "Austen, Jane, 1775-1817", True),
        ("J. Austen", "Austen, Jane", True),
        ("Austen", "Jane Austen", True),
        ("Charlotte Brontë", "BRONTE, Charlotte", True),
        ("Брехт, Бертольт", "Бертольт Брехт", True),
        ("Jane Austen", "Jane Porter", False),
        ("J. A.", "Jane Austen", False),
        ("Author 12", "Author 13", False),
        ("Author 1", "Author 12", False),
        ("Ann Author12", "Author13, Ann", False),
        ("Emily Brontë", "Anne Brontë", False),
        ("Dostoevsky, Fyodor", "Fyodor Dostoyevsky", True),
        ("Jane Austen", "Austen, Jane Anne Mary Ellen", True),
        ("Hayley, William", "White, William Hale", False),
        ("[Jane Austen]", "Jane Austen", True),
        ("1775-1817", "Jane Austen", None),
        ("?", "Jane Austen", None),
        (None, "Jane Austen", None),
    ],
)
def test_names_of_authors_agree_in_any_form(this: str | None, other: str, agree: bool | None) -> None:
    left, right = Metadata(authors=() if this is None else (this,)), Metadata(authors=("!", other))
    assert told("authors", left, right) is told("authors", right, left) is agree


@pytest.mark.parametrize(
    ("this", "other", "agree"),
    [
        ("Emma", "EMMA!", True),
        ("Emma: a novel", "Emma", True),
        ("Emma", "Persuasion", False),
        ("Les Misérables", "LES MISERABLES", True),
        ("War and Peace", "War and Society", False),
        ("…", "Emma", None),
        (None, "Emma", None),
    ],
)
def test_a_title_without_its_subtitle_agrees(this: str | None, other: str, agree: bool | None) -> None:
    assert told("title", Metadata(title=this), Metadata(title=other)) is agree


@pytest.mark.parametrize(
    ("this", "other", "agree"),
    [
        ("2", "v. 2", True),
        ("v. 02", "Bd. 2", True),
        ("1", "2", False),
        ("1, 2", "2, 1", False),
        ("II", "ii.", True),
        ("II", "III", False),
        ("2", "II", False),
        ("?", "1", None),
        (None, "1", None),
    ],
)
def test_volumes_agree_by_their_numbers(this: str | None, other: str, agree: bool | None) -> None:
    assert told("volume", Metadata(volume=this), Metadata(volume=other)) is agree


@pytest.mark.parametrize(
    ("this", "other", "agree", "shared"),
    [
        ("isbn:0141439602", "isbn:978-0-14-143960-0", True, ["9780141439600"]),
        ("isbn:0141439602", "isbn:9783161484100", False, []),
        ("isbn:9780141439601", "isbn:9780141439601", None, []),  # a wrong check digit says nothing
        ("oclc:1", "isbn:0141439602", None, []),
    ],
)
def test_isbns_agree_in_either_form_if_they_are_valid(
    this: str, other: str, agree: bool | None, shared: list[str]
) -> None:
    left, right = Metadata(identifiers=(this,)), Metadata(identifiers=(other,))
    assert told("isbn", left, right) is agree
    assert shared_isbns(left, right) == shared


def test_a_year_is_compared_where_both_have_one() -> None:
    assert told("year", Metadata(year=1813), Metadata(year=1813)) is True
    assert told("year", Metadata(year=1813), Metadata(year=1814)) is False
    assert told("year", Metadata(year=1813), Metadata()) is None


def told(aspect: str, this: Metadata, other: Metadata) -> bool | None:
    """Whether an aspect agrees; None: it is in neither list."""
    found = agreement(this, other)
    return True if aspect in found.agrees else False if aspect in found.contradicts else None
