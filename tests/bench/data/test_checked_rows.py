"""Rows of lists of which the truth is known, and comparisons of identifiers all at once."""

import numpy as np

from app.core.matching.identifier_comparison import compare
from app.core.model import Fingerprint, MinHashBits
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from app.core.signatures.identifier import Identifier
from bench.data.checked_rows import Compared, made_rows, shelves
from bench.harness.corpus import CorpusBook, Pair
from tests.api.library import prose
from tests.paged_books import pages_of


def identifier(rng: np.random.Generator, flips: int) -> Identifier:
    bits, minhash = np.zeros(128, np.uint8), np.zeros(128, np.uint8)
    bits[rng.choice(128, flips, replace=False)] = 1
    minhash[rng.choice(128, min(2 * flips, 64), replace=False)] = 1
    words = int(rng.integers(500, 300_000))
    held = MinHashBits(DEFAULT_MINHASH, np.packbits(minhash).tobytes(), words)
    return Identifier(Fingerprint(DEFAULT_FINGERPRINT, np.packbits(bits).tobytes()), words, held)


def test_identifiers_are_compared_as_one_by_one() -> None:
    rng = np.random.default_rng(4)
    known = [identifier(rng, int(rng.integers(0, 64))) for _ in range(400)]
    query = identifier(rng, 3)
    verdicts = [compare(query, each).verdict for each in known]
    compared = Compared.of(known)
    assert compared.same(query) == {at for at, verdict in enumerate(verdicts) if verdict == "same"}
    assert compared.not_different(query) == {at for at, each in enumerate(verdicts) if each != "different"}
    assert {"same", "unsure", "different"} <= set(verdicts)


def test_books_that_share_text_are_left_out_and_every_row_has_its_book() -> None:
    books = []
    for number in range(6):
        pages = pages_of(prose(970 + number, 9_000), 200)
        title = f"Book {number}"
        books.append(CorpusBook(title, title, title, "An Author", 1900, "en", "\n".join(pages), pages))
    shelf = shelves(books, [Pair("Book 4", "Book 5", "overlaps", 0.5)])
    assert [(each.book.id, each.is_held) for each in shelf] == [
        *(("Book 0", True), ("Book 1", False), ("Book 2", True), ("Book 3", False)),
    ]
    rows = made_rows(shelf, 40, 1)
    assert {row.truth for row in rows} == {"have", "other_edition", "part_of", "contains", "perhaps", "no"}
    held = {each.book.id for each in shelf if each.is_held}
    assert all((row.book in held) == (row.truth != "no") for row in rows)
