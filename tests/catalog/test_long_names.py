"""Whatever reads names takes time in proportion to their length, however they are made."""

import time
from collections.abc import Callable

import pytest

from app.catalog.identifiers import normalised
from app.catalog.marc.values import trimmed
from app.catalog.reconciliation import BookDescription, identifiers_of, key_conditions, years_of
from app.catalog.similarity import agreement, names_of, person_similarity, title_similarity, volume_similarity
from bookprint_core.model import Metadata
from bookprint_core.text.names import folded, folded_words, main_title, name_keys, surname

LENGTH = 100_000
SECONDS = 2.0
"""Seconds of processor time; what grows with the square of the length takes minutes."""

NAMES = {
    "blanks": f"a{' ' * LENGTH}x",
    "tabs": "\t" * LENGTH,
    "dashes": " -" * (LENGTH // 2),
    "full stops": ". " * (LENGTH // 2),
    "brackets": "(" * LENGTH,
    "square brackets": "[" * LENGTH,
    "brackets of both kinds": f"{'(' * LENGTH}]",
    "marks": "a" + "\u0301\u0316" * (LENGTH // 2),
    "kana marks": "か" + "\uff9e\u0301" * (LENGTH // 2),
    "digits": "1" * LENGTH,
    "zeros": f"{'0' * LENGTH}x",
    "one letter": "a" * LENGTH,
    "letters": "a b c d e f g h i j k l m " * (LENGTH // 26),
    "ligatures": "\ufdfa" * LENGTH,
    "a number in blanks": f"(ocolc){' ' * LENGTH}x",
    "addresses": f"http://{'/ebooks/1' * (LENGTH // 9)} x",
}
SCHEMES = ("isbn", "iscc", "issn", "ismn", "lccn", "oclc", "htid", "ark", "gutenberg", "doi")
READERS: dict[str, Callable[[str], object]] = {
    "folded": folded,
    "main_title": main_title,
    "surname": surname,
    "name_keys": lambda name: name_keys(Metadata(title=name, authors=(name,))),
    "folded_words": folded_words,
    "names_of": names_of,
    "title_similarity": lambda name: title_similarity(name, f"{name}."),
    "person_similarity": lambda name: person_similarity(name, f"{name}."),
    "volume_similarity": lambda name: volume_similarity(name, f"{name}."),
    "agreement": lambda name: agreement(Metadata(name, (name,)), Metadata(f"x{name}", (f"x{name}",))),
    "key_conditions": lambda name: key_conditions(BookDescription((name,), (name,)), {}),
    "years_of": years_of,
    "identifiers_of": identifiers_of,
    "trimmed": trimmed,
} | {scheme: lambda name, scheme=scheme: normalised(f"{scheme}:{name}") for scheme in SCHEMES}  # type: ignore[misc]


@pytest.mark.parametrize("reader", READERS)
def test_a_long_name_is_read_quickly(reader: str) -> None:
    slow = {}
    for kind, name in NAMES.items():
        started = time.process_time()
        READERS[reader](name)
        if (seconds := time.process_time() - started) > SECONDS:
            slow[kind] = seconds
    assert slow == {}


def test_of_many_authors_the_first_hundred_are_compared() -> None:
    strangers = tuple(f"Author{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(100))
    this, other = (Metadata(authors=(*strangers[:count], "Jane Austen")) for count in (99, 100))

    assert agreement(this, Metadata(authors=("Austen, Jane",))).agrees == ["authors"]
    assert agreement(other, Metadata(authors=("Austen, Jane",))).contradicts == ["authors"]
