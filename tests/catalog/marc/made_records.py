"""Records made for tests, and hypothesis strategies of sound ones."""

from pathlib import Path

from hypothesis import strategies as st

from app.catalog.marc import forms
from app.catalog.marc.record import ControlField, DataField, Field, MarcRecord, Subfield, is_control

LEADER = "00000cam a2200000 a 4500"

TEXT = st.text(
    st.characters(
        exclude_categories=("Cs",), exclude_characters=[chr(code) for code in (*range(32), 0xFFFE, 0xFFFF)]
    )
    | st.sampled_from("\t\n\r\x85\u2028é́ק书"),
    max_size=40,
)
PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
CODES = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
DATA_TAGS = st.from_regex(r"[0-9A-Za-z]{3}", fullmatch=True).filter(lambda tag: not is_control(tag))

CONTROL_FIELDS = st.builds(ControlField, st.from_regex(r"00[1-9]", fullmatch=True), TEXT)
DATA_FIELDS = st.builds(
    DataField,
    DATA_TAGS,
    st.text(PRINTABLE, min_size=2, max_size=2),
    st.lists(st.builds(Subfield, CODES, TEXT), max_size=5).map(tuple),
)
LEADERS = st.builds(
    lambda a, b, c: f"00000{a}a2200000{b}45{c}",
    *(st.text(PRINTABLE, min_size=size, max_size=size) for size in (4, 3, 2)),
)
FIELDS: st.SearchStrategy[list[Field]] = st.lists(CONTROL_FIELDS | DATA_FIELDS, min_size=1, max_size=8)


def is_marc21(fields: list[Field]) -> bool:
    tags = {field.tag for field in fields}
    return "200" not in tags or "245" in tags


RECORDS = st.builds(MarcRecord, LEADERS, FIELDS.filter(is_marc21).map(tuple))


def record(*fields: Field, leader: str = LEADER) -> MarcRecord:
    return MarcRecord(leader, fields)


def data(tag: str, indicators: str, *parts: str) -> DataField:
    """A field of subfields, each written as its code and its value: `a Summerland /`."""
    return DataField(tag, indicators, tuple(Subfield(part[0], part[2:]) for part in parts))


def control(tag: str, text: str) -> ControlField:
    return ControlField(tag, text)


def without_lengths(record: MarcRecord) -> tuple[str, tuple[Field, ...]]:
    """A record but for what each form counts anew: its lengths, and that it is in Unicode."""
    leader = record.leader
    return leader[5:9] + leader[17:20] + leader[22:], record.fields


def named(number: str, title: str = "A title", *more: Field) -> MarcRecord:
    """A record with a control number."""
    return record(control("001", number), *more, data("245", "10", f"a {title}"))


def written(path: Path, *records: MarcRecord | bytes) -> str:
    """The path of a file of these records in binary form."""
    path.write_bytes(
        b"".join(each if isinstance(each, bytes) else forms.write(each, "marc") for each in records)
    )
    return str(path)
