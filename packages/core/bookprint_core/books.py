"""One function each for the signatures, the identifier and the relation of books."""

from collections.abc import Sequence

from bookprint_core.model import Metadata, Sketch
from bookprint_core.relations import relation
from bookprint_core.relations.relation import ComparedBook, Relation
from bookprint_core.signatures import identifier as identifiers
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages, content_from_text


def sign(book: str | Sequence[str]) -> Sketch:
    """Compute all signatures of a book from its text, or from the text of each page.

    U+000C separates the pages of one text. Raises EmptyText if there is no letter and no digit, and
    InvalidText for characters that no text contains.
    """
    return sketch(content_from_text(book) if isinstance(book, str) else content_from_pages(book))


def identifier(signatures: Sketch) -> str | None:
    """Compute the identifier of a book, `bp2:` and 60 characters; None if the text is too short."""
    found = identifiers.of_signatures(signatures, signatures.word_count)
    return None if found is None else identifiers.written(found)


def relate(
    left: Sketch, right: Sketch, left_metadata: Metadata | None = None, right_metadata: Metadata | None = None
) -> Relation:
    """Compute how two books are related, page by page; raises RecipeMismatch.

    Metadata distinguish copies from two volumes of one work and from issues of two years.
    """
    return relation.relate(
        ComparedBook(left.pages, left.minhash, left_metadata or Metadata()),
        ComparedBook(right.pages, right.minhash, right_metadata or Metadata()),
    )
