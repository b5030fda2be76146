"""MARC records joined with texts, by the names that records have for them."""

import gzip
import os
from pathlib import Path

from app.catalog.marc import forms
from app.services.bulk.joining import joined, names_of
from bookprint_readers.files import find, texts_in
from bookprint_readers.unread import Unreadable, UnreadFile
from tests.catalog.marc.made_records import control, data, named, record, written


def test_names_are_those_of_numbers_and_addresses() -> None:
    made = record(
        control("001", " 123 "),
        data("024", "7 ", "a ark:/13960/t9", "2 ark"),
        data("035", "  ", "a (OCoLC)456"),
        data("856", "40", "u https://hdl.example/2027/mdp.39015?x=1", "u http://x.example/a%20b.txt/"),
    )

    names = list(names_of(made))

    assert [
        name
        for name in ("123", "t9", "(OCoLC)456", "456", "mdp.39015", "a b.txt", "a b")
        if name not in names
    ] == []


def test_texts_and_records_are_joined_and_what_is_left_is_told(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("1.txt", "2.txt", "3.html", "mdp.39015.txt", "twice.txt", "twice.epub", "left over.txt"):
        (texts / name).write_text(name)
    (texts / "volume").mkdir()
    for page in range(1, 4):
        (texts / "volume" / f"{page:04}.txt").write_text("page")
    paths = [
        written(
            tmp_path / "a.mrc",
            named("1"),
            named("none", "Without"),
            forms.write(named("2"), "marc").replace(b"A title", b"Title"),
            named("x", "By address", data("856", "40", "u http://h.example/2027/mdp.39015")),
            named("twice"),
        ),
        str(tmp_path / "b.xml.gz"),
    ]
    second = forms.write(named("y", "Folder", data("035", "  ", "a (X)volume")), "marcxml")
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(second))

    found = list(joined([*paths, written(tmp_path / "c.mrc", named("1", "Again"))], find(texts_in(texts))))

    taken = [each for each in found if isinstance(each, UnreadFile)]
    assert [(os.path.basename(each.path), each.known.title) for each in taken] == [
        ("1.txt", "A title"),
        ("mdp.39015.txt", "By address"),
        ("volume", "Folder"),
    ]
    assert [each.record.format for each in taken if each.record] == ["marc", "marc", "marcxml"]
    refused = [
        (os.path.basename(each.path), each.part, str(each.reason).split(":")[0])
        for each in found
        if isinstance(each, Unreadable)
    ]
    assert refused == [
        ("a.mrc", "record 2", "No text has a name of this record (none)."),
        ("a.mrc", "record 3", "Record 3 is refused"),
        ("a.mrc", "record 5", "Several texts are called twice"),
        ("c.mrc", "record 1", f"Its text {texts / '1.txt'} belongs to record 1 of {paths[0]} already."),
        *(
            (name, "", "No record names this text in 001, 024, 035 or 856 $u.")
            for name in ("2.txt", "3.html", "left over.txt")
        ),
    ]
    positions = [each.position for each in found]
    assert positions == sorted(positions)
