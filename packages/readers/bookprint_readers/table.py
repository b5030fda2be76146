"""Rows of tables as books. Column names, or the user, decide which field a column contains."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bookprint_core.errors import InvalidInput
from bookprint_core.metadata import LONGEST_IDENTIFIER, TABLE_FIELDS
from bookprint_core.model import Metadata
from bookprint_core.text.catalogue_values import numbers_in
from bookprint_readers.extraction import clean, description, identifier

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "pages": ("pages", "text_by_page_src", "text_by_page_gen", "text_by_page", "page_texts", "page_text"),
    "text": ("text", "content", "full_text", "fulltext", "ocr_text", "raw_text", "body"),
    **{each.headings[0]: each.headings for each in TABLE_FIELDS},
    "identifier": ("identifier", "bp2", "bp1", "composite", "long_identifier"),
}
"""Names of columns by field. If a table contains several of them, the first name is used.

Names are compared as `heading` returns them.

The names that end in `_src` and `_gen` come from Institutional Books 1.0.
"""

_SCHEME = re.compile(
    r"(?:(?:e|p|e?book|print|electronic|online|primary|other|n|no|nr)_)?[ep]?(isbn|issn|oclc|ocolc|lccn|ean)"
    r"(?:s|l|1[03])?(?:_(?:10|13|s|n|uid|id|no|nr|num|numbers?|nummer|control|code|issn|e?book|print|online))*"
)
"""Names of columns, or of fields in a column, that contain identifiers of one scheme."""

_BETWEEN = re.compile(r"[\W_]+")
_SEVERAL = re.compile(r"\s*[;|]\s*")


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of one table by field; None or empty if missing."""

    pages: str | None = None
    text: str | None = None
    second_pages: str | None = None  # used in rows whose pages are null
    identifier: str | None = None  # bp1:… or bp2:…, instead of a text
    metadata: Mapping[str, str] = field(default_factory=dict)  # by the name of the field
    schemes: tuple[tuple[str, str], ...] = ()  # columns of identifiers, each with its scheme

    @property
    def names(self) -> list[str]:
        single = (self.pages, self.second_pages, self.text, self.identifier)
        several = (*self.metadata.values(), *(column for column, _ in self.schemes))
        return list(dict.fromkeys([*filter(None, single), *several]))


def named_columns(options: Iterable[str]) -> dict[str, str]:
    """Return the columns by field from options of the form FIELD=NAME. Raises InvalidInput."""
    named = {}
    for option in options:
        held, sign, name = option.partition("=")
        if not sign or held not in COLUMNS:
            raise InvalidInput(
                f"--column takes FIELD=NAME, where FIELD is one of {', '.join(COLUMNS)}.", "column"
            )
        named[held] = name
    return named


def find_columns(present: Iterable[str], named: Mapping[str, str]) -> Columns:
    """Find the columns of the fields. `named` maps fields to columns and overrides the search by name.

    Raises InvalidInput if a field of `named` is unknown or its column is missing.
    """
    columns = list(present)
    by_folded = {heading(column): column for column in reversed(columns)}
    for held, column in named.items():
        if held not in COLUMNS:
            raise InvalidInput(f"A column cannot hold {held!r}. It can hold: {', '.join(COLUMNS)}.", held)
        if column not in columns:
            raise InvalidInput(f"There is no column {column!r}. There are: {listed(columns)}.", held)
    found: dict[str, str | None] = {}
    for held, names in COLUMNS.items():
        matches = (by_folded[name] for name in names if name in by_folded)
        found[held] = named.get(held) or next(matches, None)
    if "text" in named and "pages" not in named:
        found["pages"] = None
    second = (
        by_folded.get("text_by_page_gen") if found["pages"] == by_folded.get("text_by_page_src") else None
    )
    schemes = tuple((column, scheme) for column in columns if (scheme := _scheme_of(column)) is not None)
    return Columns(
        pages=found["pages"],
        text=found["text"],
        second_pages=second if found["pages"] else None,
        identifier=found["identifier"],
        metadata={each.name: name for each in TABLE_FIELDS if (name := found[each.headings[0]])},
        schemes=schemes,
    )


def metadata_of(row: Mapping[str, object], columns: Columns) -> Metadata:
    """Return the metadata of a row. Authors and identifiers are lists, or texts separated by `;` or `|`."""

    cells = {name: row.get(column) for name, column in columns.metadata.items()}
    authors, numbers = _several(cells.pop("authors", None)), _identifiers(cells.pop("identifiers", None))
    of_schemes = (
        each
        for column, scheme in columns.schemes
        for part in _several(row.get(column))
        for each in _numbers(scheme, part)
    )
    texts = {name: _one(cell) for name, cell in cells.items()}
    external_id, year, language = (texts.pop(name, None) for name in ("external_id", "year", "language"))
    described = description(
        authors=authors, language=language, date=year, identifiers=[*numbers, *of_schemes], **texts
    )
    return replace(described, external_id=external_id)


def heading(name: str) -> str:
    """Return the name of a column in the form in which names are compared.

    >>> heading("Publication Year"), heading("ISBN-13"), heading(" Author(s)")
    ('publication_year', 'isbn_13', 'author_s')
    """
    return _BETWEEN.sub("_", name.casefold()).strip("_")


def listed(names: Iterable[str]) -> str:
    """Return names for a message, at most forty of them."""
    every = list(names)
    return ", ".join(every[:40]) + (f" and {len(every) - 40} more" if len(every) > 40 else "") or "none"


def _one(value: object) -> str | None:
    """Return a cell with one value as text. In a list, the first value is used."""
    if isinstance(value, list | tuple):
        value = next((each for each in value if each not in (None, "")), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if value is None or isinstance(value, dict):
        return None
    text = str(value).strip()
    # Tables write a number as a formula so that spreadsheets keep its leading zeros.
    return (text[2:-1].strip() if text.startswith('="') and text.endswith('"') else text) or None


def _several(value: object) -> list[str]:
    """Return a cell with several values as texts."""
    if isinstance(value, list | tuple):
        return [text for text in map(_one, value) if text]
    text = _one(value)
    return [part for part in _SEVERAL.split(text) if part] if text else []


def _identifiers(value: object) -> list[str | None]:
    """Return the identifiers in a cell of texts scheme:value, or of lists of values by scheme."""
    if isinstance(value, Mapping):
        pairs = [(scheme, part) for scheme, values in value.items() for part in _several(values)]
    else:
        texts = (text.partition(":") for text in _several(value))
        pairs = [(scheme, rest) for scheme, _, rest in texts if rest]
    return [each for scheme, part in pairs for each in _numbers(_scheme_of(scheme) or scheme, part)]


def _numbers(scheme: str, text: str) -> list[str | None]:
    """Return the identifiers of a scheme in a text. Unreadable ones stay, so that they can be reported."""
    numbers = numbers_in(scheme, text) if scheme in ("isbn", "issn") else ()
    if len(numbers) > 1:
        return [f"{scheme}:{number}" for number in numbers]
    found = identifier(scheme, text)
    is_said = found is None and any(map(str.isalnum, text))
    return [f"{scheme}:{clean(text)}"[:LONGEST_IDENTIFIER] if is_said else found]


def _scheme_of(column: str) -> str | None:
    match = _SCHEME.fullmatch(heading(column))
    return None if match is None else match[1].replace("ocolc", "oclc").replace("ean", "isbn")
