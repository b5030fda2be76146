"""Packages of files with one page each, in any readable format and in natural order.

Pictures and metadata beside the pages are ignored. If a package contains the pages in several formats, only
one format is read. If a package contains a book in one file, that file is read.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bookprint_core.book_rules import known_labels
from bookprint_core.errors import BrokenFile, NoText, SeveralBooks, UnsupportedFormat, UnusableFile
from bookprint_readers.extraction import Extraction
from bookprint_readers.package import Package
from bookprint_readers.source import Source

NAME = "pages"

FileReader = Callable[[Source], Extraction]
"""Function that reads one file of a package. It raises UnsupportedFormat if no format fits."""

BESIDE = re.compile(
    r".*\.(tiff?|jpe?g|jp2|j2k|jpx|png|gif|bmp|webp|svg|md5|sha\d*|ya?ml|json|csv|tsv|css|js|opf|[ot]tf|db|ini|log|md)"
    r"|(.*/)?(read[_-]?me|licen[cs]e|copying|notice|metadata|checksums?|bagit|bag-info|(tag)?manifest(-\w+)?)(\.\w+)?",
    re.IGNORECASE,
)
"""Paths of pictures, and of files with information on other files."""

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_SUFFIX = re.compile(r"\.([a-z]\w{0,9})$", re.IGNORECASE)
_PREFERRED = ("txt", "htm", "html", "hocr", "xml")
"""Suffixes by ascending preference among equally many files. Later suffixes mark lines and hyphens better."""

_BOOK_FORMATS = ("epub", "pdf", "tei", "djvu")

_LARGEST_BLANK = 1 << 10
_MOST_TOLD = 5  # damaged pages that warnings describe
_LONGEST_PAGE = 100_000  # characters; pages of newspapers have up to 60,000


@dataclass(frozen=True, slots=True)
class PageFile:
    """Contents of one file of a package."""

    pages: Sequence[str]
    extraction: Extraction | None  # None: an empty file, which is a blank page

    @property
    def labels(self) -> Sequence[str | None]:
        """Label of each page."""
        known = self.extraction.labels if self.extraction else ()
        return known[: len(self.pages)] or [None] * len(self.pages)

    @property
    def is_book(self) -> bool:
        """Whether the file contains a whole book, not a page."""
        found = self.extraction
        if found is None or (found.paginated and len(self.pages) == 1):
            return False
        may_be_long = not found.paginated or found.format == "txt"
        return found.format in _BOOK_FORMATS or (may_be_long and sum(map(len, self.pages)) > _LONGEST_PAGE)


def read(package: Package, read_file: FileReader) -> Extraction:
    """Return the pages of the package, or the one book in it.

    A damaged page becomes blank, with a warning. Raises NoText, UnsupportedFormat, SeveralBooks, BrokenFile
    if most pages are damaged, and other errors of `read_file`.
    """
    by_suffix: dict[str, list[Source]] = defaultdict(list)
    for path, member in package.members.items():
        if not BESIDE.fullmatch(path):
            by_suffix[_suffix(path)].append(member)
    reason: NoText | UnsupportedFormat | None = None
    for suffix in sorted(by_suffix, key=lambda suffix: (len(by_suffix[suffix]), _rank(suffix)), reverse=True):
        files: list[PageFile] = []
        broken: list[UnusableFile] = []
        for member in by_suffix[suffix]:
            try:
                files.append(read_page_or_blank(member, read_file, broken))
            except (NoText, UnsupportedFormat) as exc:
                reason = reason or exc
        warnings = warnings_of(broken, len(files))
        if has_text(page for file in files for page in file.pages):
            return _book(package, files, warnings)
        if files:
            reason = NoText(f"The pages of {package.name} hold no text. Have them recognised (OCR) first.")
    raise reason or UnsupportedFormat(
        f"{package.name} holds no file that a book is read from. See docs/reference/formats.md."
    )


def read_page(member: Source, read_file: FileReader) -> PageFile:
    """Read one file of pages. An empty file is a blank page."""
    if member.size < _LARGEST_BLANK and not member.read().strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n\f"):
        return PageFile([""], None)
    found = read_file(member)
    pages = list(found.pages)
    while len(pages) > 1 and found.format == "txt" and not pages[-1].strip():
        pages.pop()  # pdftotext ends each page with a form feed
    return PageFile(pages, found)


def read_page_or_blank(
    member: Source,
    read_file: FileReader,
    broken: list[UnusableFile],
    kinds: tuple[type[UnusableFile], ...] = (BrokenFile,),
) -> PageFile:
    """Read one file of pages. An error of `kinds` is added to `broken`, and the page is blank."""
    try:
        return read_page(member, read_file)
    except kinds as exc:
        broken.append(exc)
        return PageFile([""], None)


def warnings_of(broken: Sequence[UnusableFile], count: int) -> list[str]:
    """Return warnings about damaged files among `count` files. Raises the first error if most are damaged."""
    if 2 * len(broken) > count:
        raise broken[0]
    more = [f"{len(broken) - _MOST_TOLD:,} more pages are blank."] if len(broken) > _MOST_TOLD else []
    return [f"{exc} This page is left blank." for exc in broken[:_MOST_TOLD]] + more


def has_text(pages: Iterable[str]) -> bool:
    """Return whether the pages contain a letter or digit."""
    return any(map(_LETTER_OR_DIGIT.search, pages))


def _book(package: Package, files: list[PageFile], warnings: list[str]) -> Extraction:
    books = [file.extraction for file in files if file.is_book]
    if len(books) > 1:
        raise SeveralBooks(f"{package.name} holds {len(books)} books. Send them one by one, or in bulk.")
    if len(files) == 1 and (only := files[0].extraction):
        return only
    format_, _ = Counter(file.extraction.format for file in files if file.extraction).most_common(1)[0]
    read = [
        file
        for file in files
        if not file.is_book and (not file.extraction or file.extraction.format == format_)
    ]
    extractions = [file.extraction for file in read if file.extraction]
    warnings += [warning for found in extractions for warning in found.warnings]
    if len(read) < len(files):
        warnings.append(
            f"{len(files) - len(read)} of {len(files)} files are in another format and were left out."
        )
    return Extraction(
        NAME,
        [page for file in read for page in file.pages],
        paginated=True,
        printed_lines=all(found.printed_lines for found in extractions),
        labels=known_labels([label for file in read for label in file.labels]),
        warnings=list(dict.fromkeys(warnings))[:100],
    )


def _suffix(path: str) -> str:
    match = _SUFFIX.search(path)
    return match[1].lower() if match else ""


def _rank(suffix: str) -> int:
    return _PREFERRED.index(suffix) if suffix in _PREFERRED else -1
