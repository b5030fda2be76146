"""Evidence for other programs: the matching pages of two books as W3C Web Annotations and as CSV.

A page is named by its IIIF canvas if an identifier of its book is a template of canvas addresses. The
template has the scheme `canvas:` and contains {page}, the number of the page from 1, or {page:4} with leading
zeros. Otherwise a page is a fragment such as page=13 of the IIIF manifest in the identifier `iiif:`, or of
the book's URN. A manifest alone does not name its canvases (IIIF Presentation 3.0, section 3.2).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal
from uuid import UUID, uuid5

from bookprint_core.csv_tables import CsvWriter
from bookprint_core.errors import EvidenceTooLong
from bookprint_core.model import Metadata
from bookprint_core.relations.related import PageMatches, RelationSummary

_ANNOTATION = "http://www.w3.org/ns/anno.jsonld"
_IIIF = "http://iiif.io/api/presentation/3/context.json"
_PDF_FRAGMENTS = "http://tools.ietf.org/rfc/rfc3778"
"""The only specification in W3C's list by which a fragment names a page."""

MOST_PAIRS = 10_000
"""Maximum number of page pairs in annotations."""

Form = Literal["annotations", "csv"]

_NAMES = UUID("6f1d3a52-2c0b-5b0e-9a52-5d0d2f3e8c41")
"""Name space of the ids of annotations."""

_PLACE = re.compile(r"\{page(?::(\d))?\}")

_COLUMNS = (
    *("run", "this_start", "this_end", "other_start", "other_end"),
    *("this_first_label", "this_last_label", "other_first_label", "other_last_label"),
    *("matches", "similarity"),
)


@dataclass(frozen=True, slots=True)
class NamedBook:
    """A book by its id and metadata."""

    book_id: UUID
    metadata: Metadata

    def resource(self, unit: str, index: int) -> dict[str, Any]:
        """Return a page as a resource of a Web Annotation."""
        if self.has_canvases(unit):
            canvas: dict[str, Any] = {"id": self._canvas(index), "type": "Canvas"}
            if (manifest := self._address("iiif")) is not None:
                canvas["partOf"] = [{"id": manifest, "type": "Manifest"}]
            return {"type": "SpecificResource", "source": canvas}
        selector = {"type": "FragmentSelector", "value": f"{unit}={index + 1}"}
        if unit == "page":
            selector["conformsTo"] = _PDF_FRAGMENTS
        return {"type": "SpecificResource", "source": self._source, "selector": selector}

    def has_canvases(self, unit: str) -> bool:
        """Return whether the addresses of the pages' canvases are known."""
        return unit == "page" and _PLACE.search(self._address("canvas") or "") is not None

    @property
    def _source(self) -> str:
        return self._address("iiif") or f"urn:uuid:{self.book_id}"

    def _canvas(self, index: int) -> str:
        template = self._address("canvas") or ""
        return _PLACE.sub(lambda found: str(index + 1).zfill(int(found[1] or 0)), template)

    def _address(self, scheme: str) -> str | None:
        """Return the first web address among the identifiers of a scheme."""
        for identifier in self.metadata.identifiers:
            name, _, value = identifier.partition(":")
            if name == scheme and re.fullmatch(r"https?://[^\s\"<>\\^`|#]+", value):
                return value
        return None


@dataclass(frozen=True, slots=True, eq=False)
class PairEvidence:
    """Two books, their relation, and their matching pages."""

    this: NamedBook
    other: NamedBook
    relation: RelationSummary  # seen from the first book
    matches: PageMatches

    @property
    def unit(self) -> str:
        return self.matches.unit or "page"


def written(evidence: PairEvidence, form: Form) -> bytes:
    """Return the document in this format; raises `EvidenceTooLong` for over MOST_PAIRS pairs of pages."""
    if form == "csv":
        return run_table(evidence).encode()
    if (pairs := len(evidence.matches.pairs)) > MOST_PAIRS:
        raise EvidenceTooLong(
            f"{pairs:,} pairs of pages match, but annotations are limited to {MOST_PAIRS:,}."
        )
    return json.dumps(annotations(evidence), ensure_ascii=False).encode()


def annotations(evidence: PairEvidence) -> dict[str, Any]:
    """Return an AnnotationCollection with one page: a linking annotation for each pair of matching pages."""
    this, other, unit = evidence.this, evidence.other, evidence.unit
    with_canvases = this.has_canvases(unit) or other.has_canvases(unit)
    collection = uuid5(_NAMES, f"{this.book_id} {other.book_id}")
    items = [
        {
            "id": f"urn:uuid:{uuid5(collection, f'{unit} {i} {j}')}",
            "type": "Annotation",
            "motivation": "linking",
            "target": this.resource(unit, i),
            "body": [
                {**other.resource(unit, j), "purpose": "linking"},
                {
                    "type": "TextualBody",
                    "value": f"similarity {similarity:.2f}",
                    "format": "text/plain",
                    "language": "en",
                    "purpose": "assessing",
                },
            ],
        }
        for (i, j), similarity in zip(
            evidence.matches.pairs.tolist(), evidence.matches.similarities.tolist(), strict=True
        )
    ]
    return {
        # The context of IIIF must be last (IIIF Presentation 3.0, section 4.6).
        "@context": [_ANNOTATION, _IIIF] if with_canvases else _ANNOTATION,
        "id": f"urn:uuid:{collection}",
        "type": "AnnotationCollection",
        "label": _title(evidence),
        "total": len(items),
        "first": {
            "id": f"urn:uuid:{uuid5(collection, 'first')}",
            "type": "AnnotationPage",
            "startIndex": 0,
            "items": items,
        },
    }


def run_table(evidence: PairEvidence) -> str:
    """Return the runs as CSV. Pages are counted from 0; the end is exclusive."""
    file, matches = StringIO(newline=""), evidence.matches
    writer = CsvWriter(file)
    writer.row(_COLUMNS)
    for number, run in enumerate(matches.by_run(), start=1):
        labels = (*_ends(matches.this_labels, run.this), *_ends(matches.other_labels, run.other))
        writer.row((number, *run.this, *run.other, *labels, len(run.pairs), f"{run.similarity:.4f}"))
    return file.getvalue()


def _ends(labels: Sequence[str | None] | None, pages: tuple[int, int]) -> tuple[str, str]:
    """Return the printed labels of the first and last page."""
    return ("", "") if not labels else (labels[pages[0]] or "", labels[pages[1] - 1] or "")


def _title(evidence: PairEvidence) -> str:
    titles = (evidence.this.metadata.title or "untitled", evidence.other.metadata.title or "untitled")
    return "Pages of “{}” that match pages of “{}”".format(*titles)
