"""METS packages: pages in the order of the physical structMap.

If a page has several text files, such as ALTO and PAGE, one of them is read. Metadata are read from MODS or
Dublin Core in descriptive sections (`dmdSec`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from bookprint_core.book_rules import known_labels
from bookprint_core.errors import BrokenFile, NoText, SeveralBooks, UnsupportedFormat, UnusableFile
from bookprint_core.model import Metadata
from bookprint_readers.extraction import Extraction, clean, description, identifier, printed_label
from bookprint_readers.formats import pages
from bookprint_readers.formats.pages import FileReader, PageFile
from bookprint_readers.package import Package
from bookprint_readers.source import Source
from bookprint_readers.syntax.xml import Element, document, local_name, root_name

NAME = "mets"
ROOT = "mets"

_HREF = "{http://www.w3.org/1999/xlink}href"

_HEAD_BYTES = 1 << 12  # first bytes that are searched for the root element
_MOST_PARTS = 8  # parts of a path, from its end, that are compared

_NO_LABEL = {"uncounted", "unnumbered", "unpaginated"}
"""Labels that programs write for a page without a printed number."""

_AUTHORS = frozenset(("aut", "author", "cre", "creator"))
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One page of a structMap."""

    files: Mapping[int, Source | None]  # by number of the file group; None: not in the package
    label: str | None
    said: str | None = None  # label in LABEL, used if no page has an ORDERLABEL


@dataclass(frozen=True, slots=True, eq=False)
class MetsDocument:
    """Pages and metadata in one METS file of a package."""

    name: str
    object_id: str | None
    pages: Sequence[Page]
    metadata: Metadata
    warnings: Sequence[str] = ()


def read(source: Source) -> Extraction:
    """Raise NoText for a METS file without its pages."""
    raise NoText(
        f"{source.name} is a METS, which names pages and does not hold them. Send both in one archive."
    )


def documents(package: Package) -> list[MetsDocument]:
    """Read every METS file of the package. Raises BrokenFile."""
    candidates = {
        path: file for path, file in package.members.items() if path.lower().endswith((".xml", ".mets"))
    }
    likely = [path for path in candidates if "mets" in path.lower()]
    found = [path for path in likely if root_name(candidates[path].head(_HEAD_BYTES)) == ROOT] or [
        path
        for path in candidates
        if path not in likely and root_name(candidates[path].head(_HEAD_BYTES)) == ROOT
    ]
    locations = _Locations(package)
    return [_document(candidates[path], path, locations) for path in found]


def read_package(package: Package, found: Sequence[MetsDocument], read_file: FileReader) -> Extraction:
    """Return the pages in the order of the METS file, or in natural order if it names none of the files.

    Raises SeveralBooks, NoText, and the errors of `read_file`.
    """
    usable = [one for one in found if any(any(page.files.values()) for page in one.pages)]
    if not usable:
        extraction = pages.read(package, read_file)
        return replace(
            extraction,
            format=NAME,
            metadata=found[0].metadata,
            warnings=[*found[0].warnings, *extraction.warnings],
        )
    chosen = max(usable, key=lambda one: len(one.pages))
    if any(_files(one).isdisjoint(_files(chosen)) for one in usable):
        raise SeveralBooks(f"{package.name} holds {len(usable)} books. Send them one by one, or in bulk.")
    return _read(chosen, read_file)


def _read(found: MetsDocument, read_file: FileReader) -> Extraction:
    counts = Counter(group for page in found.pages for group, file in page.files.items() if file)
    # The last of equally large groups is preferred: groups follow steps of work; early ones may lack text.
    preferred = sorted(counts, key=lambda group: (counts[group], group), reverse=True)
    texts: list[str] = []
    labels: list[str | None] = []
    extractions: list[Extraction] = []
    missing = 0
    broken: list[UnusableFile] = []
    for page in found.pages:
        files = [page.files[group] for group in preferred if group in page.files]
        text = _first(files, read_file, broken)
        if text is not None:
            texts += text.pages
            labels += text.labels if page.label is None or len(text.pages) != 1 else [page.label]
            extractions += filter(None, [text.extraction])
        elif None in files:
            missing += 1
        else:
            texts.append("")  # a page without a text
            labels.append(page.label)
    warnings = [*found.warnings, *(text for extraction in extractions for text in extraction.warnings)]
    warnings += pages.warnings_of(broken, len(texts))
    if missing:
        warnings.append(f"{missing} pages that {found.name} names are not in the package and were left out.")
    return Extraction(
        NAME,
        texts,
        paginated=True,
        printed_lines=all(extraction.printed_lines for extraction in extractions),
        metadata=found.metadata,
        labels=known_labels(labels),
        warnings=list(dict.fromkeys(warnings))[:100],
    )


def _first(
    files: Sequence[Source | None], read_file: FileReader, broken: list[UnusableFile]
) -> PageFile | None:
    """Read the first usable file of a page. A damaged page is blank, and its error is added to `broken`."""
    damage: BrokenFile | None = None
    for file in files:
        try:
            if file:
                return pages.read_page(file, read_file)
        except (UnsupportedFormat, NoText):
            continue
        except BrokenFile as exc:
            damage = exc
    if damage is None:
        return None
    broken.append(damage)
    return PageFile([""], None)


class _Locations:
    """Files of a package by the last parts of their paths, because METS files contain paths on a server."""

    def __init__(self, package: Package) -> None:
        self._by_end: dict[str, Source | None] = {}
        for path, source in package.members.items():
            for end in _ends(path):
                # None: several paths end with these parts.
                self._by_end[end] = None if end in self._by_end else source

    def find(self, href: str, mets_path: str) -> Source | None:
        """Return the file that `href` names in the METS file at `mets_path`, or None."""
        path = unquote(re.sub(r"^[a-z]+:/+|[?#].*", "", href, flags=re.IGNORECASE))
        folder = mets_path.rpartition("/")[0]
        return next((self._by_end[end] for end in _ends(f"{folder}/{path}") if end in self._by_end), None)


def _ends(path: str) -> list[str]:
    """Return the ends of a path, the longest first."""
    parts = [
        part for part in re.split(r"[/\\]", unicodedata.normalize("NFC", path).casefold()) if part.strip(".")
    ]
    return ["/".join(parts[start:]) for start in range(max(len(parts) - _MOST_PARTS, 0), len(parts))]


def _document(source: Source, path: str, locations: _Locations) -> MetsDocument:
    warnings: list[str] = []
    mets = document(source, warnings)
    files: dict[str, tuple[int, Source | None]] = {}
    groups = {group: number for number, group in enumerate(mets.iter("{*}fileGrp"))}
    for file in mets.iter("{*}file"):
        href = next((one.get(_HREF) or one.get("href") or "" for one in file.iterchildren("{*}FLocat")), "")
        group = next((groups[parent] for parent in file.iterancestors("{*}fileGrp")), -1)
        if not pages.BESIDE.fullmatch(href):
            files[file.get("ID", "")] = group, locations.find(href, path)
    maps = sorted(mets.iter("{*}structMap"), key=lambda one: one.get("TYPE", "").lower() != "physical")
    ordered = [list(_pages(one, files)) for one in maps]
    first = next((found for found in ordered if any(any(page.files.values()) for page in found)), [])
    if not any(page.label for page in first):
        first = [replace(page, label=page.said) for page in first]
    return MetsDocument(source.name, mets.get("OBJID"), first, _metadata(mets), warnings)


def _pages(structure: Element, files: Mapping[str, tuple[int, Source | None]]) -> Iterator[Page]:
    """Yield the pages of a structMap, or each `div` that points to a new text if no `div` is a page."""
    typed = any(map(_is_page, structure.iter("{*}div")))
    seen: set[Source] = set()
    for div in _divisions(structure):
        if typed and not _is_page(div):
            continue
        own = [div] if typed else div.iterchildren("{*}fptr")
        named: dict[int, Source | None] = {}
        for pointer in (pointer for part in own for pointer in part.iter("{*}fptr", "{*}area")):
            group, file = files.get(pointer.get("FILEID", ""), (-1, None))
            if group >= 0:
                named.setdefault(group, file)
        texts = {file for file in named.values() if file}
        if texts <= seen if texts else not typed:
            continue  # one file may contain several pages
        seen |= texts
        label = div.get("ORDERLABEL", "").strip()
        said = printed_label(div.get("LABEL", ""))
        yield Page(named, None if label.casefold() in _NO_LABEL else label or None, said)


def _divisions(parent: Element) -> Iterator[Element]:
    """Yield all `div` below `parent`. Siblings are sorted by ORDER if each of them has one."""
    children = list(parent.iterchildren("{*}div"))
    orders = [child.get("ORDER", "") for child in children]
    if all(order.isdecimal() and len(order) < 10 for order in orders):
        children.sort(key=lambda child: int(child.get("ORDER", "")))
    for child in children:
        yield child
        yield from _divisions(child)


def _is_page(div: Element) -> bool:
    return local_name(div) == "div" and div.get("TYPE", "").lower().endswith("page")


def _files(found: MetsDocument) -> set[Source]:
    return {file for page in found.pages for file in page.files.values() if file}


def _metadata(mets: Element) -> Metadata:
    """Read the metadata from the first section with a title, from the top of the structure down."""
    records = list(_records(mets))
    for record in records:
        found = _of_mods(record) if local_name(record) == "mods" else _of_dublin_core(record)
        if found.title:
            return found
    return Metadata()


def _records(mets: Element) -> Iterator[Element]:
    sections = {section.get("ID", ""): section for section in mets.iterchildren("{*}dmdSec")}
    maps = sorted(mets.iterchildren("{*}structMap"), key=lambda one: one.get("TYPE", "").lower() != "logical")
    named = [name for one in maps for div in one.iter("{*}div") for name in div.get("DMDID", "").split()]
    for section in dict.fromkeys([*named, *sections]):
        for data in sections[section].iterfind("{*}mdWrap/{*}xmlData") if section in sections else ():
            yield next(data.iter("{*}mods"), data)


def _of_mods(mods: Element) -> Metadata:
    titles = [title for title in mods.iterchildren("{*}titleInfo") if not title.get("type")]
    title = titles[0] if titles else next(mods.iterfind("{*}relatedItem[@type='host']/{*}titleInfo"), None)
    names = [
        ({term.lower() for term in _texts(name, "role/{*}roleTerm")}, _name(name))
        for name in mods.iterchildren("{*}name")
    ]
    volumes = _texts(mods, "part/{*}detail[@type='volume']/{*}number")
    volumes += [] if title is None else _texts(title, "partNumber")
    return description(
        title=None if title is None else _title(title),
        authors=[name for roles, name in names if roles & _AUTHORS]
        or [name for roles, name in names if not roles],
        language=next(iter(_texts(mods, "language/{*}languageTerm")), None),
        date=_date(mods),
        publisher=next((name for origin in _origins(mods) for name in _texts(origin, "publisher")), None),
        volume=next(iter(volumes), None),
        identifiers=map(_identifier, mods.iterchildren("{*}identifier")),
    )


def _title(title: Element) -> str:
    """Return the title without the marks for line breaks on the printed title page."""
    text = " ".join(_texts(title, "nonSort") + _texts(title, "title"))
    return re.sub(r"\s*\|\|\s*", " ", re.sub(r"=\s*\|\|\s*", "", text))


def _identifier(element: Element) -> str | None:
    text = re.sub(r"^urn:oclc:record:", "oclc:", element.text or "")
    return identifier("oclc" if text.startswith("oclc:") else element.get("type", ""), text)


def _of_dublin_core(record: Element) -> Metadata:
    def texts(name: str) -> list[str | None]:
        return [element.text for element in record.iter(f"{{*}}{name}")]

    return description(
        title=next(iter(texts("title")), None),
        authors=texts("creator"),
        language=next(iter(texts("language")), None),
        date=next(iter(texts("date") + texts("issued")), None),
        publisher=next(iter(texts("publisher")), None),
        identifiers=[
            identifier(*value.split(":", 1)) for value in texts("identifier") if value and ":" in value
        ],
    )


def _name(name: Element) -> str | None:
    given, family = _texts(name, "namePart[@type='given']"), _texts(name, "namePart[@type='family']")
    whole = [part.text or "" for part in name.iterchildren("{*}namePart") if not part.get("type")]
    display = _texts(name, "displayForm")
    return clean(" ".join(display[:1] or given + family or whole))


def _origins(mods: Element) -> Iterator[Element]:
    """Yield the elements on the book's publication, not on its digitisation."""
    for origin in mods.iterchildren("{*}originInfo"):
        if "digit" not in origin.get("eventType", "") and not any(
            "lectronic" in text for text in _texts(origin, "edition")
        ):
            yield origin


def _date(mods: Element) -> str | None:
    for origin in _origins(mods):
        for kind in ("dateIssued", "dateCreated", "copyrightDate", "dateOther"):
            for date in _texts(origin, kind):
                if _YEAR.search(date):
                    return date
    return None


def _texts(element: Element, path: str) -> list[str]:
    found = (clean(part.text) for part in element.iterfind(f"{{*}}{path}"))
    return [text for text in found if text]
