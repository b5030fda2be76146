"""HathiTrust packages: one text file per page, named by eight digits, with `meta.yml` or a METS file.

The METS file gives page order and volume identifier. Without it, both come from the file names.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bookprint_core.errors import BrokenFile, NoText, SeveralBooks, UnsupportedFormat, UnusableFile
from bookprint_core.model import Metadata
from bookprint_readers.extraction import Extraction, description, identifier
from bookprint_readers.formats import mets, pages
from bookprint_readers.formats.pages import FileReader
from bookprint_readers.package import Package, open_inner

NAME = "hathi"

_PAGE = re.compile(r"(?:.*/)?(\d{8})\.txt", re.IGNORECASE)
_TEXT = re.compile(r".*\.txt", re.IGNORECASE)
_MARK = re.compile(r"(.*/)?meta\.yml", re.IGNORECASE)
_SCALAR = re.compile(r"(\w+):[ \t]+(?:'([^']*)'|\"([^\"\\]*)\"|([^\s'\"\[{&*!|>%@`#][^#]*))\s*(?:#.*)?")
"""A line of YAML with a plain or quoted scalar, at the top level."""

_HTID = re.compile(r"[a-z]{2,4}\d?\.(ark[:+][/=].+|\W?\w*\d{4}\w*)", re.IGNORECASE)
"""Namespace and identifier, as in mdp.39015078560292 and uc2.ark:/13960/t7kq2zj36."""

_UNPAIRED = str.maketrans("+=,", ":/.")  # pairtree's substitutes for characters forbidden in file names

_METS = ".mets.xml"
_ZIP = re.compile(r".*\.zip", re.IGNORECASE)


def recognises(package: Package) -> bool:
    """Return whether the files are named like those of a HathiTrust volume."""
    texts = [path for path in package.members if _TEXT.fullmatch(path)]
    return any(map(_MARK.fullmatch, package.members)) or (bool(texts) and all(map(_PAGE.fullmatch, texts)))


def unpacked(package: Package) -> Package:
    """Return a volume in HathiTrust's two files as one package. Any other package is returned unchanged.

    The two files are a zip with the pages and a METS file with the same name. Raises SeveralBooks and the
    errors of `open_package`.
    """
    archives = {path[: -len(".zip")]: file for path, file in package.members.items() if _ZIP.fullmatch(path)}
    volumes = [
        (archives[path[: -len(_METS)]], path)
        for path in package.members
        if path.lower().endswith(_METS) and path[: -len(_METS)] in archives
    ]
    if len(volumes) > 1:
        raise SeveralBooks(f"{package.name} holds {len(volumes)} volumes. Send them one by one, or in bulk.")
    for archive, mets_path in volumes:
        inner = open_inner(archive)
        if inner is not None:
            members = {**inner.members, mets_path: package.members[mets_path]}
            return Package(archive.name.rpartition("/")[2], members)
    return package


def read(package: Package, read_file: FileReader) -> Extraction:
    """Return the pages in the order of the METS file, or by number without one.

    Raises NoText, SeveralBooks, BrokenFile, and the errors of `read_file`.
    """
    numbers = {path: int(page[1]) for path in package.members if (page := _PAGE.fullmatch(path))}
    files = {path: package.members[path] for path in numbers}
    if not files:
        raise NoText(f"{package.name} has no pages: no file is named like 00000001.txt.")
    if len(set(numbers.values())) < len(files):
        raise SeveralBooks(
            f"{package.name} has pages of one number twice. Send its volumes one by one, or in bulk."
        )
    others = {path: file for path, file in package.members.items() if path.lower().endswith(_METS)}
    found = mets.documents(Package(package.name, {**files, **others}))
    if any(document.pages for document in found):
        extraction = mets.read_package(package, found, read_file)
    else:
        broken: list[UnusableFile] = []
        read = [
            pages.read_page_or_blank(files[path], read_file, broken, (BrokenFile, UnsupportedFormat))
            for path in sorted(files, key=numbers.__getitem__)
        ]
        extraction = Extraction(
            NAME,
            [page for file in read for page in file.pages],
            True,
            printed_lines=True,
            warnings=pages.warnings_of(broken, len(read)),
        )
    if not pages.has_text(extraction.pages):
        raise NoText(f"The pages of {package.name} hold no text. Have them recognised (OCR) first.")
    names = [*(document.object_id for document in found), re.sub(r"(\.zip)$", "", package.name)]
    return replace(extraction, format=NAME, metadata=_metadata(package, names))


def _metadata(package: Package, names: Iterable[str | None]) -> Metadata:
    fields = _fields(package)
    htid = next((name.translate(_UNPAIRED) for name in names if name and _HTID.fullmatch(name)), None)
    return description(
        title=fields.get("title"),
        authors=[fields.get("author")],
        language=fields.get("language"),
        date=fields.get("publication_date") or fields.get("year"),
        volume=fields.get("volume") or fields.get("enumcron"),
        identifiers=[
            identifier("htid", htid),
            *(identifier(name, fields.get(name)) for name in ("isbn", "oclc")),
        ],
    )


def _fields(package: Package) -> Mapping[str, str]:
    """Return the plain scalars at the top level of `meta.yml`. Unreadable lines are ignored."""
    source = next((file for path, file in package.members.items() if _MARK.fullmatch(path)), None)
    if source is None:
        return {}
    lines = map(_SCALAR.fullmatch, source.read().decode("utf-8", "replace").splitlines())
    return {line[1].lower(): line[2] or line[3] or line[4] or "" for line in lines if line}
