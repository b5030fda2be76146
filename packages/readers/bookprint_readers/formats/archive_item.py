"""Items of the Internet Archive: text, leaves and metadata of a book in separate files.

Scanned leaves include colour cards, which are not pages of the book. `_djvu.xml` contains only the leaves
that `_scandata.xml` adds to access formats. Other texts may contain all leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bookprint_core.book_rules import known_labels
from bookprint_core.errors import BrokenFile, SeveralBooks
from bookprint_core.model import Metadata
from bookprint_readers.extraction import Extraction, description, identifier
from bookprint_readers.package import Package, expanded
from bookprint_readers.source import Source
from bookprint_readers.syntax.xml import document, elements

_TEXTS = (
    r".*_djvu\.xml",
    r".*_(?:ch)?ocr\.html?(?:\.gz)?",
    r".*_hocr\.html?(?:\.gz)?",
    r".*_abbyy(?:\.xml)?(?:\.gz)?",
)
"""Patterns for paths of texts with pages. The first pattern that matches is used."""

_LEAVES = r"(?:.*[/_])?scandata\.xml"
_METADATA = r".*_meta\.xml"


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Entry of `_scandata.xml` for one leaf."""

    is_shown: bool  # whether it is a page of the book
    label: str | None


def recognises(package: Package) -> bool:
    """Return whether the package contains a text with pages and the item's leaves or metadata."""
    beside = package.matching(_LEAVES) or package.matching(_METADATA)
    return bool(beside) and any(package.matching(pattern) for pattern in _TEXTS)


def read(package: Package, read_file: Callable[[Source], Extraction]) -> Extraction:
    """Return the book of the item. Raises SeveralBooks and the errors of `read_file`."""
    texts = next(filter(None, map(package.matching, _TEXTS)))
    if len(texts) > 1:
        raise SeveralBooks(f"{package.name} holds {len(texts)} books. Send them one by one, or in bulk.")
    book = read_file(expanded(texts[0]))
    pages, labels, warnings = book.pages, book.labels, list(book.warnings)
    for source in package.matching(_LEAVES)[:1]:
        leaves = _leaves(source)
        shown = [leaf for leaf in leaves if leaf.is_shown]
        if len(leaves) == len(pages):
            pages = [page for page, leaf in zip(pages, leaves, strict=True) if leaf.is_shown]
        if len(shown) == len(pages):
            labels = known_labels([leaf.label for leaf in shown])
        elif leaves:
            warnings.append(
                f"{texts[0].name} has {len(pages)} pages, but {source.name} shows {len(shown)} leaves."
            )
    metadata = next(map(_metadata, package.matching(_METADATA)), book.metadata)
    return replace(book, pages=pages, labels=labels, metadata=metadata, warnings=warnings)


def _leaves(source: Source) -> list[_Leaf]:
    """Return the leaves in the order of the scan."""
    try:
        return [
            _Leaf(
                page.findtext("{*}addToAccessFormats", "true").strip().casefold() != "false"
                and page.findtext("{*}pageType", "").strip().casefold() != "delete",
                page.findtext("{*}pageNumber"),
            )
            for page in elements(source, "page", repairs=[])
        ]
    except BrokenFile:
        return []


def _metadata(source: Source) -> Metadata:
    try:
        record = document(source, [])
    except BrokenFile:
        return Metadata()

    def values(name: str) -> list[str]:
        return [element.text for element in record.iter(f"{{*}}{name}") if element.text]

    languages = [language for language in values("language") if language.casefold() not in {"unknown", "und"}]
    stated = [
        value.removeprefix("urn:").replace("oclc:record:", "oclc:") for value in values("external-identifier")
    ]
    schemes = {"identifier": "ia", "isbn": "isbn", "oclc-id": "oclc", "lccn": "lccn"}
    return description(
        title=next(iter(values("title")), None),
        authors=values("creator"),
        language=languages[0] if len(languages) == 1 else None,
        date=next(iter(values("date") or values("year")), None),
        volume=next(iter(values("volume")), None),
        identifiers=[
            *(identifier(scheme, value) for name, scheme in schemes.items() for value in values(name)),
            *(identifier(value.partition(":")[0], value) for value in stated if ":" in value),
        ],
    )
