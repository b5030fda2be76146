"""Books of made and real pairs as sides of a comparison."""

from app.core.model import Metadata
from app.core.relations.relation import ComparedBook
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from bench.data.book_pairs import MadePair
from bench.harness.corpus import CorpusBook


def compared_books(pair: MadePair) -> tuple[ComparedBook, ComparedBook]:
    """Both books of a made pair, signed."""
    left, right = (sketch(content_from_pages(pages)) for pages in (pair.left, pair.right))
    return (
        ComparedBook(left.pages, left.minhash, pair.metadata[0]),
        ComparedBook(right.pages, right.minhash, pair.metadata[1]),
    )


class ComparedCorpus:
    """Books of the corpus, or parts of them, as sides of comparisons; each is signed once."""

    def __init__(self) -> None:
        self._kept: dict[str, ComparedBook] = {}

    def __call__(self, book: CorpusBook, name: str | None = None) -> ComparedBook:
        """The book, signed; parts of a book need a name of their own."""
        key = name or book.id
        if key not in self._kept:
            made = sketch(book.content)
            self._kept[key] = ComparedBook(
                made.pages, made.minhash, Metadata(title=book.title, year=book.year)
            )
        return self._kept[key]
