"""The metadata of a book: the type, rule and meaning of each field.

Columns of the catalogue, bodies and answers of the API, JSON Lines, tables, Parquet and forms are made from
this table. Lengths are in characters. A value that is too long is refused, never cut.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from bookprint_core.errors import InvalidInput

LONGEST_AUTHOR = 1_000
LONGEST_LANGUAGE = 35
LONGEST_EXTERNAL_ID = 500
LONGEST_IDENTIFIER = 300
LONGEST_COLLECTION = 100
MOST_YEAR = 9_999
"""Last year allowed; the first allowed year is its negative."""

CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Characters forbidden in names, for a class of a regular expression: C0 and C1 except tab and line ends."""

# Python and ECMAScript differ in which control characters are white space.
NAME_PATTERN = f"[^{CONTROLS}]*[^\\s{CONTROLS}\\ufeff][^{CONTROLS}]*"
"""Pattern of a name that is not blank."""

IDENTIFIER_PATTERN = f"^[0-9A-Za-z-]+:{NAME_PATTERN}$"
"""Pattern of an identifier with its scheme, such as isbn:9780141439600."""

_CONTROL = re.compile(f"[{CONTROLS}]")
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)
_BLANKS = str.maketrans("\t\n\r", "   ")


def control_in(name: str) -> str | None:
    """Return the first control character in a name as U+…; None if there is none. Terminals obey some.

    >>> control_in("Emma\\x1b[2J"), control_in("Emma\\tor more")
    ('U+001B', None)
    """
    found = _CONTROL.search(name)
    return None if found is None else f"U+{ord(found[0]):04X}"


def on_one_line(name: str) -> str:
    """Return the name with blanks for tabs and line ends."""
    return name.translate(_BLANKS)


def with_lower_scheme(identifier: str) -> str | None:
    """Return the identifier with its scheme in lower case (RFC 3986, 3.1); None if it is not an identifier.

    >>> with_lower_scheme("ISBN:9780141439600"), with_lower_scheme("9780141439600")
    ('isbn:9780141439600', None)
    """
    if not _IDENTIFIER.match(identifier):
        return None
    scheme, _, value = identifier.partition(":")
    return f"{scheme.lower()}:{value}"


def _plain(text: str, longest: int, place: str) -> str:
    if len(text) > longest:
        raise InvalidInput(f"{place}: {len(text):,} characters. Send at most {longest:,}.", place)
    if code := control_in(text):
        raise InvalidInput(f"{place}: The control character {code} cannot be stored. Remove it.", place)
    return on_one_line(text)


def _own_id(text: str, longest: int, place: str) -> str:
    if not text:
        raise InvalidInput(f"{place}: is empty. Send at least one character, or leave it out.", place)
    return _plain(text, longest, place)


def _identifier(text: str, longest: int, place: str) -> str:
    known = with_lower_scheme(_plain(text, longest, place))
    if known is None:
        raise InvalidInput(
            f"{place}: This is not an identifier with its scheme. Write it as scheme:value, for example "
            "isbn:9780141439600.",
            place,
        )
    return known


def _collection(text: str, longest: int, place: str) -> str:
    name = _plain(text.strip(), longest, place)
    if not name:
        raise InvalidInput(
            f"{place}: is empty. Send at least one character that is not a blank, or leave it out.", place
        )
    return name


def _field(description: str, headings: str = "", *, default: object = None, **others: Any) -> Any:
    """Define a field of `Metadata`, with the attributes of its `MetadataField`."""
    said = {"description": description, "headings": tuple(headings.split())}
    return field(default=default, metadata=said | others)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The catalogue's description of a book; signatures do not depend on it."""

    title: str | None = _field(
        "The title as sent. In all fields tabs and line ends become blanks.",
        "title title_src book_title main_title titel titre título titolo",
        longest=10_000,
    )
    authors: tuple[str, ...] = _field(
        "The authors in their order.",
        "authors author author_src creators creator author_s "
        "autor autoren verfasser auteur auteurs autore autores",
        default=(),
        longest=LONGEST_AUTHOR,
    )
    language: str | None = _field(
        "The language, best as a BCP 47 tag.",
        "language lang language_src language_gen sprache langue idioma lingua",
        longest=LONGEST_LANGUAGE,
    )
    year: int | None = _field(
        "The year of publication; negative before the common era.",
        "year date1_src publication_year pub_year year_published publication_date date "
        "jahr erscheinungsjahr année año anno",
    )
    volume: str | None = _field(
        "The volume within a work or series, as printed.", "volume enumcron enumeration_chronology band"
    )
    publisher: str | None = _field(
        "The publisher, as the title page names it.",
        "publisher publisher_name verlag éditeur editorial editore",
    )
    external_id: str | None = _field(
        "Your own id of the book; no two books have the same id.",
        "id external_id barcode_src htid volume_id book_id doc_id document_id record_id uuid ark url",
        longest=LONGEST_EXTERNAL_ID,
        rule=_own_id,
    )
    identifiers: tuple[str, ...] = _field(
        "Identifiers as scheme:value, for example isbn:9780141439600.",
        "identifiers identifiers_src",
        default=(),
        longest=LONGEST_IDENTIFIER,
        rule=_identifier,
    )
    collection: str | None = _field(
        "The collection of the book: a library, a partner or a batch. Blanks around it are removed.",
        longest=LONGEST_COLLECTION,
        rule=_collection,
    )

    def completed_by(self, other: "Metadata") -> "Metadata":
        """Return these metadata with the other's values in empty fields, and the identifiers of both."""
        values = {each.name: getattr(other if each.is_empty_in(self) else self, each.name) for each in FIELDS}
        return Metadata(
            **values | {"identifiers": tuple(dict.fromkeys((*self.identifiers, *other.identifiers)))}
        )


@dataclass(frozen=True, slots=True)
class MetadataField:
    """A field of the metadata."""

    name: str
    kind: type  # str, int, or tuple for a list of texts
    description: str
    longest: int = 1_000  # maximum number of characters of a text; in a list, of each text
    most: int = 1_000  # maximum number of texts of a list
    rule: Callable[[str, int, str], str] = _plain  # makes a text plain; arguments: text, longest, place
    headings: tuple[str, ...] = ()  # of its column in a table, the best first; empty: no column

    @property
    def label(self) -> str:
        """Name of the field for people."""
        return self.name.replace("_", " ").capitalize()

    def is_empty_in(self, metadata: Metadata) -> bool:
        """Return whether the field has no value in the metadata."""
        return getattr(metadata, self.name) in (None, "", ())

    def checked(self, value: Any) -> Any:
        """Return the value with its texts on one line; raise InvalidInput if it breaks a rule."""
        if isinstance(value, str):
            return self.rule(value, self.longest, self.name)
        if isinstance(value, tuple):
            if len(value) > self.most:
                raise InvalidInput(
                    f"{self.name}: {len(value):,} items. Send at most {self.most:,}.", self.name
                )
            return tuple(
                self.rule(text, self.longest, f"{self.name}.{index}") for index, text in enumerate(value)
            )
        if value is not None and abs(value) > MOST_YEAR:
            raise InvalidInput(
                f"{self.name}: {value} is not a year. Send one from {-MOST_YEAR} to {MOST_YEAR}.", self.name
            )
        return value


_KINDS: dict[Any, type] = {str | None: str, int | None: int, tuple[str, ...]: tuple}

FIELDS = tuple(MetadataField(each.name, _KINDS[each.type], **each.metadata) for each in fields(Metadata))
"""Fields in their order."""

FIELD = {each.name: each for each in FIELDS}
"""Fields by their names."""

TABLE_FIELDS = tuple(each for each in FIELDS if each.headings)
"""Fields with a column in tables: all except the collection, which the importing person chooses."""

LISTS = tuple(each.name for each in FIELDS if each.kind is tuple)
"""Names of the fields that contain several texts."""


def checked_metadata(metadata: Metadata) -> Metadata:
    """Return the metadata with texts on one line and schemes in lower case; raise InvalidInput."""
    return Metadata(**{each.name: each.checked(getattr(metadata, each.name)) for each in FIELDS})


def metadata_from(values: dict[str, Any]) -> Metadata:
    """Build metadata from values by name; a list may be any sequence or None."""
    return Metadata(**values | {name: tuple(values.get(name) or ()) for name in LISTS})
