"""Rows of tables as books: which column holds what, found by its name or named by the user."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from app.core.errors import InvalidInput
from app.core.model import Metadata
from app.readers.extraction import description, identifier

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "pages": ("pages", "text_by_page_src", "text_by_page_gen", "text_by_page", "page_texts", "page_text"),
    "text": ("text", "content", "full_text", "fulltext", "ocr_text", "raw_text", "body"),
    "id": (
        *("id", "external_id", "barcode_src", "htid", "volume_id", "book_id", "doc_id", "document_id"),
        *("record_id", "uuid", "ark", "url"),
    ),
    "title": ("title", "title_src", "book_title", "main_title"),
    "authors": ("authors", "author", "author_src", "creators", "creator"),
    "language": ("language", "lang", "language_src", "language_gen"),
    "year": ("year", "date1_src", "publication_year", "pub_year", "publication_date", "date"),
    "volume": ("volume", "enumcron", "enumeration_chronology"),
    "identifiers": ("identifiers", "identifiers_src"),
    "identifier": ("identifier", "bp2", "bp1", "composite", "long_identifier"),
}
"""What a column can hold, and the names by which it is found, the first that there is before the others.

The names that end in `_src` and `_gen` are those of Institutional Books 1.0.
"""

_SCHEMES: Mapping[str, str] = {
    "isbn": "isbn",
    "oclc": "oclc",
    "ocolc": "oclc",
    "lccn": "lccn",
    "issn": "issn",
}
"""Schemes of identifiers by the columns, or the fields of a column, that hold them."""

_SEVERAL = re.compile(r"\s*[;|]\s*")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one table by what they hold; None or empty where there is none."""

    pages: str | None = None
    text: str | None = None
    second_pages: str | None = None  # where the pages of a row are null
    id: str | None = None
    title: str | None = None
    authors: str | None = None
    language: str | None = None
    year: str | None = None
    volume: str | None = None
    identifiers: str | None = None
    identifier: str | None = None  # bp1:… or bp2:…, instead of a text
    schemes: tuple[tuple[str, str], ...] = ()  # columns that hold identifiers of one scheme, with it

    @property
    def names(self) -> list[str]:
        single = (
            *(self.pages, self.second_pages, self.text, self.id, self.title, self.authors),
            *(self.language, self.year, self.volume, self.identifiers, self.identifier),
        )
        return list(dict.fromkeys([*filter(None, single), *(column for column, _ in self.schemes)]))


def named_columns(options: Iterable[str]) -> dict[str, str]:
    """The columns that options of the form FIELD=NAME name, by what they hold; raises InvalidInput."""
    named = {}
    for option in options:
        field, sign, name = option.partition("=")
        if not sign or field not in COLUMNS:
            raise InvalidInput(
                f"--column takes FIELD=NAME, where FIELD is one of {', '.join(COLUMNS)}.", "column"
            )
        named[field] = name
    return named


def find_columns(present: Iterable[str], named: Mapping[str, str]) -> Columns:
    """What the columns hold; `named` are columns by what they hold and outrank names.

    Raises InvalidInput where a column is named that there is not, or for something that no column holds.
    """
    columns = list(present)
    by_folded = {column.casefold(): column for column in reversed(columns)}
    for field, column in named.items():
        if field not in COLUMNS:
            raise InvalidInput(f"A column cannot hold {field!r}. It can hold: {', '.join(COLUMNS)}.", field)
        if column not in columns:
            raise InvalidInput(f"There is no column {column!r}. There are: {listed(columns)}.", field)
    found: dict[str, str | None] = {}
    for field, names in COLUMNS.items():
        matches = (by_folded[name] for name in names if name in by_folded)
        found[field] = named.get(field) or next(matches, None)
    if "text" in named and "pages" not in named:
        found["pages"] = None
    second = (
        by_folded.get("text_by_page_gen") if found["pages"] == by_folded.get("text_by_page_src") else None
    )
    schemes = tuple((by_folded[name], scheme) for name, scheme in _SCHEMES.items() if name in by_folded)
    other = Columns(schemes=schemes, second_pages=second if found["pages"] else None)
    return replace(other, **cast(dict[str, Any], found))


def metadata_of(row: Mapping[str, object], columns: Columns) -> Metadata:
    """The metadata in a row. Authors and identifiers are lists, or one text with `;` or `|` between them."""

    def value(column: str | None) -> object:
        return None if column is None else row.get(column)

    return replace(
        description(
            title=_one(value(columns.title)),
            authors=_several(value(columns.authors)),
            language=_one(value(columns.language)),
            date=_one(value(columns.year)),
            volume=_one(value(columns.volume)),
            identifiers=[
                *_identifiers(value(columns.identifiers)),
                *(
                    identifier(scheme, each)
                    for column, scheme in columns.schemes
                    for each in _several(row.get(column))
                ),
            ],
        ),
        external_id=_one(value(columns.id)),
    )


def listed(names: Iterable[str]) -> str:
    """Names for a message, at most forty of them."""
    every = list(names)
    return ", ".join(every[:40]) + (f" and {len(every) - 40} more" if len(every) > 40 else "") or "none"


def _one(value: object) -> str | None:
    """A cell that holds one thing, as text; of a list the first."""
    if isinstance(value, list | tuple):
        value = next((each for each in value if each not in (None, "")), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return (str(value).strip() or None) if value is not None and not isinstance(value, dict) else None


def _several(value: object) -> list[str]:
    """A cell that holds several things, as texts."""
    if isinstance(value, list | tuple):
        return [text for text in map(_one, value) if text]
    text = _one(value)
    return [part for part in _SEVERAL.split(text) if part] if text else []


def _identifiers(value: object) -> list[str | None]:
    """Identifiers written scheme:value, or lists of values by their scheme."""
    if isinstance(value, Mapping):
        return [
            identifier(_SCHEMES.get(scheme.casefold(), scheme), each)
            for scheme, values in value.items()
            for each in _several(values)
        ]
    pairs = (text.partition(":") for text in _several(value))
    return [identifier(_SCHEMES.get(scheme.casefold(), scheme), rest) for scheme, _, rest in pairs if rest]
