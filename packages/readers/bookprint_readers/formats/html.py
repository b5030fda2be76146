"""HTML: one book per file, with pages if it marks page breaks like DPUB-ARIA or EPUB."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bookprint_core.errors import UnsupportedFormat
from bookprint_core.model import Metadata
from bookprint_core.text.catalogue_values import isbns_alone
from bookprint_readers.extraction import Extraction, description, identifier
from bookprint_readers.gutenberg import title_in
from bookprint_readers.source import Source
from bookprint_readers.syntax.markup import decoded_markup, marked_text, pages_of
from bookprint_readers.syntax.tags import tags

NAME = "html"

_START = re.compile(
    rb"\s*+(?>(?:<\?xml[^>]*+>|<!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|title|meta|center|h[1-6]|div|p|pre)\b",
    re.IGNORECASE | re.DOTALL,
)

_TITLES = ("dc.title", "dcterms.title", "citation_title", "og:title")
_AUTHORS = ("dc.creator", "dcterms.creator", "citation_author", "author")
_LANGUAGES = ("dc.language", "dcterms.language", "citation_language", "content-language", "language")
_DATES = ("dc.date", "dcterms.issued", "dcterms.date", "citation_publication_date", "citation_date")
_IDENTIFIERS = {"citation_isbn": "isbn", "isbn": "isbn", "citation_doi": "doi", "dc.identifier": "uri"}

_BODY = re.compile("<body", re.IGNORECASE)

_METADATA_WITHIN = 1 << 18  # characters at the start of a file that may contain metadata


def recognises(head: bytes) -> bool:
    """Return whether a file starts like HTML, in UTF-16, UTF-32 or an encoding that extends ASCII."""
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\0\0\xfe\xff", b"\xfe\xff"):
        head = head.removeprefix(mark)
    return _START.match(head.replace(b"\0", b"")) is not None


def read(source: Source) -> Extraction:
    """Return the book in the file. Raises UnsupportedFormat if the bytes are not text."""
    markup = decoded_markup(source)
    if markup is None:
        raise UnsupportedFormat(f"{source.name} starts as HTML does, but its bytes are not text.")
    said = _metadata(_BODY.split(markup.text[:_METADATA_WITHIN], maxsplit=1)[0])
    found = pages_of(marked_text(markup.text))
    return Extraction(
        NAME,
        found.pages,
        paginated=len(found.pages) > 1,
        metadata=_merged(said, found.header),
        labels=found.labels,
        warnings=markup.warnings,
    )


def _metadata(head: str) -> Metadata:
    """Read the metadata in the elements `meta`, `title` and `html`."""
    fields = defaultdict[str, list[str]](list)
    title = language = None
    for tag in tags(head):
        if tag.is_end:
            continue
        if tag.name == "meta":
            said = tag.attributes()
            name = said.get("name") or said.get("property") or said.get("http-equiv") or ""
            fields[name.casefold().replace("dc:", "dc.")].append(said.get("content", ""))
        elif tag.name == "title":
            title = title or tag.text
        elif tag.name == "html":
            language = tag.attributes().get("lang") or tag.attributes().get("xml:lang")
    return description(
        title=_first(fields, _TITLES) or title_in(title),
        authors=next((fields[name] for name in _AUTHORS if name in fields), ()),
        language=language or _first(fields, _LANGUAGES),
        date=_first(fields, _DATES),
        identifiers=(
            identifier("isbn" if isbns_alone(value) else scheme, value)
            for name, scheme in _IDENTIFIERS.items()
            for value in fields.get(name, ())
            if scheme != "uri" or value.startswith("http") or isbns_alone(value)
        ),
    )


def _first(fields: Mapping[str, list[str]], names: Iterable[str]) -> str | None:
    return next((fields[name][0] for name in names if fields.get(name)), None)


def _merged(said: Metadata, header: Metadata) -> Metadata:
    """Merge both, but take title and authors from `header`: the markup's title includes the author."""
    named = header.completed_by(said)
    return replace(said.completed_by(header), title=named.title, authors=named.authors)
