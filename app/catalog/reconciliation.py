"""Reconciliation: a description of a book to be found, the keys to find it by, and what is told of a book.

The names and formats of one version of the reconciliation API stay outside; this is what all of them mean.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from app.catalog.identifiers import all_normalised, can_name_a_book, is_valid, isbns
from app.core.clusters.cluster_name import ClusterName
from app.core.model import Book, Content
from app.core.relations.related import RelationSummary
from app.core.signatures import identifier
from app.core.signatures.identifier import Identifier
from app.core.text import names
from app.core.text.catalogue_values import isbns_alone
from app.core.text.names import KeyCondition

MOST_CANDIDATES = 100
"""Candidates of one query that are answered at most."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WITH_SCHEME = re.compile(r"[A-Za-z][0-9A-Za-z-]*:\s*(?=\S)")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_MOST_YEARS = 4

_MOST_BOOKS = 20_000
"""Books that may have a key that is looked for; reading more of an index takes milliseconds."""


@dataclass(frozen=True, slots=True)
class NamedContent:
    """The content that a book must have: a text, an identifier, or that of a book of the catalogue."""

    text: Content | None = None
    identifier: Identifier | None = None
    book_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class BookDescription:
    """What is known of the book to be found; several values of a field are alternatives."""

    titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()  # of these each counts
    years: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()  # in normal form
    ids: tuple[UUID, ...] = ()
    contents: tuple[NamedContent, ...] = ()


def book_id_of(text: str) -> UUID | None:
    """The id of a book that the text is; None where it is none."""
    return UUID(text) if _ID.fullmatch(text) else None


def identifiers_of(text: str, scheme: str | None = None) -> tuple[str, ...]:
    """The catalogue identifiers that the text can mean, in normal form; empty where it can mean none.

    Without a scheme, it must be a valid ISBN; a word in front of a colon is a scheme.

    >>> identifiers_of("0-14-143960-2"), identifiers_of("OCLC: 1234"), identifiers_of("Emma")
    (('isbn:9780141439600',), ('oclc:1234',), ())
    """
    if "\0" in text:  # which Postgres cannot hold
        return ()
    if scheme is not None:
        return tuple(filter(can_name_a_book, all_normalised([f"{scheme}:{text}"])))
    if numbers := isbns_alone(text):
        return tuple(f"isbn:{number}" for number in numbers)
    match = _WITH_SCHEME.match(text)
    return () if match is None else identifiers_of(text[match.end() :], match[0].strip(" :"))


def unmistakable_identifiers(text: str) -> tuple[str, ...]:
    """As `identifiers_of`, but only those that no title can be mistaken for: their values are checked.

    >>> unmistakable_identifiers("isbn:0141439602"), unmistakable_identifiers("Emma: a novel")
    (('isbn:9780141439600',), ())
    """
    found = identifiers_of(text)
    # A scheme without rules has no value that is not valid.
    return tuple(each for each in found if is_valid(each) and not is_valid(f"{each.partition(':')[0]}:"))


def years_of(text: str) -> tuple[int, ...]:
    """The years in a date as catalogues write it: "c1813", "[1813?]", "1813-1815", "1813-01-28T00:00:00Z".

    >>> years_of("[1813?]"), years_of("1813-01-28T00:00:00Z"), years_of("n.d.")
    ((1813,), (1813,), ())
    """
    return tuple(dict.fromkeys(map(int, _YEAR.findall(text))))[:_MOST_YEARS]


def key_conditions(description: BookDescription, counts: Mapping[int, float]) -> list[KeyCondition]:
    """The conditions that find the candidates by name; none where neither title nor author is known.

    The books that are read for a condition are limited. So where a title is frequent, author and year go into
    a condition of their own, and of the words of a title the two in the fewest books are looked for together.
    `counts` says in how many books the most frequent keys are.
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
    """The keys of the two words in the fewest books; of words that are not counted, the longest."""
    keys = {names.word_key(word): len(word) for word in words}
    return sorted(_in_few_books(keys, counts), key=lambda key: (counts.get(key, 0.0), -keys[key]))[:2]


def _in_few_books(keys: Iterable[int], counts: Mapping[int, float]) -> list[int]:
    return [key for key in keys if counts.get(key, 0.0) <= _MOST_BOOKS]


@dataclass(frozen=True, slots=True)
class RelatedTo:
    """A book that another one is related to, and how."""

    book_id: UUID
    title: str | None
    summary: RelationSummary


@dataclass(frozen=True, slots=True)
class BookFacts:
    """All that the service can tell of a book."""

    book: Book
    relations: Sequence[RelatedTo] = ()  # without unrelated books, closest first


@dataclass(frozen=True, slots=True)
class Property:
    """A property of books."""

    id: str
    name: str
    description: str
    extends: bool = True  # a column can be filled with it


PROPERTIES = (
    Property("title", "Title", "The title, where the reconciled column holds something else."),
    Property("author", "Author", "An author, family name first or last; initials do."),
    Property("year", "Year", "The year of publication, also within a date."),
    Property("language", "Language", "The language as a tag: en, pt-BR."),
    Property("volume", "Volume", "Which volume of a work or series it is."),
    Property("isbn", "ISBN", "An ISBN of 10 or 13 digits, with or without hyphens."),
    Property(
        "identifier",
        "Identifier",
        "To match: bp1:… or bp2:…, an id of a book here, or any identifier as oclc:1234. To fetch: bp1:…",
    ),
    Property("identifiers", "Catalogue identifiers", "Identifiers as scheme:value: oclc:1234, isbn:…"),
    Property("text", "Text", "The text of the book, or a part of it: found by content.", extends=False),
    Property("page_count", "Pages", "How many pages it has, blank ones too."),
    Property("word_count", "Words", "How many words its text has."),
    Property("cluster", "Cluster", "The name that all copies of one text share."),
    Property("relations", "Related books", "The books whose text is related."),
)

BY_ID = {each.id: each for each in PROPERTIES}

RELATIONS = "relations"


def book_name(title: str | None, book_id: UUID) -> str:
    """The name of a book in a list; never empty."""
    return title.strip() if title and title.strip() else f"Book {book_id}"


def plain_values(property_id: str, book: Book) -> Sequence[str | int]:
    """The values of a property of a book, but for its related books; empty for an unknown property."""
    values = _VALUES.get(property_id)
    return [] if values is None else [value for value in values(book) if value is not None]


def _content_identifiers(book: Book) -> list[str]:
    return [] if book.fingerprint is None else [identifier.encode(book.fingerprint, book.word_count)]


_VALUES: Mapping[str, Callable[[Book], Sequence[str | int | None]]] = {
    "title": lambda book: [book.metadata.title],
    "author": lambda book: book.metadata.authors,
    "year": lambda book: [book.metadata.year],
    "language": lambda book: [book.metadata.language],
    "volume": lambda book: [book.metadata.volume],
    "isbn": lambda book: isbns(book.metadata.identifiers),
    "identifier": _content_identifiers,
    "identifiers": lambda book: book.metadata.identifiers,
    "page_count": lambda book: [book.page_count],
    "word_count": lambda book: [book.word_count],
    "cluster": lambda book: [ClusterName("same_text", book.founder_id).key],
}
