"""The page docs/why/benchmark.md: books, labels, and the results of each method."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.harness.checkout import this_checkout
from bench.harness.report import Cell, Table
from bench.public.manifest import BOOKS, PAIRS, Label, PublicBook, digest

STRANGERS = "strangers"
FOUND = (
    *("same work, by collectors", "same work, by source notes", "contains, by source notes"),
    *("same work", "contains", "overlaps"),
)
FALSE = (STRANGERS, "paratext", "serial")
_WHO_SAYS = {"provenance": ", by collectors", "source": ", by source notes", "shingles": ""}
MOST_SHOWN = 30
"""Maximum number of pairs of strangers on the page."""

_NOTES = """\
- **same work, by collectors**: versions of one book of OpenITI, whose editors name each file by its book
  without regard to the texts. Some are other volumes or recensions, so no method by text can find all pairs.
- **by source notes**: the editors of Standard Ebooks, or of ELTeC, name the number or title of their source
  text of Project Gutenberg. "Contains" is a collection, or a book taken from one; some collections have only
  a few stories of a text. Standard Ebooks corrects spelling and typography, and adds no text. These pairs
  were labelled after Bookprint's rule was chosen. Two of these Standard Ebooks, and other copies of some
  works, were used in that choice.
- **same work, contains, overlaps**: by equal shingles of five words, in Japanese of eight characters (.3 of
  the smaller book or a Jaccard similarity of .15), by lengths and titles. These labels were not proofread.
  They favour methods that compare shingles: Bookprint's and datasketch's.
- **strangers**: pairs of one language that share less than .03 of the smaller book. **paratext**: short
  plays and conversations with one royal privilege or preface. These are all pairs of a few dozen texts, so
  they weigh more in the precision than in a library. **serial**: volumes of one journal.
- Pairs that share .03 to .3 of the smaller book, or a title and no text, are not counted.

Precision is the share of related pairs among the pairs that a method calls copies. Recall is the share of
all related pairs that it calls copies. Both depend on this set of pairs. It is not a sample of a library.

Bookprint's rule was chosen on other real books, some of them of the same works. Its part by places was chosen
on the pairs called paratext, and on pairs that lookups missed, except those of Standard Ebooks. Its rows
therefore look better than they would elsewhere. The other rules are those of their authors or users, at
first try. Users of datasketch often verify its candidates. Institutional Books prefers no errors to all
copies; that rule is our implementation. ISCC codes are those of `iscc-lib`, within the distance of its search
server. MinHashLSH has shingles of five words (`\\w+`, lower case) and 128 permutations; copies share a
band.

RETSim (`unisim` 1.0.1, at first try) was measured on 100 Standard Ebooks (seed 20261125) and their source
texts, 247 books. All books would take hours, and its floating point can differ between processors. The
vectors of the first eight chunks of 512 characters were averaged, 1,024 bytes a book. Pairs with a cosine of
at least .9, the library's default, were called copies. By source notes these were 48 of 85 pairs of the same
work and 7 of 63 of contained works, but none of 30,097 strangers."""


@dataclass(frozen=True, slots=True)
class Row:
    """The pairs that a method called copies."""

    name: str
    bytes_kept: int | None  # mean per book
    columns: NDArray[np.str_]  # column of each of these pairs
    rule: str  # in words; empty in the row of all pairs

    def cells(self, wanted: int) -> list[Cell]:
        """Return the row of the table; `wanted` is the number of related pairs."""
        counts = Counter(self.columns.tolist())
        found, false = (sum(counts[name] for name in names) for names in (FOUND, FALSE))
        shares = [f"{found / max(1, of):.1%}" if self.rule else None for of in (found + false, wanted)]
        columns = [counts[name] for name in (*FOUND, *FALSE)]
        return [self.name, self.bytes_kept, found, false, *shares, *columns, self.rule]


def column(label: Label | None) -> str:
    """Return the column that counts a pair; the page has no column "unclear"."""
    if label is None:
        return STRANGERS
    kind = label.kind.replace("_", " ")
    named = kind + _WHO_SAYS[label.basis]
    return named if named in FOUND else kind


def results(rows: Sequence[Row]) -> str:
    """Return the table in Markdown; the first row counts all pairs."""
    wanted = int(np.isin(rows[0].columns, FOUND).sum())
    headers = ["method", "bytes a book", "found", "false", "precision", "recall", *FOUND, *FALSE]
    return Table([*headers, "called copies where"], [row.cells(wanted) for row in rows]).to_markdown()


def page(
    books: Sequence[PublicBook],
    in_manifest: int,
    texts: str,
    rows: Sequence[Row],
    false: Sequence[tuple[PublicBook, PublicBook]],
) -> str:
    """Return the page; `texts` is a digest of all texts, `false` the strangers found by the lookup."""
    languages = Counter(book.language for book in books).most_common()
    repositories = Counter(
        "standardebooks, one for each book" if book.set == "standard-ebooks" else book.repository
        for book in books
    )
    shown = [
        [one.id, f"{one.author}: {one.title}", other.id, f"{other.author}: {other.title}"]
        for one, other in false[:MOST_SHOWN]
    ]
    parts = [
        "# Public benchmark",
        "Made by `python -m bench benchmark OUT`; [how to repeat it](../guides/benchmark.md). Real books of "
        f"public repositories, {len(books):,} of the {in_manifest:,} in the manifest. Every two of one "
        f"language are compared: {rows[0].columns.size:,} pairs.",
        results(rows),
        _NOTES,
        f"## Strangers that the lookup calls copies: {len(false):,}",
        *([Table(["book", "", "another", ""], shown).to_markdown()] if shown else []),
        "## Books",
        f"By language: {', '.join(f'{name} {count:,}' for name, count in languages)}.",
        Table(["repository", "books"], sorted(repositories.items())).to_markdown(),
        f"SHA-256, the first sixteen digits: `{BOOKS.name}` `{digest(BOOKS)}`, `{PAIRS.name}` "
        f"`{digest(PAIRS)}`, all texts `{texts}`. Measured at commit {this_checkout().commit}.",
    ]
    return "\n\n".join(parts) + "\n"
