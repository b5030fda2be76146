"""docs/reference/corpus-tables.md tells the columns of every table of a corpus."""

from tools.corpus_tables import DOCUMENT, document


def test_document_of_the_tables_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run `python -m tools.corpus_tables`"
