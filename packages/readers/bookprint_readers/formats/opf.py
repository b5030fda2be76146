"""The package document of an EPUB (OPF 2 and 3): metadata, documents in reading order, page lists."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bookprint_core.model import Metadata
from bookprint_core.text.catalogue_values import is_bare, isbns_alone
from bookprint_readers.extraction import description, identifier
from bookprint_readers.syntax.xml import Element, local_name

_DOCUMENTS = (
    "application/xhtml+xml",
    "text/html",
    "application/x-dtbook+xml",
    "text/x-oeb1-document",
    "application/xml",
)
_NO_TEXT = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript")
"""Prefixes of media types without a book's text. Other files are recognised by content."""

_NCX = "application/x-dtbncx+xml"
_MOST_FALLBACKS = 10

_GUTENBERG = re.compile(
    r"https?://(?:www\.)?gutenberg\.(?:org|net)/(?:ebooks/|files/|cache/epub/)?(\d{1,6})\b"
)
_FIRST_TRANSCRIPTION = "1971"
_TRANSCRIPTION = re.compile(r"gutenberg:|uri:https?://standardebooks\.org/")
_SCHEME = re.compile(r"(?:urn:)?(isbn|issn|doi|oclc|lccn):", re.IGNORECASE)
_FILE_IDENTITIES = {"uuid", "calibre", "mobi-asin", "amazon"}
_ONIX_ISBN = {"02": "isbn", "15": "isbn", "06": "doi"}  # ONIX code list 5, kinds of product identifiers


@dataclass(frozen=True, slots=True)
class Item:
    """A file that the manifest names."""

    href: str  # relative to the package document
    media_type: str
    is_navigation: bool  # whether it is the navigation document of EPUB 3
    fallback: str | None  # id of an item to read instead


@dataclass(frozen=True, slots=True)
class PackageDocument:
    """Metadata and reading order of an EPUB package."""

    metadata: Metadata
    spine: Sequence[Item | None]  # in reading order; None for an itemref without a document
    page_lists: Sequence[Item]  # files that may contain a page list, in order of preference
    from_standard_ebooks: bool
    warnings: Sequence[str] = ()


def package_document(package: Element) -> PackageDocument:
    """Read the element `package`."""
    manifest = {item.get("id", ""): _item(item) for item in _descendants(package, "item")}
    spine = next(_descendants(package, "spine"), None)
    references = [] if spine is None else list(_descendants(spine, "itemref"))
    page_lists = [item for item in manifest.values() if item.is_navigation]
    named = [manifest.get(spine.get(name, "")) for name in ("toc", "page-map")] if spine is not None else []
    page_lists += [item for item in named if item is not None]
    page_lists += [item for item in manifest.values() if item.media_type == _NCX and item not in page_lists]
    documents = [_document(manifest, reference.get("idref", "")) for reference in references]
    warnings = []
    if spine is not None and not references:
        documents = [item for item in manifest.values() if is_document(item)]
        warnings = ["The spine is empty; the documents were read in the order of the manifest."]
    texts = " ".join(_text(element) for element in _descendants(package, "identifier", "publisher"))
    return PackageDocument(
        _metadata(package), documents, page_lists, "standardebooks.org/" in texts, warnings
    )


def _item(item: Element) -> Item:
    navigates = "nav" in item.get("properties", "").split()
    media_type = item.get("media-type", "").partition(";")[0].strip().casefold()
    return Item(item.get("href", ""), media_type, navigates, item.get("fallback"))


def _document(manifest: Mapping[str, Item], name: str) -> Item | None:
    """Return the item with this id, or its first fallback that is a document if the item is not one."""
    first = item = manifest.get(name)
    for _ in range(_MOST_FALLBACKS):
        if item is None or item.media_type in _DOCUMENTS:
            break
        item = manifest.get(item.fallback or "")
    return item or first


def is_document(item: Item) -> bool:
    """Return whether the item's declared type is markup with text."""
    return item.media_type in _DOCUMENTS


def may_be_document(item: Item) -> bool:
    """Return whether the item may be markup, because its declared type is not a picture or the like."""
    return not item.media_type.startswith(_NO_TEXT)


def _metadata(package: Element) -> Metadata:
    refinements = _refinements(package)
    identifiers = [_identifier(element, refinements) for element in _descendants(package, "identifier")]
    is_transcription = any(map(_TRANSCRIPTION.match, filter(None, identifiers)))
    return description(
        title=_title(package, refinements),
        authors=_authors(package, refinements),
        language=next(map(_text, _descendants(package, "language")), None),
        date=_date(package, is_transcription),
        # The publisher of a transcription is not the book's publisher.
        publisher=None if is_transcription else next(map(_text, _descendants(package, "publisher")), None),
        identifiers=identifiers,
    )


def _refinements(package: Element) -> dict[tuple[str, str], str]:
    """Return refinements of EPUB 3 by the id of the element and the property."""
    return {
        (meta.get("refines", "").removeprefix("#"), meta.get("property", "")): _text(meta)
        for meta in _descendants(package, "meta")
        if meta.get("refines")
    }


def _title(package: Element, refinements: Mapping[tuple[str, str], str]) -> str | None:
    titles = [element for element in _descendants(package, "title") if _text(element)]
    main = [element for element in titles if refinements.get((element.get("id", ""), "title-type")) == "main"]
    return next(map(_text, main or titles), None)


def _authors(package: Element, refinements: Mapping[tuple[str, str], str]) -> list[str]:
    creators = list(_descendants(package, "creator"))
    roles = [
        refinements.get((element.get("id", ""), "role")) or _attribute(element, "role")
        for element in creators
    ]
    authors = [_text(element) for element, role in zip(creators, roles, strict=True) if role in {"aut", None}]
    return authors or [_text(element) for element in creators]


def _date(package: Element, is_transcription: bool) -> str | None:
    """Return the book's publication date, not the release date of a transcription."""
    dates = {_attribute(element, "event"): _text(element) for element in _descendants(package, "date")}
    events = ("original-publication", "publication", "issued", None)
    if is_transcription:
        dates = {event: date for event, date in dates.items() if date < _FIRST_TRANSCRIPTION}
    return next((dates[event] for event in events if dates.get(event)), None)


def _identifier(element: Element, refinements: Mapping[tuple[str, str], str]) -> str | None:
    """Return an identifier that catalogues use, or None for an identifier of the file, such as a UUID."""
    value, scheme = _text(element), (_attribute(element, "scheme") or "").casefold()
    scheme = _ONIX_ISBN.get(refinements.get((element.get("id", ""), "identifier-type"), ""), scheme)
    if number := _GUTENBERG.match(value):
        return identifier("gutenberg", number[1])
    if prefix := _SCHEME.match(value):
        return identifier(prefix[1], value)
    is_wrong = value.startswith(("978", "979")) and is_bare(value)
    if is_wrong or isbns_alone(value) or value.casefold().startswith("isbn"):
        return identifier("isbn", value)
    if value.startswith(("http://", "https://")):
        return identifier("uri", value)
    known = scheme and scheme not in _FILE_IDENTITIES and "uuid" not in value.casefold()
    return identifier(scheme, value) if known else None


@dataclass(frozen=True, slots=True)
class PageTarget:
    """Entry of a page list."""

    href: str  # relative to the document with the list
    label: str


def page_targets(root: Element) -> list[PageTarget]:
    """Return the pages in a navigation document, an NCX or a page map."""
    if local_name(root) == "ncx":
        lists = _descendants(root, "pageList")
        return [_ncx_target(content) for found in lists for content in _descendants(found, "content")]
    if local_name(root) == "page-map":
        return [PageTarget(page.get("href", ""), page.get("name", "")) for page in _descendants(root, "page")]
    lists = (nav for nav in _descendants(root, "nav") if _is_page_list(nav))
    return [
        PageTarget(link.get("href", ""), _text(link)) for found in lists for link in _descendants(found, "a")
    ]


def _ncx_target(content: Element) -> PageTarget:
    """Return the page whose `pageTarget` contains this element (NCX 2005)."""
    target = content.getparent()
    if target is None:
        return PageTarget(content.get("src", ""), "")
    label = next(map(_text, target.iterchildren("{*}navLabel")), "")
    return PageTarget(content.get("src", ""), label or target.get("value", ""))


def _is_page_list(nav: Element) -> bool:
    return (
        "page-list" in (_attribute(nav, "type") or "").split()
        or "doc-pagelist" in nav.get("role", "").split()
    )


def _descendants(element: Element, *names: str) -> Iterator[Element]:
    return element.iter(*(f"{{*}}{name}" for name in names))


def _attribute(element: Element, name: str) -> str | None:
    """Return the value of an attribute in any namespace."""
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), None)


def _text(element: Element) -> str:
    parts: Iterable[object] = element.itertext()
    return " ".join("".join(map(str, parts)).split())
