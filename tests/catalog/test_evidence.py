"""Evidence that travels, by the specifications of its forms, whatever the books are called."""

import csv
import json
from dataclasses import replace
from io import StringIO
from uuid import UUID

import numpy as np
import pytest

from app.catalog.evidence import MOST_PAIRS, NamedBook, PairEvidence, annotations, written
from bookprint_core.errors import EvidenceTooLong
from bookprint_core.model import Metadata
from bookprint_core.relations.alignment import Unit
from bookprint_core.relations.related import PageMatches, RelationSummary

THIS = UUID("0193508e-7a3c-7c19-9b54-2f1d6a0e4c11")
OTHER = UUID("01935090-11c2-7e0a-8d3f-b5c0a1e27f46")
MANIFEST = "https://iiif.example.org/book/manifest"
CANVAS = "https://iiif.example.org/book/canvas/f{page:4}"


def evidence(*identifiers: str, title: str = "Candide", unit: Unit = "page", pages: int = 5) -> PairEvidence:
    """Two runs: pages from 2 on match those from 4 on, and page 0 the last one of the other book."""
    pairs = [[0, pages + 9], *([page, page + 2] for page in range(2, pages))]
    labels = [str(page + 1) for page in range(pages + 10)]
    return PairEvidence(
        NamedBook(THIS, Metadata(title=title, authors=("Voltaire",), year=1759, identifiers=identifiers)),
        NamedBook(OTHER, Metadata()),
        RelationSummary("OVERLAPPING_TEXT", None, 0.75),
        PageMatches(
            unit=unit,
            runs=[((0, 1), (pages + 9, pages + 10)), ((2, pages), (4, pages + 2))],
            pairs=np.array(pairs, dtype=np.int32),
            similarities=np.linspace(0.5, 1, len(pairs)),
            this_labels=["i", None, *labels[2:pages]],
            other_labels=None,
        ),
    )


def test_annotations_are_a_collection_by_the_model_of_w3c() -> None:
    collection = json.loads(written(evidence(), "annotations"))
    assert collection["@context"] == "http://www.w3.org/ns/anno.jsonld"
    assert collection["type"] == "AnnotationCollection"
    page = collection["first"]
    assert (page["type"], page["startIndex"]) == ("AnnotationPage", 0)
    assert collection["total"] == len(page["items"]) == 4
    ids = [collection["id"], page["id"], *(item["id"] for item in page["items"])]
    assert len(set(ids)) == len(ids)
    assert all(UUID(each.removeprefix("urn:uuid:")) for each in ids)
    for item in page["items"]:
        assert (item["type"], item["motivation"]) == ("Annotation", "linking")
    second = page["items"][1]
    assert second["target"] == {
        "type": "SpecificResource",
        "source": f"urn:uuid:{THIS}",
        "selector": {
            "type": "FragmentSelector",
            "value": "page=3",
            "conformsTo": "http://tools.ietf.org/rfc/rfc3778",
        },
    }
    linked, assessed = second["body"]
    assert (linked["purpose"], linked["source"]) == ("linking", f"urn:uuid:{OTHER}")
    assert linked["selector"]["value"] == "page=5"
    assert (assessed["type"], assessed["purpose"]) == ("TextualBody", "assessing")
    assert annotations(evidence()) == collection  # the ids, too


def test_pages_are_canvases_where_it_is_known_how_they_are_called() -> None:
    collection = annotations(evidence(f"iiif:{MANIFEST}", f"canvas:{CANVAS}"))
    assert collection["@context"][-1] == "http://iiif.io/api/presentation/3/context.json"
    assert collection["first"]["items"][1]["target"]["source"] == {
        "id": "https://iiif.example.org/book/canvas/f0003",
        "type": "Canvas",
        "partOf": [{"id": MANIFEST, "type": "Manifest"}],
    }
    by_manifest = annotations(evidence(f"iiif:{MANIFEST}"))["first"]["items"][1]["target"]
    assert (by_manifest["source"], by_manifest["selector"]["value"]) == (MANIFEST, "page=3")


def test_windows_of_words_are_never_called_pages() -> None:
    target = annotations(evidence(f"canvas:{CANVAS}", unit="window"))["first"]["items"][1]["target"]
    assert target["selector"] == {"type": "FragmentSelector", "value": "window=3"}


def test_labels_of_pages_are_no_formulas_in_a_table() -> None:
    labelled = evidence()
    labelled = replace(labelled, matches=replace(labelled.matches, this_labels=["=1+1", *"abcd"]))
    first, _ = csv.DictReader(StringIO(written(labelled, "csv").decode()))
    assert "'=1+1" in first.values()


def test_table_has_a_row_for_each_run_with_what_is_printed_on_its_ends() -> None:
    first, second = csv.DictReader(StringIO(written(evidence(), "csv").decode()))
    assert [first[name] for name in ("this_start", "this_end", "other_start", "other_end")] == [
        "0",
        "1",
        "14",
        "15",
    ]
    assert (second["this_first_label"], second["this_last_label"]) == ("3", "5")
    assert (second["other_first_label"], second["matches"], second["similarity"]) == ("", "3", "0.8333")


def test_too_many_pairs_are_refused_but_for_the_table() -> None:
    long = evidence(pages=MOST_PAIRS + 2)
    with pytest.raises(EvidenceTooLong, match="10,001 pairs"):
        written(long, "annotations")
    assert written(long, "csv").count(b"\n") == 3
