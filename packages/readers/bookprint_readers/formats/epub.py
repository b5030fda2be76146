"""EPUB 2 and 3: the documents of the spine in order, with pages from page breaks or a page list.

One list names encrypted texts and obfuscated fonts (EPUB 3.3, section 4.2.6.3.2). Only texts are refused.
"""

import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from bookprint_core.errors import BrokenFile, EncryptedFile, SeveralBooks
from bookprint_readers.extraction import Extraction
from bookprint_readers.formats.opf import (
    Item,
    PackageDocument,
    is_document,
    may_be_document,
    package_document,
    page_targets,
)
from bookprint_readers.package import Package
from bookprint_readers.source import MOST_TEXT_BYTES, Source
from bookprint_readers.syntax.markup import MarkedText, decoded_markup, marked_text, pages_of
from bookprint_readers.syntax.tags import Cfi, parse_cfi
from bookprint_readers.syntax.xml import document

NAME = "epub"

_CONTAINER = "META-INF/container.xml"
_OPF = r".*\.opf"
_MARKUP = re.compile(rb"<(?:[\w.-]+:)?(?:html|body|dtbook)[\s>]", re.IGNORECASE)
_META_INF = re.compile(r"(|.*?/)META-INF/[^/]+", re.IGNORECASE)
_RIGHTS = (
    "META-INF/encryption.xml",
    "META-INF/rights.xml",
    "META-INF/license.lcpl",
    "META-INF/sinf.xml",
    "rights.xml",
)
_STANDARD_EBOOKS_OWN = re.compile(r"(titlepage|imprint|colophon|uncopyright)\.x?html", re.IGNORECASE)
_MOST_NAMED = 5  # files that a warning names


def recognises(package: Package) -> bool:
    """Return whether the package contains an EPUB container file or a package document with a spine."""
    return bool(package.matching(f"(.*/)?{_CONTAINER}")) or any(
        b"itemref" in source.read().replace(b"\0", b"")
        for source in package.matching(_OPF)
        if source.size <= MOST_TEXT_BYTES
    )


def described(package: Package, book: Extraction) -> Extraction:
    """Return the book with the metadata of the only OPF file beside it, such as calibre's."""
    found = package.matching(_OPF)
    if len(found) != 1:
        return book
    warnings: list[str] = []
    try:
        said, known = package_document(document(found[0], warnings)).metadata, book.metadata
    except BrokenFile as exc:
        return replace(book, warnings=[str(exc), *book.warnings])
    return replace(book, metadata=said.completed_by(known), warnings=[*warnings, *book.warnings])


def read(package: Package) -> Extraction:
    """Return the book in an EPUB. Raises BrokenFile and EncryptedFile."""
    package = _without_folder(package)
    files = _Files(package)
    warnings: list[str] = []
    base = _package_document_name(files, warnings)
    opf = package_document(document(package.members[base], warnings))
    names = [_name(item, files, base) for item in opf.spine]
    warnings += opf.warnings
    warnings += _missing(opf, names, files, base)
    encrypted = _encrypted(files, warnings)
    targets = _targets(opf, names, files, base)
    texts: list[MarkedText] = []
    for name in _to_read(opf, names):
        if name in encrypted:
            raise EncryptedFile(
                f"{package.name} is protected: {name} is encrypted. Send it without protection."
            )
        markup = decoded_markup(package.members[name])
        if markup is None or "<" not in markup.text:
            if any(files.name(rights, "") for rights in _RIGHTS):
                raise EncryptedFile(
                    f"{package.name} is protected: {name} is not text. Send it without protection."
                )
            raise BrokenFile(f"{package.name} is damaged: {name} is not text.")
        warnings += [f"{name}: {warning}" for warning in markup.warnings]
        texts.append(marked_text(markup.text, targets.get(name, {})))
    found = pages_of(MarkedText.joined(texts))
    identifiers = tuple(dict.fromkeys(opf.metadata.identifiers + found.header.identifiers))
    metadata = replace(opf.metadata, identifiers=identifiers)
    return Extraction(
        NAME,
        found.pages,
        paginated=len(found.pages) > 1,
        metadata=metadata,
        labels=found.labels,
        warnings=warnings,
    )


def _without_folder(package: Package) -> Package:
    """Return the files of the folder that contains META-INF, if the EPUB was packed with its folder."""
    matches = filter(None, map(_META_INF.fullmatch, package.members))
    folders = {match[1] for match in matches}
    if len(folders) > 1:
        raise SeveralBooks(f"{package.name} holds {len(folders)} books. Send them one by one, or in bulk.")
    if not folders:
        return package
    folder = folders.pop()
    inside = {
        path.removeprefix(folder): file for path, file in package.members.items() if path.startswith(folder)
    }
    return Package(package.name, inside)


def _name(item: Item | None, files: "_Files", base: str) -> str | None:
    """Return the file of an item that is a document, or that may be one and contains markup."""
    if item is None or not may_be_document(item):
        return None
    name = files.name(item.href, base)
    if name is None or is_document(item):
        return name
    return name if _MARKUP.search(files.package.members[name].head()) else None


class _Files:
    """The files of an EPUB, found by the names in its documents."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self._by_key: dict[str, str] = {}
        for name in package.members:
            for key in _keys(name):
                self._by_key.setdefault(key, name)

    def name(self, href: str, base: str) -> str | None:
        """Return the file that `href` in the document `base` names, or None if it is missing."""
        path = href.partition("#")[0]
        path = re.sub(r"^file:/*|\\", "/", path)
        for candidate in (path, unquote(path)):
            whole = posixpath.normpath(posixpath.join("/", posixpath.dirname(base), candidate)).lstrip("/")
            if whole in self.package.members:
                return whole
            if (found := self._by_key.get(_folded(whole))) is not None:
                return found
        return None

    def source(self, name: str) -> Source | None:
        """Return the file of this name, ignoring case, or None."""
        found = self.name(name, "")
        return None if found is None else self.package.members[found]


def _keys(name: str) -> Iterator[str]:
    """Yield the possible names of a file, because tools declare UTF-8 and Latin-1 as code page 437."""
    yield _folded(name.replace("\\", "/"))
    for encoding in ("utf-8", "latin-1"):
        try:
            yield _folded(name.encode("cp437").decode(encoding))
        except UnicodeError:
            continue


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _package_document_name(files: _Files, warnings: list[str]) -> str:
    """Return the name of the first package document. Raises BrokenFile."""
    container = files.source(_CONTAINER)
    if container is not None:
        for rootfile in document(container, warnings).iter("{*}rootfile"):
            if found := files.name(rootfile.get("full-path", ""), ""):
                return found
    found = next((name for name in files.package.members if name.casefold().endswith(".opf")), None)
    if found is None:
        raise BrokenFile(
            f"{files.package.name} has no package document: {_CONTAINER} names none that is there."
        )
    return found


def _to_read(opf: PackageDocument, names: Sequence[str | None]) -> Iterator[str]:
    """Yield each document of the book once, without table of contents and Standard Ebooks' own pages.

    Documents outside the linear order, such as notes, follow the order of the spine.
    """
    seen = set()
    for item, name in zip(opf.spine, names, strict=True):
        if item is None or name is None or name in seen or item.is_navigation:
            continue
        seen.add(name)
        if not (opf.from_standard_ebooks and _STANDARD_EBOOKS_OWN.fullmatch(posixpath.basename(name))):
            yield name


def _missing(opf: PackageDocument, names: Sequence[str | None], files: _Files, base: str) -> list[str]:
    """Return a warning if documents of the spine are missing. Raises BrokenFile if all are missing."""
    missing = [
        item.href if item else f"item {position}"
        for position, (item, name) in enumerate(zip(opf.spine, names, strict=True), start=1)
        if name is None and (item is None or (may_be_document(item) and not files.name(item.href, base)))
    ]
    if not opf.spine or len(missing) == len(names):
        raise BrokenFile("The EPUB has no document: its spine is empty or names files that are missing.")
    if not missing:
        return []
    listed = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    return [f"{len(missing):,} documents of the spine are missing: {listed}."]


def _encrypted(files: _Files, warnings: list[str]) -> set[str]:
    """Return the names of encrypted files and obfuscated fonts."""
    listing = files.source("META-INF/encryption.xml")
    if listing is None:
        return set()
    references = document(listing, warnings).iter("{*}CipherReference")
    return {name for reference in references if (name := files.name(reference.get("URI", ""), ""))}


def _targets(
    opf: PackageDocument, names: Sequence[str | None], files: _Files, base: str
) -> Mapping[str, Mapping[str | Cfi, str | None]]:
    """Return the starts of pages, with labels, by document, from the first page list that names any."""
    targets: dict[str, dict[str | Cfi, str | None]] = defaultdict(dict)
    for item in opf.page_lists:
        name = files.name(item.href, base)
        if name is None or targets:
            continue
        try:
            listed = page_targets(document(files.package.members[name], []))
        except BrokenFile:
            continue  # the book can be read without its pages
        for target in listed:
            fragment = unquote(target.href.partition("#")[2])
            place = parse_cfi(fragment)
            if place is None:
                document_name = files.name(target.href, name)
            else:
                document_name = names[place.itemref] if place.itemref < len(names) else None
            if document_name is not None:
                targets[document_name].setdefault(fragment if place is None else place, target.label)
    return targets
