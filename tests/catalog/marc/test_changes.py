"""Records made from metadata, and records whose metadata were changed since they came."""

from uuid import UUID

from hypothesis import given, strategies as st

from app.catalog.identifiers import all_normalised
from app.catalog.marc import forms
from app.catalog.marc.changes import record_of, with_changes
from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import MarcRecord
from bookprint_core.model import CatalogRecord, Metadata
from tests.catalog.marc.made_records import RECORDS, control, data, record

BOOK_ID = UUID("0193508e-7a3c-7c19-9b54-2f1d6a0e4c11")
WORDS = st.text(st.characters(categories=("L",)), min_size=3, max_size=9)
METADATA = st.builds(
    Metadata,
    title=st.none() | st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    authors=st.lists(st.builds("{}, {}".format, WORDS, WORDS), unique=True, max_size=3).map(tuple),
    language=st.none() | st.sampled_from(["en", "de-AT", "grc", "zh-Hant", "sr"]),
    year=st.none() | st.integers(1000, 2099),
    volume=st.none() | st.integers(1, 99).map(str),
    publisher=st.none() | WORDS,
    identifiers=st.lists(
        st.sampled_from(
            [
                "isbn:9780141439600",
                "cancelled-isbn:9780141439618",
                "oclc:7",
                "own:a b",
                "issn:0024-3620",
                "doi:10.1000/1",
            ]
        ),
        unique=True,
    ).map(tuple),
)
NAMES = ("title", "authors", "language", "year", "volume", "publisher", "identifiers")


def comparable(metadata: Metadata) -> tuple[object, ...]:
    return (
        *(getattr(metadata, name) for name in NAMES[:-1]),
        frozenset(all_normalised(metadata.identifiers)),
    )


@given(METADATA)
def test_record_of_metadata_says_the_same(metadata: Metadata) -> None:
    made = forms.read(CatalogRecord("marc", forms.write(record_of(metadata, BOOK_ID), "marc")))

    assert comparable(metadata_of(made)) == comparable(metadata)
    assert len(made.control("008") or "") == 40
    assert made.control("001") == str(BOOK_ID)
    assert [field.tag for field in made.fields] == sorted(field.tag for field in made.fields)


@given(RECORDS.filter(lambda made: "001" not in {field.tag for field in made.fields}), METADATA)
def test_changed_metadata_are_what_the_record_says(made: MarcRecord, metadata: Metadata) -> None:
    changed = with_changes(made, metadata, NAMES)

    assert comparable(metadata_of(changed)) == comparable(metadata)
    assert with_changes(changed, metadata, NAMES) == changed


@given(RECORDS, METADATA)
def test_what_was_not_changed_stays(made: MarcRecord, metadata: Metadata) -> None:
    assert with_changes(made, metadata, ()) == made
    assert with_changes(made, metadata_of(made), NAMES) == made


def test_changed_fields_keep_what_stands_beside_them() -> None:
    before = record(
        control("008", "721211s1913    nyu           000 0 eng  "),
        data("041", "1 ", "a eng", "h ger"),
        data("100", "1 ", "a Harbour, E. M.,", "d 1860-1931."),
        data("245", "10", "a Annals.", "n Part 2,", "p Zoology."),
        data("260", "  ", "a London :", "b X,", "c 1913."),
        data("700", "1 ", "a Second, Ann,", "d 1900-"),
    )
    metadata = Metadata(
        authors=("Second, Ann", "Third, Bob", "Harbour, E. M."), language="fr", year=1914, volume="Part 3"
    )

    after = with_changes(before, metadata, ("authors", "language", "year", "volume"))

    assert after.fields == (
        control("008", "721211s1914    nyu           000 0 fre  "),
        data("041", "1 ", "h ger"),
        data("100", "1 ", "a Second, Ann,", "d 1900-"),
        data("245", "10", "a Annals.", "n Part 3", "p Zoology."),
        data("260", "  ", "a London :", "b X,", "c 1914"),
        data("700", "1 ", "a Third, Bob"),
        data("700", "1 ", "a Harbour, E. M.,", "d 1860-1931."),
    )
    assert with_changes(before, Metadata(), ("year", "volume")).fields[-2] == data(
        "260", "  ", "a London :", "b X,"
    )
