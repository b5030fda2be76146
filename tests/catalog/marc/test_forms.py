"""The three forms of MARC 21: what is written is what was read, and damage is refused with the reason."""

import io
from itertools import chain, islice, repeat

import psutil
import pymarc
import pytest
from hypothesis import given, settings, strategies as st

from app.catalog.marc import forms
from app.catalog.marc.record import InvalidRecord, MarcRecord, TooLongForBinary
from bookprint_core.model import CatalogRecord, RecordFormat
from tests.catalog.marc.made_records import RECORDS, control, data, record, without_lengths

FORMS: tuple[RecordFormat, ...] = ("marc", "marcxml", "marc-json")

SUMMERLAND = record(
    control("001", "12883376"),
    data("020", "  ", "a 0786808772"),
    data("245", "10", "a Summerland /", "c Michael Chabon."),
)
OTHER = record(control("001", "11939876"), data("245", "14", "a The amazing adventures."))


@settings(max_examples=20)
@given(RECORDS)
def test_record_goes_through_every_form(made: MarcRecord) -> None:
    for form in FORMS:
        written = forms.write(made, form)
        again = forms.single(CatalogRecord(form, written))
        assert without_lengths(again) == without_lengths(made)
        assert forms.write(again, form) == written


@pytest.mark.parametrize("form", FORMS)
def test_records_of_a_file_come_in_their_order(form: RecordFormat) -> None:
    found = list(forms.records(io.BytesIO(several(form, SUMMERLAND, OTHER)), form))

    assert [each.number for each in found] == [1, 2]
    assert [without_lengths(each.record) for each in found] == [
        without_lengths(SUMMERLAND),
        without_lengths(OTHER),
    ]


@pytest.mark.parametrize("form", ["marc", "marc-json"])
def test_damaged_record_spoils_no_other(form: RecordFormat) -> None:
    damaged = forms.write(SUMMERLAND, form).replace(b"Summerland", b"Summ")
    if form == "marc-json":
        damaged = damaged.replace(b'"leader":', b'"leader"')
    file = forms.write(OTHER, form) + b"\n" + damaged + b"\n" + forms.write(OTHER, form)

    first, second, third = forms.records(io.BytesIO(file), form)

    assert first.record == third.record
    assert isinstance(second.record, InvalidRecord)
    assert "Record 2 is refused" in str(second.record)


@given(st.data())
def test_damage_is_refused_or_read_as_another_library_reads_it(draw: st.DataObject) -> None:
    damaged = bytearray(WRITTEN)
    # Positions 22 and 23 mean nothing, and the other library stops where they are not ASCII.
    places = st.integers(0, len(damaged) - 1).filter(lambda place: place not in (22, 23))
    for _ in range(draw.draw(st.integers(1, 3))):
        damaged[draw.draw(places)] = draw.draw(st.integers(0, 255))
    try:
        ours = forms.read(CatalogRecord("marc", bytes(damaged)))
    except InvalidRecord:
        return
    theirs = pymarc.Record(bytes(damaged), hide_utf8_warnings=True)
    assert theirs.as_dict()["fields"] == forms.to_document(ours)["fields"]


@pytest.mark.parametrize("form", FORMS)
@given(st.data())
def test_no_bytes_break_a_reader(form: RecordFormat, draw: st.DataObject) -> None:
    damaged = bytearray(forms.write(SUMMERLAND, form))
    for _ in range(draw.draw(st.integers(1, 4))):
        start = draw.draw(st.integers(0, len(damaged)))
        damaged[start : start + draw.draw(st.integers(0, 9))] = draw.draw(st.binary(max_size=9))
    for each in forms.records(io.BytesIO(bytes(damaged)), form):
        if isinstance(each.record, MarcRecord):
            written = forms.write(each.record, form)
            assert without_lengths(forms.single(CatalogRecord(form, written))) == without_lengths(each.record)


class Repeated(io.RawIOBase):
    """A file that repeats a part many times, and is never there as a whole."""

    def __init__(self, start: bytes, part: bytes, count: int, end: bytes) -> None:
        self.parts = chain([start], repeat(part, count), [end])
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        while len(self.rest) < len(buffer) and (more := b"".join(islice(self.parts, 10))):
            self.rest += more
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


HARVEST = b'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><record><metadata>'


@pytest.mark.parametrize(
    ("form", "start", "between", "end"),
    [
        ("marc", b"", b"", b""),
        ("marcxml", b"<collection>", b"", b"</collection>"),
        ("marcxml", HARVEST, b"</metadata></record><record><metadata>", b"</metadata></record></OAI-PMH>"),
        ("marc-json", b"", b"\n", b""),
        ("marc-json", b"[\n", b",\n", b"]"),
    ],
)
def test_large_file_takes_the_memory_of_one_record(
    form: RecordFormat, start: bytes, between: bytes, end: bytes
) -> None:
    written = forms.write(record(control("001", "1"), data("520", "  ", "a " + 3_000 * "x")), form)
    part = written.partition(b"?>")[2] or written
    count, most = 10_000, 0
    process = psutil.Process()
    stream = io.BufferedReader(Repeated(start, part + between, count, end))

    before = process.memory_info().rss
    for number, _ in enumerate(forms.pieces(stream, form), start=1):
        if number % 1_000 == 0:
            most = max(most, process.memory_info().rss - before)

    assert number == count
    assert most < 24_000_000


WRITTEN = forms.write(SUMMERLAND, "marc")
XML = forms.write(SUMMERLAND, "marcxml").decode().partition("?>")[2]
JSON = forms.write(SUMMERLAND, "marc-json").decode()


def changed(at: int, text: bytes) -> bytes:
    return WRITTEN[:at] + text + WRITTEN[at + len(text) :]


DAMAGED: dict[RecordFormat, list[bytes | str]] = {
    "marc": [
        *(b"", b"no record", WRITTEN[:-1], WRITTEN + WRITTEN),
        # The leader: its length, coding, kind of indicators, and where the fields begin.
        *(changed(0, b"00099"), changed(9, b"x"), changed(10, b"33"), changed(12, b"00060")),
        # The directory: a tag, the length of a field twice, and where another begins.
        *(changed(24, b"0 1"), changed(27, b"0008"), changed(27, b"0000"), changed(43, b"00000")),
        WRITTEN.replace(b"\x1eSummerland", b"\x1eSummerlanc").replace(b"  \x1fa078", b" \x1faa078"),
        WRITTEN.replace(b"\x1fa0786", b"\x1f\x1f0786"),
        WRITTEN.replace(b"Summerland", b"Summer\xffand"),
        WRITTEN.replace(b"Summerland", b"Summer\x07and"),
    ],
    "marcxml": [
        *(XML.replace('ind1="1"', ""), XML.replace('ind1="1"', 'ind1="10"')),
        XML.replace('ind1="1"', 'ind1="10"').replace('ind2="0"', 'ind2=""'),
        *(XML.replace('tag="020"', ""), XML.replace('code="c"', ""), XML.replace('tag="245"', 'tag="24"')),
        *(XML.replace("subfield", "subfields"), XML.replace("Summerland", "<b>Summer</b>land")),
        *(XML.replace("<subfield", "stray<subfield"), XML.replace("</leader>", "</leader>stray")),
        *(XML.replace("Bibliographic", "Authority"), XML.replace("</record>", "")),
        XML.replace("</leader>", "</leader><leader>00</leader>"),
        '<!DOCTYPE record [<!ENTITY e "Summer">]>' + XML.replace("Summer", "&e;"),
    ],
    "marc-json": [
        *(JSON[:-1], JSON.replace('"ind1":"1",', ""), JSON.replace('"leader"', '"label"')),
        JSON.replace('{"a":"Summerland /"}', '{"a":"Summerland /","a":"Winterland"}'),
        JSON.replace('{"a":"Summerland /"}', '{"a":1}'),
        JSON.replace('{"leader"', '{"more":1,"leader"'),
        JSON.replace('{"001":"12883376"}', '{"001":{"ind1":" ","ind2":" ","subfields":[]}}'),
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_refused(form: RecordFormat) -> None:
    for damaged in DAMAGED[form]:
        data = damaged.encode() if isinstance(damaged, str) else damaged
        with pytest.raises(InvalidRecord):
            forms.single(CatalogRecord(form, data))


def test_damage_is_named_by_its_field_and_place() -> None:
    with pytest.raises(InvalidRecord, match="field 001, which its directory puts at byte 61 with 8 bytes"):
        forms.single(CatalogRecord("marc", changed(27, b"0008")))


@pytest.mark.parametrize("form", FORMS)
def test_unimarc_is_told_apart(form: RecordFormat) -> None:
    unimarc = record(control("001", "1"), data("100", "  ", "a 19931126d1993"), data("200", "1 ", "a 傲慢"))

    with pytest.raises(InvalidRecord, match="UNIMARC"):
        forms.single(CatalogRecord(form, forms.write(unimarc, form)))


def test_record_too_long_for_binary_says_which_form_has_room() -> None:
    long = record(data("520", "  ", "a " + "long " * 2_000))
    many = record(*[data("500", "  ", "a " + "long " * 1_000)] * 25)

    with pytest.raises(TooLongForBinary, match=r"Field 520 has 10,005 bytes.*marcxml"):
        forms.write(long, "marc")
    with pytest.raises(TooLongForBinary, match=r"The record has 125,.*marcxml"):
        forms.write(many, "marc")
    assert forms.read(CatalogRecord("marcxml", forms.write(many, "marcxml"))) == many


def several(form: RecordFormat, *made: MarcRecord) -> bytes:
    written = [forms.write(each, form) for each in made]
    if form == "marcxml":
        return b"<collection>" + b"".join(each.partition(b"?>")[2] for each in written) + b"</collection>"
    return b"\n".join(written)
