"""The translations say all that the pages say, and nothing else."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from tools.translations import TRANSLATIONS, messages

FILES = sorted(TRANSLATIONS.glob("*.po"))


def told(message: Message) -> list[str]:
    """The text of a message in each number."""
    return [message.id] if isinstance(message.id, str) else list(message.id)


def translated(message: Message) -> list[str]:
    """Its translation in each number."""
    return [message.string] if isinstance(message.string, str) else list(message.string)


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)[sd]|\{\w*\}|%%", text))


def same_places(told: list[str], translated: list[str]) -> bool:
    """Whether a translation has the places of the text; for one thing it may leave out the number."""
    wanted, (*fewer, most) = placeholders(told[-1]), map(placeholders, translated)
    return most == wanted and all(each <= wanted for each in fewer)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_translation_has_what_the_pages_say(file: Path) -> None:
    said = {told(message)[0] for message in messages() if message.id}
    catalog = read_po(file.open("rb"), locale=file.stem)
    known = {told(message)[0]: message for message in catalog if message.id}
    remedy = "Run `python -m tools.translations`, and translate what is new."
    assert sorted(said - set(known)) == [], remedy
    assert sorted(set(known) - said) == [], remedy
    assert list(catalog.obsolete) == [], remedy
    assert [text for text, message in known.items() if message.fuzzy or not all(translated(message))] == [], (
        remedy
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_translation_has_the_same_places(file: Path) -> None:
    catalog = read_po(file.open("rb"), locale=file.stem)
    differing = {
        told(message)[0]
        for message in catalog
        if message.id and not same_places(told(message), translated(message))
    }
    assert differing == set()
