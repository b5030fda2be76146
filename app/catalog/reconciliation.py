"""Reconciliation: descriptions of books to find, keys to find them by, and properties of books.

This module does not depend on a version of the reconciliation API.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from uuid import UUID

from app.catalog.identifiers import all_normalised, can_name_a_book, is_valid, isbns
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.model import Book, Content
from bookprint_core.signatures import identifier
from bookprint_core.signatures.identifier import Identifier
from bookprint_core.text import names
from bookprint_core.text.catalogue_values import isbns_alone
from bookprint_core.text.names import KeyCondition

MOST_CANDIDATES = 100
"""Maximum number of candidates in the answer to one query."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WITH_SCHEME = re.compile(r"[A-Za-z][0-9A-Za-z-]*:\s*(?=\S)")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_MOST_YEARS = 4

_MOST_BOOKS = 20_000
"""Maximum number of books with a searched key. Reading more books takes milliseconds."""


NamedContent = Content | Identifier | UUID
"""The content of a book: a text, the identifier of a text, or the id of a book with the text."""


@dataclass(frozen=True, slots=True)
class BookDescription:
    """Description of the book to find. Several values of a field are alternatives."""

    titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()  # each author counts
    years: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()  # in normal form
    ids: tuple[UUID, ...] = ()
    contents: tuple[NamedContent, ...] = ()


def book_id_of(text: str) -> UUID | None:
    """Return the id if the text is the id of a book, else None."""
    return UUID(text) if _ID.fullmatch(text) else None


def identifiers_of(text: str, scheme: str | None = None) -> tuple[str, ...]:
    """Return the catalogue identifiers that the text can mean, in normal form; empty if there are none.

    Without `scheme`, the text must be a valid ISBN or begin with a scheme and a colon.

    >>> identifiers_of("0-14-143960-2"), identifiers_of("OCLC: 1234"), identifiers_of("Emma")
    (('isbn:9780141439600',), ('oclc:1234',), ())
    """
    if "\0" in text:  # Postgres cannot store it
        return ()
    if scheme is not None:
        return tuple(filter(can_name_a_book, all_normalised([f"{scheme}:{text}"])))
    if numbers := isbns_alone(text):
        return tuple(f"isbn:{number}" for number in numbers)
    match = _WITH_SCHEME.match(text)
    return () if match is None else identifiers_of(text[match.end() :], match[0].strip(" :"))


def unmistakable_identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers in a text that cannot be a title, because their values are checked.

    >>> unmistakable_identifiers("isbn:0141439602"), unmistakable_identifiers("Emma: a novel")
    (('isbn:9780141439600',), ())
    """
    found = identifiers_of(text)
    # A scheme without rules accepts every value, also an empty one.
    return tuple(each for each in found if is_valid(each) and not is_valid(f"{each.partition(':')[0]}:"))


def years_of(text: str) -> tuple[int, ...]:
    """Return the years in a catalogue's date: "c1813", "[1813?]", "1813-1815", "1813-01-28T00:00:00Z".

    >>> years_of("[1813?]"), years_of("1813-01-28T00:00:00Z"), years_of("n.d.")
    ((1813,), (1813,), ())
    """
    return tuple(dict.fromkeys(map(int, _YEAR.findall(text))))[:_MOST_YEARS]


def key_conditions(description: BookDescription, counts: Mapping[int, float]) -> list[KeyCondition]:
    """Return the conditions that find candidates by name; empty if neither title nor author is known.

    A condition reads a limited number of books. For frequent titles, one condition combines title with author
    or year, and one the two rarest words of the title. `counts` maps frequent keys to their numbers of books.
    """
    surnames = [names.surname_key(author) for author in description.authors if names.surname(author)]
    years = [names.year_key(year) for year in description.years]
    conditions = [
        condition
        for title in description.titles
        if names.folded(title)
        for condition in _title_conditions(title, surnames, years, counts)
    ]
    return conditions + [KeyCondition(years or [surname], [surname]) for surname in surnames]


def _title_conditions(
    title: str, surnames: Sequence[int], years: Sequence[int], counts: Mapping[int, float]
) -> list[KeyCondition]:
    exact, main = names.exact_key(title), names.main_key(title)
    short = names.main_title(title)
    alike = [main, *names.similarity_keys(title), *(names.similarity_keys(short) if short != title else ())]
    rare = _rarest(names.folded(title).split(), counts)
    typed = [some for keys in names.typed_keys(title) if (some := _in_few_books(keys, counts))]
    conditions = [KeyCondition([exact]), KeyCondition(alike), *map(KeyCondition, typed)]
    if len(rare) > 1:
        conditions.append(KeyCondition(rare, rare))
    for key in (*surnames, *years):
        conditions += [KeyCondition([key], [exact]), KeyCondition([*alike, *rare, *chain(*typed)], [key])]
    return conditions


def _rarest(words: Sequence[str], counts: Mapping[int, float]) -> list[int]:
    """Return the keys of the two words in the fewest books; among words without counts, the longest words."""
    keys = {names.word_key(word): len(word) for word in words}
    return sorted(_in_few_books(keys, counts), key=lambda key: (counts.get(key, 0.0), -keys[key]))[:2]


def _in_few_books(keys: Iterable[int], counts: Mapping[int, float]) -> list[int]:
    return [key for key in keys if counts.get(key, 0.0) <= _MOST_BOOKS]


RELATIONS = "relations"
"""Name of the property whose values are other books."""

Values = Sequence[str | int] | str | int | None


@dataclass(frozen=True, slots=True)
class Property:
    """A property of books."""

    name: str
    description: str
    values: Callable[[Book], Values] = lambda book: None
    extends: bool = True  # whether a column can be filled with it


def _identifier(book: Book) -> str | None:
    return None if book.fingerprint is None else identifier.encode(book.fingerprint, book.word_count)


def _isbns(book: Book) -> Sequence[str]:
    return isbns(book.metadata.identifiers)


def _cluster(book: Book) -> str:
    return ClusterName("same_text", book.founder_id).key


PROPERTIES: Mapping[str, Property] = {
    "title": Property(
        "Title", "The title, if the reconciled column is another field.", attrgetter("metadata.title")
    ),
    "author": Property("Author", "An author; names in any order.", attrgetter("metadata.authors")),
    "year": Property("Year", "The year of publication, or a date.", attrgetter("metadata.year")),
    "language": Property("Language", "A language tag, such as en or pt-BR.", attrgetter("metadata.language")),
    "volume": Property("Volume", "The volume of a work or series.", attrgetter("metadata.volume")),
    "isbn": Property("ISBN", "An ISBN of 10 or 13 digits, with or without hyphens.", _isbns),
    "identifier": Property("Identifier", "bp1:…; queries may also use the id of a book.", _identifier),
    "identifiers": Property(
        "Catalogue identifiers", "scheme:value, such as oclc:1234.", attrgetter("metadata.identifiers")
    ),
    "text": Property("Text", "The text of the book, or a part of it.", extends=False),
    "page_count": Property("Pages", "Number of pages, including blank pages.", attrgetter("page_count")),
    "word_count": Property("Words", "Number of words of the text.", attrgetter("word_count")),
    "cluster": Property("Cluster", "Key of the cluster, common to all copies of a text.", _cluster),
    RELATIONS: Property("Related books", "Books with related texts."),
}


def book_name(title: str | None, book_id: UUID) -> str:
    """Return the title of a book, or its id if it has no title."""
    return title.strip() if title and title.strip() else f"Book {book_id}"


def plain_values(name: str, book: Book) -> Sequence[str | int]:
    """Return the values of a property of a book; empty for unknown properties and for related books."""
    values = PROPERTIES[name].values(book) if name in PROPERTIES else None
    if values is None:
        return []
    return [values] if isinstance(values, str | int) else values
