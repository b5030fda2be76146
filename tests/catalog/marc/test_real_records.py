"""Every real record of BOOKPRINT_CATALOGS goes in and comes out whole, or is refused with the reason."""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.catalog.marc import forms
from app.catalog.marc.forms import NumberedRecord
from app.catalog.marc.record import InvalidRecord, TooLongForBinary
from bookprint_core.model import CatalogRecord, RecordFormat
from tests.catalog.marc.made_records import without_lengths

FOLDER = Path(os.environ.get("BOOKPRINT_CATALOGS", "/nonexistent")) / "marc"
pytestmark = [
    pytest.mark.catalogs,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_CATALOGS names no folder"),
]

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*"))
FORMS: tuple[RecordFormat, ...] = ("marc", "marcxml", "marc-json")

SOUND = re.compile(
    r"hathitrust/.*|openlibrary/(?:binary|xml)/(?:flatland|zwei|lc_|ocm|engineer|livro|merchants).*"
)
"""Files of which no record is refused."""

REFUSED = {
    "marc4j/bad_oversize_field_bad_directory.mrc": (2, "its directory"),
    "marc4j/chabon-missing-subfield-code.xml": (1, "has no attribute code"),
    "marc4j/cruel-cruel-indicatorless-summerland.xml": (1, "it has datafield tag='911', and"),
    "marc4j/datos-20161010-slice.mrc": (1, "longer than 99,999 bytes"),
    "openlibrary/binary/new_poganucpeoplethe00stowuoft_meta.mrc": (1, "its leader says 515 bytes"),
    "openlibrary/binary/upei_short_008.mrc": (1, "its directory"),
    "pymarc/utf8_invalid.mrc": (1, "is not two indicators"),
    "pymarc/utf8_without_leader_flag.dat": (1, "MARC-8"),
}
"""Records that are refused, by their numbers, and a part of the reason."""


def records_of(name: str) -> Iterator[NumberedRecord]:
    data = (FOLDER / name).read_bytes()
    return forms.records(io.BytesIO(data), forms.format_of(data[:1_000]))


@pytest.mark.parametrize("name", FILES)
def test_record_goes_in_and_comes_out_or_is_refused(name: str) -> None:
    found = list(records_of(name))

    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert found
    for each in found:
        if isinstance(each.record, InvalidRecord):
            assert re.match(rf"Record {each.number} is refused: .{{10,}}\.$", str(each.record))
            continue
        for form in FORMS:
            try:
                written = forms.write(each.record, form)
            except TooLongForBinary:
                assert form == "marc"
                assert len(forms.write(each.record, "marcxml")) > 99_999
                continue
            again = forms.single(CatalogRecord(form, written))
            assert without_lengths(again) == without_lengths(each.record)


@pytest.mark.parametrize("name", list(filter(SOUND.fullmatch, FILES)))
def test_sound_record_is_not_refused(name: str) -> None:
    assert [str(each.record) for each in records_of(name) if isinstance(each.record, InvalidRecord)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_record_is_refused_with_its_number(name: str) -> None:
    number, reason = REFUSED[name]
    [record] = [each.record for each in records_of(name) if each.number == number]
    assert isinstance(record, InvalidRecord)
    assert reason in str(record)


def test_mended_editions_of_one_novel_are_taken_but_for_unimarc() -> None:
    refused = [
        str(each.record)
        for each in records_of("marc4j/pride-and-prejudice-fixed.mrc")
        if isinstance(each.record, InvalidRecord)
    ]
    assert all("UNIMARC" in reason for reason in refused)
    assert len(refused) < 10
