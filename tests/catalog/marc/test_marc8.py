"""MARC-8 against the tables of the Library of Congress, by another decoder."""

import pytest
from pymarc.marc8 import marc8_to_unicode

from app.catalog.marc.marc8 import UnknownCharacter, decoded

"""Hebrew, basic and extended Arabic, basic and extended Cyrillic, and Greek, as G0 or as G1."""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        (b"Cr\xe2etineau", "Crétineau"),
        (b"f\xe8ur", "für"),
        (b"Pyska\xb1", "Pyskał"),
        (b"\x1b(NqWTNRIJ\x1b(B.", None),
        (b"H\x1bb2\x1bsO", "H₂O"),
        (b"\x1b$1!B;!K!\x1b(B", None),
        (b"\x1b(QA\x1b(B", "ђ"),
        (b"\x88The \x89ferry", "\x98The \x9cferry"),
        (b"a\x8db\x8ec", "a\u200db\u200cc"),
    ],
)
def test_text_is_what_the_tables_say(data: bytes, text: str | None) -> None:
    assert decoded(data) == (marc8_to_unicode(data) if text is None else text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a\xe2", "no letter after it"),
        (b"a\x1b", "does not name a character set"),
        (b"a\x1b(\x07", "does not name a character set"),
        (b"a\xffb", "FF are not a character"),
        (b"\x1b$1!B", "not a character of their set"),
    ],
)
def test_what_has_no_meaning_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnknownCharacter, match=reason):
        decoded(data)
