"""The metadata in the header of a TEI file (TEI P5, chapter 2)."""

import re

from app.core.model import Metadata
from app.readers.description import clean, description, identifier
from app.readers.syntax.xml import Element

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_ABOUT_THE_FILE = re.compile(r"\s*:\s*[^:]*\bELTeC\b[^:]*$|^DUMMYHEADER$")
"""What a title says of the corpus and not of the book."""

_STC = re.compile(r"(E?STC|Wing|Evans|Thomason)\s+(?=\S)")
_NAME_PARTS = ("forename", "nameLink", "surname")


def metadata(header: Element, language: str | None) -> Metadata:
    """What a `teiHeader` says about the book; `language` is what the text itself names."""
    titles = _all(header, "fileDesc/titleStmt/title")
    numbers = _all(header, "fileDesc/publicationStmt//idno")
    return description(
        title=_title(titles),
        authors=[_name(author) for author in _all(header, "fileDesc/titleStmt/author")],
        language=language or _language(header),
        date=_date(header),
        volume=_volume(titles + _all(header, "fileDesc/sourceDesc//biblScope")),
        identifiers=map(_identifier, numbers),
    )


def _title(titles: list[Element]) -> str | None:
    titles = [title for title in titles if title.get("type") not in {"volume", "sub", "short"}] or titles
    main = next((title for title in titles if title.get("type") == "main"), titles[0] if titles else None)
    return None if main is None else _ABOUT_THE_FILE.sub("", _text(main) or "")


def _identifier(number: Element) -> str | None:
    """The identifier; of the short-title catalogues those that the value names."""
    text = _text(number) or ""
    catalogue = _STC.match(text)
    return identifier(
        catalogue[1] if catalogue else number.get("type", ""), text[catalogue.end() :] if catalogue else text
    )


def _name(author: Element) -> str | None:
    """The name of an author, without the identifiers that stand beside it."""
    name = next(iter(_all(author, ".//persName")), author)
    parts = [_text(part) for kind in _NAME_PARTS for part in _all(name, f".//{kind}")]
    return " ".join(filter(None, parts)) or _text(name)


def _language(header: Element) -> str | None:
    """The language that most of the text is in; the first named where no shares are given."""
    languages = _all(header, "profileDesc/langUsage/language")
    most = max(languages, key=lambda language: _share(language.get("usage")), default=None)
    return None if most is None else most.get("ident") or most.get("id") or _text(most)


def _date(header: Element) -> str | None:
    """When the book was published; failing that, when the file was."""
    sources = [
        date
        for date in _all(header, "fileDesc/sourceDesc//date")
        if not any(parent.get("type") == "digitalSource" for parent in date.iterancestors())
    ]
    for date in sources + _all(header, "fileDesc/publicationStmt/date"):
        for given in (date.get("when"), date.get("value"), _text(date), date.get("notBefore")):
            if given and _YEAR.search(given):
                return given
    return None


def _volume(places: list[Element]) -> str | None:
    for place in places:
        if "volume" in {place.get("type"), place.get("unit")}:
            return place.get("n") or _text(place)
    return None


def _share(usage: str | None) -> int:
    return int(usage) if usage and usage.isdecimal() and len(usage) < 4 else 0


def _text(element: Element) -> str | None:
    return clean(" ".join(text for text in element.itertext() if isinstance(text, str)))


def _all(element: Element, path: str) -> list[Element]:
    """The elements of a path of local names, in any namespace."""
    return list(element.iterfind(re.sub(r"\w+", r"{*}\g<0>", path)))
