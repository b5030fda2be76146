"""Metadata in METS: MODS or Dublin Core in its descriptive sections (`dmdSec`)."""

import re
from collections.abc import Iterator

from app.core.model import Metadata
from app.readers.description import clean, description, identifier
from app.readers.syntax.xml import Element, local_name

_AUTHORS = frozenset(("aut", "author", "cre", "creator"))
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def metadata(mets: Element) -> Metadata:
    """What a METS says about its book: the first section with a title, from the structure's top down."""
    records = list(_records(mets))
    for record in records:
        found = _of_mods(record) if local_name(record) == "mods" else _of_dublin_core(record)
        if found.title:
            return found
    return Metadata()


def _records(mets: Element) -> Iterator[Element]:
    sections = {section.get("ID", ""): section for section in mets.iterchildren("{*}dmdSec")}
    maps = sorted(mets.iterchildren("{*}structMap"), key=lambda one: one.get("TYPE", "").lower() != "logical")
    named = [name for one in maps for div in one.iter("{*}div") for name in div.get("DMDID", "").split()]
    for section in dict.fromkeys([*named, *sections]):
        for data in sections[section].iterfind("{*}mdWrap/{*}xmlData") if section in sections else ():
            yield next(data.iter("{*}mods"), data)


def _of_mods(mods: Element) -> Metadata:
    titles = [title for title in mods.iterchildren("{*}titleInfo") if not title.get("type")]
    title = titles[0] if titles else next(mods.iterfind("{*}relatedItem[@type='host']/{*}titleInfo"), None)
    names = [(_roles(name), _name(name)) for name in mods.iterchildren("{*}name")]
    return description(
        title=None if title is None else _title(title),
        authors=[name for roles, name in names if roles & _AUTHORS]
        or [name for roles, name in names if not roles],
        language=next(iter(_texts(mods, "language/{*}languageTerm")), None),
        date=_date(mods),
        volume=next(iter(_volumes(mods, title)), None),
        identifiers=map(_identifier, mods.iterchildren("{*}identifier")),
    )


def _title(title: Element) -> str:
    """The title without the marks of the line ends on an old title page."""
    text = " ".join(_texts(title, "nonSort") + _texts(title, "title"))
    return re.sub(r"\s*\|\|\s*", " ", re.sub(r"=\s*\|\|\s*", "", text))


def _identifier(element: Element) -> str | None:
    text = re.sub(r"^urn:oclc:record:", "oclc:", element.text or "")
    return identifier("oclc" if text.startswith("oclc:") else element.get("type", ""), text)


def _of_dublin_core(record: Element) -> Metadata:
    def texts(name: str) -> list[str | None]:
        return [element.text for element in record.iter(f"{{*}}{name}")]

    return description(
        title=next(iter(texts("title")), None),
        authors=texts("creator"),
        language=next(iter(texts("language")), None),
        date=next(iter(texts("date") + texts("issued")), None),
        identifiers=[
            identifier(*value.split(":", 1)) for value in texts("identifier") if value and ":" in value
        ],
    )


def _name(name: Element) -> str | None:
    given, family = _texts(name, "namePart[@type='given']"), _texts(name, "namePart[@type='family']")
    whole = [part.text or "" for part in name.iterchildren("{*}namePart") if not part.get("type")]
    display = _texts(name, "displayForm")
    return clean(" ".join(display[:1] or given + family or whole))


def _roles(name: Element) -> set[str]:
    return {term.lower() for term in _texts(name, "role/{*}roleTerm")}


def _date(mods: Element) -> str | None:
    """When the book was published, not when it was digitised."""
    for origin in mods.iterchildren("{*}originInfo"):
        if "digit" in origin.get("eventType", "") or any(
            "lectronic" in text for text in _texts(origin, "edition")
        ):
            continue
        for kind in ("dateIssued", "dateCreated", "copyrightDate", "dateOther"):
            for date in _texts(origin, kind):
                if _YEAR.search(date):
                    return date
    return None


def _volumes(mods: Element, title: Element | None) -> list[str]:
    numbers = _texts(mods, "part/{*}detail[@type='volume']/{*}number")
    return numbers or ([] if title is None else _texts(title, "partNumber"))


def _texts(element: Element, path: str) -> list[str]:
    found = (clean(part.text) for part in element.iterfind(f"{{*}}{path}"))
    return [text for text in found if text]
