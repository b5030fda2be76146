"""The page docs/why/benchmark.md: which books and labels, and what each method found."""

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
"""Pairs of strangers that the page names."""

_NOTES = """\
- **same work, by collectors**: versions of one book of OpenITI, whose editors name each file by its book. The
  texts had no say in it: some are other volumes or recensions, and no method by text can find all.
- **by source notes**: the editors of Standard Ebooks, or of ELTeC, name the text of Project Gutenberg that
  they took, by its number or title. "Contains" is a collection, or a book that was taken from one; of some
  texts a collection has a few stories alone. Standard Ebooks mends spelling and typography, and adds no text.
  These pairs came after Bookprint's rule. Two of these Standard Ebooks, and other copies of some of these
  works, were among the books that it was chosen on.
- **same work, contains, overlaps**: by equal shingles of five words, in Japanese of eight characters (.3 of
  the smaller book or a Jaccard similarity of .15), by lengths and titles. These labels were not proofread,
  and they flatter methods that compare shingles: Bookprint's and datasketch's.
- **strangers**: pairs of one language that share less than .03 of the smaller book. **paratext**: short plays
  and conversations with one royal privilege or preface: all pairs of a few dozen texts, so they weigh more
  in the precision than they would in a library. **serial**: volumes of one journal.
- Pairs that share .03 to .3 of the smaller book, or a title and no text, count neither way.

Precision is the share of related pairs among those that a method calls copies. Recall is the share of the
related pairs that it calls so. Both depend on which pairs are here, and these are no sample of a library.

Bookprint's rule was chosen on other real books, some of them of the same works, and that by places on the
pairs called paratext. Whoever changes it looks at these pairs, too. So its rows look better than they would
elsewhere. The other rules are those that their authors or users take, at first try. Users of datasketch
often verify what it finds. Institutional Books wants no errors rather than all copies; that rule is our
implementation. ISCC codes are those of `iscc-lib`, within the distance that its search server takes.
MinHashLSH has shingles of five words (`\\w+`, lower case) and 128 permutations, and calls copies what shares
a band.

RETSim (`unisim` 1.0.1, at first try) was measured apart: all these books would take it hours, and its
floating point can differ between processors. 100 Standard Ebooks were drawn (seed 20261125), with the texts
that they name: 247 books. The vectors of the first eight chunks of 512 characters were averaged, 1,024 bytes
a book, and a cosine of .9, the library's default, called copies. By source notes it found 48 of 85 that are
the same work and 7 of 63 that are contained; of 30,097 strangers none."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a method called copies."""

    name: str
    bytes_kept: int | None  # of a book, the mean
    columns: NDArray[np.str_]  # of each pair that it called copies
    rule: str  # in words; empty where all pairs are counted

    def cells(self, wanted: int) -> list[Cell]:
        """The row of the table; `wanted` is how many pairs are to be found."""
        counts = Counter(self.columns.tolist())
        found, false = (sum(counts[name] for name in names) for names in (FOUND, FALSE))
        shares = [f"{found / max(1, of):.1%}" if self.rule else None for of in (found + false, wanted)]
        columns = [counts[name] for name in (*FOUND, *FALSE)]
        return [self.name, self.bytes_kept, found, false, *shares, *columns, self.rule]


def column(label: Label | None) -> str:
    """The column that counts a pair; "unclear" is none."""
    if label is None:
        return STRANGERS
    kind = label.kind.replace("_", " ")
    named = kind + _WHO_SAYS[label.basis]
    return named if named in FOUND else kind


def results(rows: Sequence[Row]) -> str:
    """The table in Markdown; the first row holds all pairs."""
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
    """The page; `texts` is the digest of all texts, `false` the strangers that the lookup called copies."""
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
