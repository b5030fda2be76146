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

REFUSED = [
    "marc4j/bad_oversize_field_bad_directory.mrc",
    "marc4j/chabon-missing-subfield-code.xml",
    "marc4j/cruel-cruel-indicatorless-summerland.xml",
    "marc4j/datos-20161010-slice.mrc",
    "openlibrary/binary/new_poganucpeoplethe00stowuoft_meta.mrc",
    "openlibrary/binary/upei_short_008.mrc",
    "pymarc/utf8_invalid.mrc",
    "pymarc/utf8_without_leader_flag.dat",
]
"""Files of which a record is refused."""


def records_of(name: str) -> Iterator[NumberedRecord]:
    data = (FOLDER / name).read_bytes()
    return forms.records(io.BytesIO(data), forms.format_of(data[:1_000]))


@pytest.mark.parametrize("name", FILES)
def test_record_goes_in_and_comes_out_or_is_refused(name: str) -> None:
    found = list(records_of(name))

    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert found
    refused = [str(each.record) for each in found if isinstance(each.record, InvalidRecord)]
    assert not (refused and SOUND.fullmatch(name))
    assert refused or name not in REFUSED
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


def test_mended_editions_of_one_novel_are_taken_but_for_unimarc() -> None:
    refused = [
        str(each.record)
        for each in records_of("marc4j/pride-and-prejudice-fixed.mrc")
        if isinstance(each.record, InvalidRecord)
    ]
    assert all("UNIMARC" in reason for reason in refused)
    assert len(refused) < 10
