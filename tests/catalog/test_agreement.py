"""What agrees and what contradicts in two descriptions of books."""

from typing import Any

import pytest

from app.catalog.similarity import agreement
from bookprint_core.model import Metadata

AGREEMENTS: dict[str, list[tuple[Any, Any, bool | None]]] = {
    "authors": [
        (("J. Austen",), ("Austen, Jane, 1775-1817",), True),
        (("Charlotte Brontë",), ("BRONTE, Charlotte",), True),
        (("Брехт, Бертольт",), ("Бертольт Брехт",), True),
        (("Dostoevsky, Fyodor",), ("Fyodor Dostoyevsky",), True),
        (("Jane Austen",), ("!", "Austen, Jane Anne Mary Ellen"), True),
        (("J. A.",), ("Jane Austen",), False),
        (("Author 1",), ("Author 12",), False),
        (("Emily Brontë",), ("Anne Brontë",), False),
        (("1775-1817",), ("Jane Austen",), None),
        ((), ("Jane Austen",), None),
    ],
    "title": [
        ("Emma: a novel", "EMMA!", True),
        ("Les Misérables", "LES MISERABLES", True),
        ("War and Peace", "War and Society", False),
        ("…", "Emma", None),
        (None, "Emma", None),
    ],
    "volume": [
        ("v. 02", "Bd. 2", True),
        ("1, 2", "2, 1", False),
        ("II", "ii.", True),
        ("II", "III", False),
        ("2", "II", False),
        ("?", "1", None),
        (None, "1", None),
    ],
    "year": [(1813, 1813, True), (1813, 1814, False), (1813, None, None)],
    "isbn": [
        (("isbn:0141439602",), ("isbn:978-0-14-143960-0",), True),
        (("isbn:0141439602",), ("isbn:9783161484100",), False),
        (("isbn:9780141439601",), ("isbn:9780141439601",), None),  # a wrong check digit says nothing
        (("oclc:1",), ("isbn:0141439602",), None),
    ],
}


@pytest.mark.parametrize("aspect", AGREEMENTS)
def test_an_aspect_agrees_or_contradicts_however_it_is_written(aspect: str) -> None:
    field = "identifiers" if aspect == "isbn" else aspect
    for one, other, agree in AGREEMENTS[aspect]:
        left, right = Metadata(**{field: one}), Metadata(**{field: other})
        for found in (agreement(left, right), agreement(right, left)):
            assert (aspect in found.agrees, aspect in found.contradicts) == (agree is True, agree is False), (
                one
            )
