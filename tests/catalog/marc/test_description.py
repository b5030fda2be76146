"""What records say of their books: titles, names, dates, languages, volumes and identifiers."""

import pytest

from app.catalog.marc.description import metadata_of
from app.catalog.marc.record import Field
from tests.catalog.marc.made_records import control, data, record


def fixed(date: str = "1913", language: str = "eng") -> Field:
    return control("008", f"721211s{date}    nyu           000 0 {language}  ")


@pytest.mark.parametrize(
    ("field", "title"),
    [
        (data("245", "10", "a Summerland /", "c Michael Chabon."), "Summerland"),
        (data("245", "14", "a The amazing adventures :", "b a novel /"), "The amazing adventures: a novel"),
        (data("245", "00", "a Bericht =", "b Report /"), "Bericht = Report"),
        (data("245", "00", "a Annals.", "n Part 2,", "p Zoology."), "Annals. Part 2, Zoology"),
        (data("245", "00", "a Annals.", "p Zoology /"), "Annals. Zoology"),
        (data("245", "00", "a Why?", "n 2"), "Why? 2"),
        (data("245", "00", "a Ferry", "h [electronic resource] /"), "Ferry"),
        (data("245", "00", "a \x98The \x9cferry ..."), "The ferry ..."),
        (data("245", "00", "a ", "c nobody"), None),
    ],
)
def test_title_is_without_punctuation_of_the_rules(field: Field, title: str | None) -> None:
    assert metadata_of(record(field)).title == title


def test_authors_are_names_of_those_who_wrote_the_whole() -> None:
    found = metadata_of(
        record(
            data("100", "1 ", "a Harbour, E. M.", "q (Edith),", "d 1860-1931,", "e author."),
            data("110", "2 ", "a United Nations.", "b Library.", "b Press."),
            data("700", "1 ", "a Second, Ann,", "e joint author."),
            data("700", "1 ", "a Third, Bob,", "4 aut"),
            data("700", "0 ", "a John Paul", "b II,", "c Pope,", "d 1920-2005."),
            data("700", "1 ", "a Editor, Carl,", "e editor."),
            data("700", "1 ", "a Translator, D.,", "4 http://id.loc.gov/vocabulary/relators/trl"),
            data("700", "12", "a Austen, Jane.", "t Emma."),
            data("700", "1 ", "a Harbour, E. M."),
            data("710", "2 ", "a Some Library"),
        )
    )

    assert found.authors == (
        "Harbour, E. M.",
        "United Nations. Library. Press",
        "Second, Ann",
        "Third, Bob",
        "John Paul II",
    )


@pytest.mark.parametrize(
    ("fields", "language"),
    [
        ([fixed(language="ger")], "de"),
        ([fixed(language="grc")], "grc"),
        ([fixed(language="scr")], "hr"),
        ([fixed(language="und")], None),
        ([fixed(language="|||")], None),
        ([fixed(language="eng"), data("041", "1 ", "a fre", "h eng")], "fr"),
        ([fixed(language="mul"), data("041", "0 ", "a mul", "a eng")], None),
        ([data("041", "0 ", "a engfre")], "en"),
        ([data("041", "07", "a de-CH", "2 rfc5646")], "de-CH"),
        ([control("008", "short")], None),
    ],
)
def test_language_is_a_tag(fields: list[Field], language: str | None) -> None:
    assert metadata_of(record(*fields)).language == language


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ([data("260", "  ", "a New York :", "c c2000.")], 2000),
        ([data("260", "  ", "c [1995?]")], 1995),
        ([data("260", "  ", "c 5743 [1983]")], 1983),
        ([data("260", "  ", "c 1993[民82]")], 1993),
        ([data("264", " 4", "c ©1999"), data("264", " 1", "c 1998")], 1998),
        ([data("264", " 4", "c ©1999"), fixed("1913")], 1999),
        ([data("260", "  ", "c [18--]"), fixed("1884")], 1884),
        ([fixed("uuuu")], None),
        ([fixed("9999")], None),
    ],
)
def test_year_is_that_of_publication(fields: list[Field], year: int | None) -> None:
    assert metadata_of(record(*fields)).year == year


@pytest.mark.parametrize(
    ("fields", "volume"),
    [
        ([data("245", "00", "a Annals.", "n Part 2,", "p Zoology")], "Part 2"),
        ([data("490", "1 ", "a Series ;", "v v. 7.")], "v. 7"),
        ([data("490", "1 ", "a Series"), data("830", " 0", "a Series ;", "v 7")], "7"),
        ([data("245", "00", "a Annals")], None),
    ],
)
def test_volume_is_of_the_work_before_the_series(fields: list[Field], volume: str | None) -> None:
    assert metadata_of(record(*fields)).volume == volume


@pytest.mark.parametrize(
    ("fields", "publisher"),
    [
        ([data("260", "  ", "a London :", "b John Murray,", "c 1815.")], "John Murray"),
        ([data("264", " 2", "b A shop"), data("264", " 1", "b John Murray,", "c 1815")], "John Murray"),
        ([data("264", " 1", "c 1815")], None),
    ],
)
def test_publisher_is_the_first_of_publication(fields: list[Field], publisher: str | None) -> None:
    assert metadata_of(record(*fields)).publisher == publisher


def test_identifiers_keep_their_schemes() -> None:
    found = metadata_of(
        record(
            control("001", "12883376"),
            control("003", "DLC"),
            data("010", "  ", "a    00020737 ", "z 99000001"),
            data("020", "  ", "a 0471383147 (paper/cd-rom : alk. paper)", "c $34.99"),
            data("020", "  ", "a 978-0-7868-1615-6", "q pbk."),
            data("020", "  ", "z 0786816155 (wrong)"),
            data("020", "  ", "a (pbk.)"),
            data("022", "0 ", "a 0024-3620", "y 0024-3621"),
            data("024", "2 ", "a M-2306-7118-7"),
            data("024", "7 ", "a 10.1000/182", "2 doi"),
            data("024", "7 ", "a bp1:abc", "2 bookprint"),
            data("024", "8 ", "a somewhere"),
            data("035", "  ", "a (OCoLC)ocm00543144", "z (OCoLC)99"),
            data("035", "  ", "a (DE-627)1234"),
            data("035", "  ", "a sdr-hvd006317999"),
        )
    )

    assert found.identifiers == (
        *("isbn:0471383147", "isbn:978-0-7868-1615-6", "cancelled-isbn:0786816155"),
        *("issn:0024-3620", "cancelled-issn:0024-3621"),
        *("lccn:00020737", "cancelled-lccn:99000001"),
        *("oclc:ocm00543144", "cancelled-oclc:99", "de-627:1234"),
        *("ismn:M-2306-7118-7", "doi:10.1000/182"),
        "dlc:12883376",
    )
