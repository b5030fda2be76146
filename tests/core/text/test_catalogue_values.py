"""Numbers and years as people write them."""

import time

import pytest

from bookprint_core.text.catalogue_values import (
    as_written,
    fault_in,
    isbn,
    isbns_alone,
    issn,
    numbers_in,
    year_in,
)

ISBN = "9780141439600"


@pytest.mark.parametrize(
    "text",
    [
        "ISBN-13 9780141439600",
        "ISBN 10: 0-14-143960-2 (pbk.)",
        "978–0–14–143960–0",
        "978\u20110\u201114\u2011143960\u20110",
        "978 0 14 143960 0",
        *("9-780141-439600", "9 780 141 439 600", "0 14 143960 2", "978.0.14.143960.0", "978ー0141439600"),
        *("'9780141439600", '="0141439602"', "SBN 14143960-2", "978\u200b0141439600\u200e"),
        "141439602",
        "٩٧٨٠١٤١٤٣٩٦٠٠",
        "９７８０１４１４３９６００",
        "9.780141439600E+12",
        "9780141439600.0",
        "[0141439602, 9780141439600]",
        "0141439602 : £3.50",
    ],
)
def test_an_isbn_is_read_in_any_spelling(text: str) -> None:
    assert isbn(text) == ISBN


@pytest.mark.parametrize(
    "text",
    [
        *("9.78014E+12", "0378-5955", "not known", "5-17-080079-Х", "0141439602-1234", "B0141439602"),
        *("978 0 141439602", "979 0141439602", "0141439602Y", "0-8044-2957-5", "M-2306-7118-7"),
        *(
            "979/0141439602",
            "979·0141439602",
            "0-14-143968-?",
            "0-14-143968",
            "0000000000",
            "9780200000000",
            "1234567",
        ),
    ],
)
def test_what_is_left_over_makes_no_other_isbn(text: str) -> None:
    assert isbn(text) is None
    assert isbn(as_written("isbn", text) or "") is None


def test_an_x_in_cyrillic_letters_is_read() -> None:
    assert isbn("0-8044-2957-Х") == "9780804429573"
    assert as_written("isbn", "5-17-080079-Х (в пер.)") == "5-17-080079-Х"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0141439602, 9780804429573", (ISBN, "9780804429573")),
        ("0-14-143960-2 (pbk.) 978-0-8044-2957-3 51299", (ISBN, "9780804429573")),
        ("9780141439600 0-8044-2957-5", (ISBN, "0-8044-2957-5")),
        ("0140017978 0140017895", ("0140017978", "9780140017892")),
    ],
)
def test_each_of_several_numbers_is_read(text: str, numbers: tuple[str, ...]) -> None:
    assert numbers_in("isbn", text) == numbers
    assert isbn(text) is None
    assert as_written("isbn", text) == text


@pytest.mark.parametrize("text", ["e-ISSN: 0378‐5955", "3785955", "٠٣٧٨-٥٩٥٥"])
def test_an_issn_is_read_in_any_spelling(text: str) -> None:
    assert issn(text) == "0378-5955"


def test_only_a_number_alone_is_taken_for_one_where_none_is_announced() -> None:
    assert isbns_alone("9780141439600 (ebook)") == (ISBN,)
    assert isbns_alone("Report 9780141439600") == isbns_alone("141439602") == ()


@pytest.mark.parametrize(
    ("scheme", "text", "fault"),
    [
        ("isbn", "9.78014E+12", "cut its digits"),
        ("isbn", "9780140000000", "cut its digits"),
        ("isbn", "0378-5955", "an ISSN"),
        ("issn", ISBN, "an ISBN"),
        ("isbn", "not known", "not an ISBN"),
        ("isbn", "0-14-143960-X", "check digit"),
    ],
)
def test_why_a_number_cannot_be_read(scheme: str, text: str, fault: str) -> None:
    assert fault in fault_in(scheme, text)


@pytest.mark.parametrize(
    ("text", "coded", "year"),
    [
        ("1423 [2002]", 2002, 2002),
        ("1423 [2002]", None, 2002),
        ("1381", 2002, 2002),
        ("۱۳۸۱", 2002, 2002),
        ("c1998, 2002", 2002, 2002),
        ("1813, c1810", None, 1813),
        ("1813", 2005, 1813),
        ("n.d.", 2002, None),
    ],
)
def test_the_year_of_publication_is_that_of_the_common_calendar(
    text: str, coded: int | None, year: int | None
) -> None:
    assert year_in(text, coded) == year


@pytest.mark.parametrize("part", ["9.7", "1 ", "1-", ".0", "ISBN ", "(", "979 1", "\u0661\u00ad", "1423 "])
def test_long_values_take_linear_time(part: str) -> None:
    text = "9.7" + part * (100_000 // len(part)) + "E"
    started = time.process_time()
    for scheme in ("isbn", "issn"):
        as_written(scheme, text)
        fault_in(scheme, text)
    isbns_alone(text)
    year_in(text, 2002)
    assert time.process_time() - started < 20, "in quadratic time it is minutes"
