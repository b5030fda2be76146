"""Result of a reader: text and metadata of one book, in a form that can be stored."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bookprint_core.book_rules import LONGEST_LABEL, known_labels
from bookprint_core.errors import BrokenFile, EmptyText, InvalidText, NoText
from bookprint_core.model import CatalogRecord, Content, Metadata, PageLabels, Submission
from bookprint_core.text.catalogue_values import as_written, isbn, issn, year_in
from bookprint_core.text.content import content_from_pages, content_from_text
from bookprint_core.text.page_furniture import with_plain_hyphens, without_furniture

_CONTROLS = bytes(byte for byte in (*range(32), 127) if chr(byte) not in "\t\n\f\r")
"""Control characters as bytes of UTF-8, in which no other character contains these bytes."""

_LONGEST_NAME = 1_000  # maximum characters of a name or title

_NOT_READ = re.compile("[\ufffd\ue000-\uf8ff]")
"""Replacement character, and private-use characters, which only one font defines."""

_MOJIBAKE = re.compile("[\u00c2\u00c3\u00d0\u00d1][\u0080-\u00bf\u0152-\u2122]")
"""Letters of UTF-8 that were read in another encoding, such as "\u00c3\u00bc" for "\u00fc"."""

_LATIN_WORD = re.compile("[A-Za-z]{4,20}")
_VOWEL = re.compile("[aeiouyw]|^[IVXLCDM]+$", re.IGNORECASE)  # or a Roman numeral
_SAMPLE = 200_000  # characters of a text in which words without a vowel are counted

_FEWEST_WORDS, _MOST_WITHOUT_VOWEL = 200, 0.05
"""Minimum of Latin words, and maximum share without vowels: 0.7 % in the corpus, 8 % with shifted letters."""

_MOST_NOT_READ, _FEWEST_NOT_READ = 0.005, 10
"""Share and number of unread characters that cause a warning; both must be reached."""

_FURNITURE = frozenset((
    "header", "footer", "pagenumber", "signaturemark", "catchword",  # PAGE
    "runningtitlezone", "numberingzone", "quiremarkszone",  # SegmOnto
))  # fmt: skip
_ORNAMENTS = " \t\n.,:;*|~'\"_-\u2013\u2014\u00b7\u2022"
_LABEL = re.compile(r"[\[(]?(?:\d{1,5}|[ivx]|[ivxlcdm]{2,10})(?: ?[a-z]|\*)?[\])]?", re.IGNORECASE)

_LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)
_LANGUAGE_NAMES = """
chinese:zh czech:cs danish:da dutch:nl english:en esperanto:eo finnish:fi french:fr german:de greek:el
hungarian:hu italian:it japanese:ja latin:la norwegian:no polish:pl portuguese:pt russian:ru spanish:es
swedish:sv tagalog:tl welsh:cy
"""
_LANGUAGE_CODES = dict(pair.split(":") for pair in _LANGUAGE_NAMES.split())
_NO_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """One book as its file contains it, before page furniture is removed."""

    format: str  # "txt", "html", "epub", "pdf", "hocr", "alto", …, as the API names it
    pages: Sequence[str]  # texts of all pages, including blank ones; one text if page breaks are unknown
    paginated: bool  # whether `pages` are pages
    printed_lines: bool = False  # whether line breaks in the text are those of the printed page
    metadata: Metadata = field(default_factory=Metadata)
    labels: PageLabels = ()  # the number printed on each page
    warnings: Sequence[str] = ()  # notes on parts left out or guessed, as sentences


def without_page_furniture(extraction: Extraction) -> Extraction:
    """Return the book with plain hyphens and without running heads, page numbers and catchwords.

    The function needs no kernel. A process that reads one file can call it.
    """
    pages = [with_plain_hyphens(page) for page in extraction.pages]
    if extraction.printed_lines and extraction.paginated:
        pages = without_furniture(pages)
    return replace(extraction, pages=pages, printed_lines=False)


def content_of(extraction: Extraction) -> Content:
    """Return the content of a book without page furniture.

    Raises NoText without a letter or digit, and BrokenFile for characters that texts cannot contain.
    """
    try:
        if extraction.paginated:
            return content_from_pages(extraction.pages)
        return content_from_text("\n".join(extraction.pages))
    except EmptyText as exc:
        raise NoText("The file holds no text. Have its pages recognised (OCR) first.") from exc
    except InvalidText as exc:
        raise BrokenFile(f"The file's text is damaged. {exc}") from exc


def to_content(extraction: Extraction) -> Content:
    """Remove page furniture and return the content of the book. Raises the errors of `content_of`."""
    return content_of(without_page_furniture(extraction))


def submission_of(extraction: Extraction, known: Metadata, record: CatalogRecord | None = None) -> Submission:
    """Return a book from an extraction without page furniture. Raises the errors of `content_of`.

    `known` contains all metadata of the book. `record` is the catalogue record that they came from, or None.
    """
    return Submission(
        known,
        content_of(extraction),
        page_labels=extraction.labels,
        record=record,
        format=extraction.format,
        warnings=extraction.warnings,
    )


def with_plain_labels(extraction: Extraction) -> Extraction:
    """Return the book with labels that can be stored.

    A label without a letter or digit, such as " - " in a METS file, becomes None. A label of more than 32
    characters is left out with a warning. A text without pages has no labels.
    """
    labels = [_plain(label) for label in extraction.labels] if extraction.paginated else []
    long = [index for index, label in enumerate(labels) if label and len(label) > LONGEST_LABEL]
    for index in long:
        labels[index] = None
    warnings = list(extraction.warnings)
    if long:
        warnings.append(
            f"Page labels of more than {LONGEST_LABEL} characters were left out: {len(long):,}, the first on "
            f"page {long[0] + 1}."
        )
    return replace(extraction, labels=known_labels(labels), warnings=warnings)


def with_characters_only(extraction: Extraction) -> Extraction:
    """Return the book without control characters and half surrogate pairs, with warnings about them."""
    pages, controls, halves = [], 0, 0
    for page in extraction.pages:
        try:
            data = page.encode()
        except UnicodeEncodeError:
            page = page.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            data = page.encode()
            halves += 1
        text = data.translate(None, _CONTROLS)
        controls += len(data) - len(text)
        pages.append(page if text == data else text.decode())
    warnings: Sequence[str] = [
        *extraction.warnings,
        *([f"{controls:,} control characters were left out."] if controls else []),
        *([f"U+FFFD stands for half surrogate pairs; pages with them: {halves:,}."] if halves else []),
    ]
    return replace(extraction, pages=pages, warnings=warnings) if controls or halves else extraction


def with_doubts(extraction: Extraction) -> Extraction:
    """Return the book, with a warning if much of its text is unreadable or in no language."""
    text = "\n".join(extraction.pages)
    if text.isascii():
        counts = []
    else:
        counts = [
            (len(_NOT_READ.findall(text)), "characters are U+FFFD or of one font alone"),
            (len(_MOJIBAKE.findall(text)), "letters look like UTF-8 that was read in another encoding"),
        ]
    doubts = [
        f"{count:,} of {len(text):,} {what}. Other copies of the book may not be found."
        for count, what in counts
        if count >= max(_FEWEST_NOT_READ, _MOST_NOT_READ * len(text))
    ]
    words = _LATIN_WORD.findall(text, 0, _SAMPLE)
    without = sum(_VOWEL.search(word) is None for word in words)
    if len(words) >= _FEWEST_WORDS and without > _MOST_WITHOUT_VOWEL * len(words):
        doubts.append(
            f"{without:,} of {len(words):,} words have no vowel: the text looks like gibberish, as of a font "
            "whose letters are not named. Other copies of the book may not be found."
        )
    return replace(extraction, warnings=[*extraction.warnings, *doubts]) if doubts else extraction


def plain_kind(kind: str) -> str:
    """Return the kind of a part of a page in lower case, reduced to letters, such as "pagenumber"."""
    return "".join(filter(str.isalpha, kind.casefold()))


def is_furniture(kind: str | None) -> bool:
    """Return whether a part of this kind is page furniture, by the vocabularies of PAGE and SegmOnto."""
    return plain_kind(kind or "") in _FURNITURE


def printed_label(text: str) -> str | None:
    """Return the only page label in lines of page furniture, without ornaments. Return None for several.

    >>> printed_label("EMMA\\n— 17 —"), printed_label("[xii]"), printed_label("EMMA 3")
    ('17', '[xii]', None)
    """
    lines = {line.strip(_ORNAMENTS) for line in text.split("\n")}
    labels = list(filter(_LABEL.fullmatch, lines))
    return labels[0] if len(labels) == 1 else None


def _plain(label: str | None) -> str | None:
    shown = "".join(character if character.isprintable() else " " for character in label or "")
    return " ".join(shown.split()) if any(map(str.isalnum, shown)) else None


def description(
    *,
    authors: Iterable[str | None] = (),
    language: str | None = None,
    date: str | None = None,
    identifiers: Iterable[str | None] = (),
    **texts: str | None,
) -> Metadata:
    """Return metadata from a file, without blanks, control characters and repetitions.

    `language` is a tag (BCP 47), a code or an English name. `date` has any form, and only its year of the
    common era is used. `identifiers` have the form scheme:value. `texts` are the other fields.
    """
    return Metadata(
        authors=_all(authors),
        language=_language(language),
        year=year_in(date or ""),
        identifiers=_all(identifiers),
        **{name: clean(text) for name, text in texts.items()},
    )


def identifier(scheme: str, value: str | None) -> str | None:
    """Return an identifier with its scheme, or None without a value. An invalid ISBN or ISSN stays unchanged.

    >>> identifier("ISBN", " 978-0-14-143958-7 (pbk.)"), identifier("isbn", "978-0-14-143958-X")
    ('isbn:9780141439587', 'isbn:978-0-14-143958-X')
    """
    value, scheme = clean(value) or "", re.sub(r"[^0-9a-z]+", "-", scheme.casefold()).strip("-")
    value = re.sub(rf"^(urn:)?{re.escape(scheme)}:", "", value, flags=re.IGNORECASE)
    if scheme in ("isbn", "issn"):
        value = (isbn if scheme == "isbn" else issn)(value) or as_written(scheme, value) or ""
    return f"{scheme}:{value}"[:300] if scheme and value else None


def clean(text: str | None) -> str | None:
    """Return the text on one line, cut to the catalogue's maximum length, or None if it is empty."""
    return " ".join(_NO_CHARACTER.sub(" ", text or "").split())[:_LONGEST_NAME].rstrip() or None


def _language(text: str | None) -> str | None:
    """Return the tag of the first language in the text, or None if it is unknown."""
    first = re.split(r"[,;(]", clean(text) or "")[0].strip()
    return first[:35] if _LANGUAGE_TAG.fullmatch(first) else _LANGUAGE_CODES.get(first.casefold())


def _all(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(clean, texts) if text))[:1_000]
