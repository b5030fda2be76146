"""What a look at a relation is worth."""

from dataclasses import replace

from app.core.model import Metadata
from app.core.relations.reviews import ReviewedRelation, worth_of

KNOWN = Metadata(
    title="The Salt Road", authors=("Jane Moor",), year=1898, identifiers=("isbn:9783161484100",)
)
COPIES = ReviewedRelation("SAME_TEXT", None, 1.0, None, None, KNOWN, KNOWN, (1, 1))


def test_what_nothing_speaks_against_is_worth_no_look() -> None:
    worth = worth_of(COPIES)
    assert (worth.value, worth.because) == (0, "Nothing speaks against it.")


def test_each_contradiction_of_the_catalogue_adds_to_the_worth() -> None:
    other = replace(COPIES, right=replace(KNOWN, title="Ferry", identifiers=()))
    another = replace(other, right=replace(other.right, authors=("A. Ames",)))
    assert 0 < worth_of(other).value < worth_of(another).value
    assert "titles" in worth_of(other).because
    less_said = replace(COPIES, right=Metadata(title="Salt road, a novel", authors=("J. Moor",)))
    assert worth_of(less_said).value == 0


def test_unrelated_books_with_one_identifier_are_worth_a_look_and_translations_are_not() -> None:
    unrelated = replace(COPIES, kind="UNRELATED")
    translated = replace(unrelated, right=replace(KNOWN, language="de", identifiers=()))
    assert worth_of(unrelated).value > 0.8 > 0.2 > worth_of(translated).value


def test_the_smaller_part_hangs_on_a_relation() -> None:
    doubtful = replace(COPIES, confidence=0.5, right=Metadata())
    bridge, end = replace(doubtful, parts=(40, 30)), replace(doubtful, parts=(70, 1))
    assert worth_of(bridge).value > worth_of(end).value == worth_of(doubtful).value == 0.5
    assert "joins 40 and 30 books" in worth_of(bridge).because
    assert worth_of(replace(doubtful, parts=(10**6, 10**6))).value == 1
