"""What a file says about its book, brought into the form of the catalogue's metadata."""

import re
from collections.abc import Iterable

from app.core.model import Metadata

_LONGEST = 1_000
"""Characters of a name or title that are kept."""

_YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)")
_ISBN = re.compile(r"(?:97[89][- ]?)?(?:\d[- ]?){9}[\dXx]")
_LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)
_LANGUAGE_CODES = {
    "chinese": "zh",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hungarian": "hu",
    "italian": "it",
    "japanese": "ja",
    "latin": "la",
    "norwegian": "no",
    "polish": "pl",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "tagalog": "tl",
    "welsh": "cy",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def description(
    *,
    title: str | None = None,
    authors: Iterable[str | None] = (),
    language: str | None = None,
    date: str | None = None,
    volume: str | None = None,
    identifiers: Iterable[str | None] = (),
) -> Metadata:
    """The metadata that a file gives, without blanks, control characters and repetitions.

    `language` is a tag (BCP 47), a code or a name in English; `date` is a date of any form, of which the
    first year counts; `identifiers` are written scheme:value.
    """
    year = _YEAR.search(date or "")
    return Metadata(
        title=clean(title),
        authors=_all(authors),
        language=_language(language),
        year=int(year[1]) if year else None,
        volume=clean(volume),
        identifiers=_all(identifiers),
    )


def identifier(scheme: str, value: str | None) -> str | None:
    """An identifier with its scheme; None without a value.

    >>> identifier("ISBN", " 978-0-14-143958-7 ")
    'isbn:9780141439587'
    """
    value, scheme = clean(value) or "", re.sub(r"[^0-9a-z]+", "-", scheme.casefold()).strip("-")
    value = re.sub(rf"^(urn:)?{re.escape(scheme)}:", "", value, flags=re.IGNORECASE)
    if scheme == "isbn":
        match = _ISBN.search(value)
        value = re.sub(r"[- ]", "", match[0]).upper() if match else ""
    return f"{scheme}:{value}"[:300] if scheme and value else None


def clean(text: str | None) -> str | None:
    """The text on one line, cut to what the catalogue keeps; None where nothing is left."""
    return " ".join(_CONTROL.sub(" ", text or "").split())[:_LONGEST].rstrip() or None


def _language(text: str | None) -> str | None:
    """The tag of the first language that is named; None where it is none that is known."""
    first = re.split(r"[,;(]", clean(text) or "")[0].strip()
    return first[:35] if _LANGUAGE_TAG.fullmatch(first) else _LANGUAGE_CODES.get(first.casefold())


def _all(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(clean, texts) if text))[:1_000]
