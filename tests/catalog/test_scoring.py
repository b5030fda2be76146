"""Scores and features, and the rule that calls a candidate a match."""

from uuid import UUID

import pytest

from app.catalog.reconciliation import BookDescription, key_conditions, years_of
from app.catalog.scoring import Candidate, ContentEvidence, ranked, scored
from app.catalog.similarity import title_similarity
from bookprint_core.matching.verification import Evidence
from bookprint_core.model import Metadata
from bookprint_core.text.names import word_key


def a_candidate(number: int, score: float) -> Candidate:
    return Candidate(UUID(int=number), Metadata(), None, score, {})


def score(description: BookDescription, metadata: Metadata, evidence: Evidence | None = None) -> Candidate:
    content = None if evidence is None else ContentEvidence(evidence)
    return scored(description, UUID(int=1), metadata, None, content)


@pytest.mark.parametrize(
    ("one", "other", "least", "most"),
    [
        ("The Odyssey", "Odyssey", 1, 1),
        ("Emma : a novel", "EMMA", 0.95, 0.99),
        ("Emma. Band 2", "Emma. Band 3", 0, 0.6),
        ("Pride and Prejudice", "Prejudice and pride", 0.9, 0.99),
        ("Pride and Prejudice", "Prid and Prejudise", 0.9, 0.99),
        ("Emma", "Emmanuel", 0, 0.7),
        ("Essays : first series", "Essays : second series", 0, 0.9),
        ("战争与和平", "战争与和平", 1, 1),
        ("", "Emma", 0, 0),
    ],
)
def test_titles_are_compared_as_cataloguers_write_them(
    one: str, other: str, least: float, most: float
) -> None:
    assert least <= title_similarity(one, other) <= most
    assert title_similarity(one, other) == title_similarity(other, one)


def test_the_best_is_a_match_only_when_it_stands_out() -> None:
    alone = ranked([a_candidate(1, 90), a_candidate(2, 85)])
    close = ranked([a_candidate(1, 99), a_candidate(2, 94.1)])
    low = ranked([a_candidate(1, 89.9), a_candidate(2, 29)])

    assert [each.match for each in alone] == [True, False]
    assert [each.match for each in close] == [False, False]
    assert [(each.score, each.match) for each in low] == [(89.9, False)]
    assert ranked([]) == []


def test_features_are_of_what_both_sides_say() -> None:
    asked = BookDescription(("Emma",), ("Austen, J.",), (1815,), identifiers=("isbn:9780141439600",))

    found = score(asked, Metadata("Emma", ("Jane Austen",), year=1816, identifiers=("oclc:1",)))

    assert found.features == {"title": 1.0, "author": 1.0, "year": 0.5}
    assert found.score == pytest.approx(100 * (60 + 25 + 6 + 30) / 157, abs=0.01)


def test_content_outweighs_what_records_say() -> None:
    asked = BookDescription(("Emma",), contents=(UUID(int=2),))

    by_text = score(asked, Metadata("Lady Susan"), Evidence(4, 100, 0.78, 0.9, 0.88))
    by_title = score(asked, Metadata("Emma"))

    assert by_text.score > 60 > by_title.score
    assert by_title.features["content"] == 0
    assert by_text.features.keys() >= {"distance", "jaccard", "containment", "contained"}


def test_the_words_in_the_fewest_books_are_looked_for() -> None:
    counts = {word_key(word): count for word, count in (("history", 900), ("the", 5_000), ("of", 6_000))}
    of_all = {word_key(word): 10**6 for word in ("the", "history")}

    conditions = key_conditions(BookDescription(("The History of Bees",)), counts)

    assert any(set(condition.all_of) == {word_key("bees"), word_key("history")} for condition in conditions)
    assert not any(word_key("the") in (*condition.any_of, *condition.all_of) for condition in conditions)
    assert not any(
        condition.all_of for condition in key_conditions(BookDescription(("The History",)), of_all)
    )


def test_years_are_read_from_dates() -> None:
    assert years_of("1813-1815 [reprint 1894]") == (1813, 1815, 1894)
    assert years_of("12345, s.a.") == ()
