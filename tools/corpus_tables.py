"""Write the page docs/reference/corpus-tables.md: `python -m tools.corpus_tables`."""

import sys
from pathlib import Path

from bookprint_corpus.tables import TABLES

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "reference" / "corpus-tables.md"

_HEAD = """# The tables of a corpus

[`bookprint corpus run`](../guides/corpus.md) writes a folder of Parquet files for each table. Books are
numbered in the order of the input; of two books, the book with the smaller number is the older one.
The rows have no order. The types are Arrow's. Made from `corpus/tables` by
`python -m tools.corpus_tables`.
"""
_ROWS = {
    "books": "One row for each book that was read.",
    "sketches": "One row for each book that was read, with all its signatures.",
    "refused": "One row for each book that could not be read.",
    "candidates": "One row for each pair of books that may be related.",
    "capped": "One row for each value that too many books of a block share to find all of them by it.",
    "relations": "One row for each pair of books that were compared.",
    "page_maps": "One row for each pair of books with matching pages.",
    "clusters": "One row for each book of a cluster, in each kind of cluster.",
}


def document() -> str:
    """Return the page."""
    parts = [_HEAD]
    for table, columns in TABLES.items():
        rows = "".join(f"| `{column.name}` | `{column.type}` | {column.meaning} |\n" for column in columns)
        parts.append(
            f"\n## {table}\n\n{_ROWS[table]}\n\n| column | type | meaning |\n| --- | --- | --- |\n{rows}"
        )
    return "".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"{DOCUMENT.relative_to(ROOT)} is written", file=sys.stderr)
