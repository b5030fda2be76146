"""The experiments on multi-reference cosine (Mohammadi and Nikoukaran 2018): by hand, and on real texts."""

import os
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import numpy as np
import pytest

from bench.harness.corpus import CorpusBook
from bench.harness.report import CannotMeasure
from research.cosine import cosine_figures, cosine_table
from research.cosine.cosine_samples import Sample, news_sample, sample, samples
from research.cosine.learned_references import learn, shared_out, singular_directions
from research.cosine.letter_grams import (
    SIMHASH_BITS,
    cosines,
    gram_counts,
    grams_of,
    simhash_similarities,
    symbols,
    unit,
    word_simhash,
)
from research.cosine.letter_texts import Texts, divided, news_folder
from research.cosine.reference_strings import Reference, by_frequency, letter_grams, rarest
from research.cosine.similarity_errors import errors


def numbers(*grams: str) -> list[int]:
    return [int(number) for gram in grams for number in grams_of(symbols(gram))]


def columns(*texts: str) -> np.ndarray:
    return np.ascontiguousarray(unit(gram_counts(texts)).T)


def test_symbols_are_lower_case_letters_and_single_spaces() -> None:
    assert symbols("  B--ad,\n2 Z's ").tolist() == [2, 0, 1, 4, 0, 26, 0, 19]


def test_counts_are_of_overlapping_grams_with_spaces() -> None:
    counts = gram_counts(["Ababa b", "ab"])
    assert {gram: int(counts[0, numbers(gram)[0]]) for gram in ("aba", "bab")} == {"aba": 2, "bab": 1}
    assert counts.sum(axis=1).tolist() == [5, 0]


def test_signature_is_the_cosine_with_each_part() -> None:
    reference = Reference("two", np.array(numbers("abc", "abd")))
    text = columns("abc abd abc")  # nine 3-grams: abc and " ab" twice, five others once
    assert reference.signatures(text, 2)[0] == pytest.approx([2 / 13**0.5, 1 / 13**0.5])
    # In one part "abcabd" also has bca and cab.
    assert reference.signatures(text, 1)[0] == pytest.approx([3 / (2 * 13**0.5)])


def test_parts_cut_the_string_by_characters() -> None:
    reference = Reference("two", np.array(numbers("abc", "def")))
    assert reference.signatures(columns("abcd"), 1)[0, 0] > 0
    assert reference.signatures(columns("abcdef"), 3).tolist() == [[0, 0, 0]]  # ab, cd, ef
    assert reference.signatures(columns("bcd"), 2).tolist() == [[0, 0]]  # only where the parts meet


def test_one_gram_a_part_gives_the_cosine_itself() -> None:
    texts = ("bookprint", "printbook", "fingerprint", "catalogue")
    units = columns(*texts)
    occurring = by_frequency(gram_counts(texts))
    similar = Reference("all", occurring).similarities(units, occurring.size)
    assert similar == pytest.approx(cosines(gram_counts(texts)), abs=1e-6)
    assert 0.2 < similar[0, 1] < 0.9


def test_signature_of_zeros_is_like_nothing() -> None:
    similar = Reference("one", np.array(numbers("zzz"))).similarities(columns("book", "book"), 1)
    assert similar.tolist() == [[0, 0], [0, 0]]


def test_lists_are_in_the_order_told() -> None:
    counts = gram_counts(["abc abc abc", "abd", "abd abe"])
    assert rarest(counts, 3).tolist() == numbers("abe", "abc", "abd")
    assert rarest(counts, 2).tolist() == numbers("abe", "abc")
    assert by_frequency(counts).tolist() == numbers("abc", "abd", "abe")
    assert letter_grams().size == 26**3


def test_simhash_of_one_word_is_its_sha1_and_a_tie_is_not_set() -> None:
    one, other = (
        np.unpackbits(np.frombuffer(sha1(word).digest()[:8], np.uint8)) == 1 for word in (b"book", b"page")
    )
    assert np.array_equal(word_simhash("BOOK!") > 0, one)
    assert np.array_equal(word_simhash("book page") > 0, one & other)
    assert np.array_equal(word_simhash("page book page") > 0, other)
    similar = simhash_similarities(["book", "page"])
    assert similar[0, 1] == pytest.approx(np.count_nonzero(one == other) / SIMHASH_BITS)


def test_errors_are_of_the_pairs_above_the_diagonal() -> None:
    truth = np.array([[1, 0.5, 0.5], [0, 1, 0.5], [0, 0, 1]], np.float32)
    similar = np.array([[0, 0.75, 0.25], [9, 0, 0.75], [9, 9, 0]], np.float32)
    found = errors(similar, truth)
    assert found.pairs == 3
    assert found.mean_absolute == pytest.approx(0.25)
    assert found.bias == pytest.approx(0.25 / 3)
    assert found.mean_squared == pytest.approx(0.0625)
    assert found.variance == pytest.approx(0.0625 - (0.25 / 3) ** 2)


WORDS = (
    *("the", "a", "of", "book", "page", "print", "copy"),
    *("text", "library", "hash", "letter", "reader", "shelf", "year"),
)


def some_texts(count: int, seed: int) -> list[str]:
    """Texts of 80 words, each with shares of its own."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(WORDS), 0.5), count)
    return [" ".join(rng.choice(WORDS, 80, p=share)) for share in shares]


def test_learned_signatures_have_their_size_and_keep_the_cosine() -> None:
    units = unit(gram_counts(some_texts(200, 1)))
    others = unit(gram_counts(some_texts(100, 2)))
    small, large = learn(units, (64, 240))
    assert (small.bits, large.bits) == (64, 240)
    assert (small.sign(others).shape, large.sign(others).shape) == ((100, 8), (100, 30))
    rough, fine = (
        errors(each.similarities(each.sign(others)), cosines(others)).mean_absolute for each in (small, large)
    )
    assert fine < 0.01
    assert fine < rough < 0.1


def test_learned_signature_stands_for_the_nearest_values() -> None:
    units = unit(gram_counts(some_texts(60, 3)))
    (learned,) = learn(units, (80,))
    projections = units @ learned.directions
    for column, levels, kept in zip(
        projections.T, learned.values, learned.vectors(learned.sign(units)).T, strict=True
    ):
        nearest = np.abs(column[:, None] - levels).min(axis=1)
        assert np.abs(column - kept) == pytest.approx(nearest, abs=1e-6)


def test_bits_go_to_the_projections_that_matter() -> None:
    rng = np.random.default_rng(4)
    projections = rng.normal(size=(500, 4)) * [1, 0.3, 0.1, 0]
    widths = shared_out(projections.astype(np.float32), 9)
    assert widths.sum() == 9
    assert widths[0] > widths[1] > widths[2] >= widths[3] == 0
    # Half as wide is a sixteenth of the error of products, so that the fourth bit still goes to the first.
    assert shared_out(np.array([[1, 0.5], [-1, 0.5], [1, -0.5], [-1, -0.5]], np.float32), 4).tolist() == [
        4,
        0,
    ]


def test_directions_are_at_right_angles_and_of_length_one() -> None:
    directions = singular_directions(unit(gram_counts(some_texts(40, 5))), 10)
    assert directions.shape[1] == 10
    assert directions.T @ directions == pytest.approx(np.eye(10), abs=1e-3)


def test_no_work_is_both_learnt_from_and_tested_on() -> None:
    books = [book(work, copy, pages=work in "abcd") for work in "abcdef" for copy in range(2)]
    texts = divided(books)
    learnt, tested = (set(" ".join(part).split()) for part in (texts.learning, texts.testing))
    assert len(tested) == 2
    assert learnt == set("abcdef") - tested
    assert divided(books) == texts


def book(work: str, copy: int, pages: bool) -> CorpusBook:
    """A book whose only word is the name of its work."""
    text = f"{work} " * 2_000
    return CorpusBook(f"{work}{copy}", work, "", "", None, "en", text, [text[:500]] * 3 if pages else None)


def test_news_folder_must_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BOOKPRINT_NEWS20", raising=False)
    with pytest.raises(CannotMeasure, match="BOOKPRINT_NEWS20"):
        news_folder()
    monkeypatch.setenv("BOOKPRINT_NEWS20", str(tmp_path))
    with pytest.raises(CannotMeasure, match=r"messages\.jsonl\.gz"):
        news_folder()


def test_experiments_write_their_tables_and_plots(tmp_path: Path) -> None:
    kinds = [sample(Texts(f"kind {seed}", some_texts(60, seed), some_texts(20, seed + 9))) for seed in (1, 2)]
    figures = cosine_figures.measure(tmp_path, kinds, (2, 5))
    table = cosine_table.measure(kinds, (8, 30))
    assert {path.name for path in tmp_path.iterdir()} == {
        "cosine_figures_kind_1_error.svg",
        "cosine_figures_kind_1_time.svg",
        "cosine_figures_kind_2_error.svg",
        "cosine_figures_kind_2_time.svg",
    }
    assert "all 3-grams" in figures.to_markdown()
    assert "across kinds" in table.to_markdown()


@pytest.fixture(scope="module")
def news() -> Path:
    """The folder with News20 messages."""
    if "BOOKPRINT_NEWS20" not in os.environ:
        pytest.skip("BOOKPRINT_NEWS20 is not set: it names the folder with News20 messages")
    return news_folder()


def test_published_simhash_comes_out_on_news(news: Path) -> None:
    found = cosine_table.row_simhash(news_sample()).errors
    assert found.mean_absolute == pytest.approx(0.18854, abs=0.02)
    assert found.mean_squared == pytest.approx(0.04173, abs=0.02)


@pytest.mark.corpus
def test_thirty_bytes_have_a_fifth_of_the_error_and_a_third_across_kinds(news: Path, corpus: Path) -> None:
    kinds = [fewer(kind) for kind in samples()]
    sources = [cosine_table.source(kind.name, kind.learning, (30,)) for kind in kinds]
    for tested in kinds:
        published = cosine_table.rows_published(tested, sources, cosine_table.SMALL)
        best = cosine_table.closest(published).errors.mean_absolute
        for row in cosine_table.rows_learned(tested, sources):
            share = 1 / 5 if row.references_from == tested.name else 1 / 3
            assert row.errors.mean_absolute <= share * best


def fewer(kind: Sample) -> Sample:
    """Half of the texts to learn from, so that the test is quick."""
    return replace(kind, learning=kind.learning[::2])
