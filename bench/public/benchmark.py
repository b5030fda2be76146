"""`python -m bench benchmark OUT`: results of methods on the books fetched to OUT.

Each method decides for every pair of books of one language whether they are copies or share text. The page
docs/why/benchmark.md is made of the results. It contains no times, so a repetition changes only its commit.
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from itertools import combinations, compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kernel_cache import keep_kernels
from bench.harness.checkout import ROOT, processes
from bench.public.benchmark_page import STRANGERS, Row, column, page, results
from bench.public.manifest import Label, PublicBook, labels, public_books
from bookprint_core.model import Metadata
from bookprint_core.relations.relation import ComparedBook, relate
from bookprint_core.signatures.sketch import sketch
from research.identifiers.institutional_books import institutional_books
from research.identifiers.method import Method
from research.identifiers.methods_in_use import EqualBands, text_code_within
from research.identifiers.own_methods import long_identifier, verified
from research.identifiers.pair_figures import pair_scores

DOCUMENT = ROOT / "docs" / "why" / "benchmark.md"

LOOKUP = "Bookprint, lookup"
RELATION = "Bookprint, relation of what the lookup finds"
NO_RELATION = ("UNRELATED", "INSUFFICIENT_TEXT")


@cache
def compared() -> tuple[Method[Any], ...]:
    """Return the methods that compare signatures, in the order of the table."""
    return (
        verified(LOOKUP),
        long_identifier("Bookprint, identifier `bp2:`"),
        text_code_within("ISCC Text-Code, 128 bits", 128),
        text_code_within("ISCC Text-Code, 256 bits", 256),
        EqualBands("datasketch MinHashLSH, J ≥ .5", 0.5),
        EqualBands("datasketch MinHashLSH, J ≥ .7", 0.7),
        institutional_books("Institutional Books"),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SignedBook:
    """Signatures of a book."""

    signatures: Sequence[Any]  # by method; None without a signature
    relatable: ComparedBook
    text_sha256: bytes


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPairs:
    """All pairs of books of one language, language by language."""

    languages: Sequence[Sequence[int]]  # indices of the books of each language
    places: Sequence[tuple[int, int]]  # indices of the books of each pair
    columns: NDArray[np.str_]  # column of the table that counts each pair, (pairs,)


def main(
    arguments: Sequence[str],
    books: Sequence[PublicBook] | None = None,
    known: Mapping[frozenset[str], Label] | None = None,
) -> int:
    """Measure, and write the page; return 1 if no book was fetched."""
    parser = argparse.ArgumentParser(prog="python -m bench benchmark", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of `python -m bench fetch OUT`")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="the page to write")
    parser.add_argument("--processes", type=int, help="default one for each core")
    parser.add_argument(
        "--found",
        type=Path,
        metavar="FILE",
        help="CSV of ids in the columns a and b, which another method calls copies; only its row is printed",
    )
    options = parser.parse_args(arguments)
    every = public_books() if books is None else books
    there = [book for book in every if book.text_file(options.out).exists()]
    if not there:
        print(f"No book is in {options.out}. Run `python -m bench fetch {options.out}` first.")
        return 1
    pairs = labelled(there, labels() if known is None else known)
    everything = Row("all pairs", None, pairs.columns, "")
    if options.found:
        print(results([everything, _row_of_file(options.found, there, pairs)]))
        return 0
    keep_kernels()
    with processes(options.processes) as pool:
        signed = list(pool.map(partial(signed_book, out=options.out), there, chunksize=8))
    accepted = answers(signed, pairs)
    false = compress(pairs.places, accepted[LOOKUP] & (pairs.columns == STRANGERS))
    written = page(
        there,
        in_manifest=len(every),
        texts=sha256(b"".join(each.text_sha256 for each in signed)).hexdigest()[:16],
        rows=[everything, *_rows(signed, pairs, accepted)],
        false=[(there[one], there[other]) for one, other in false],
    )
    options.document.write_text(written, encoding="utf-8")
    print(f"Wrote {options.document}")
    return 0


def labelled(books: Sequence[PublicBook], known: Mapping[frozenset[str], Label]) -> LabelledPairs:
    """Return the compared pairs of these books with their columns."""
    languages = [
        [place for place, book in enumerate(books) if book.language == language]
        for language in sorted({book.language for book in books})
    ]
    places = [pair for of_one in languages for pair in combinations(of_one, 2)]
    columns = [column(known.get(frozenset((books[one].id, books[other].id)))) for one, other in places]
    return LabelledPairs(languages, places, np.array(columns, dtype=np.str_))


def signed_book(book: PublicBook, out: Path) -> SignedBook:
    """Return the signatures of a book fetched to `out`."""
    read = book.read(out)
    minhash = next(method for method in compared() if isinstance(method, EqualBands)).sign(read)
    made = sketch(read.content)
    return SignedBook(
        # One MinHash serves every threshold, because it is the slowest signature.
        [minhash if isinstance(method, EqualBands) else method.sign(read) for method in compared()],
        ComparedBook(made.pages, made.minhash, Metadata(title=read.title or None, year=read.year)),
        sha256(book.text_file(out).read_bytes()).digest(),
    )


def answers(signed: Sequence[SignedBook], pairs: LabelledPairs) -> dict[str, NDArray[np.bool_]]:
    """Return for each method whether it calls each pair copies, (pairs,)."""
    accepted: dict[str, NDArray[np.bool_]] = {}
    for number, method in enumerate(compared()):
        assert method.least is not None  # every rule is one in use, not fitted here
        signatures = [each.signatures[number] for each in signed]
        scores = [pair_scores(method, [signatures[place] for place in each]) for each in pairs.languages]
        accepted[method.name] = np.concatenate(scores) >= method.least
        print(f"{method.name}: {int(accepted[method.name].sum()):,} pairs", flush=True)
    accepted[RELATION] = accepted[LOOKUP].copy()
    for pair in np.flatnonzero(accepted[LOOKUP]).tolist():
        left, right = (signed[place].relatable for place in pairs.places[pair])
        accepted[RELATION][pair] = relate(left, right).classification.kind not in NO_RELATION
    return accepted


def _rows(
    signed: Sequence[SignedBook], pairs: LabelledPairs, accepted: Mapping[str, NDArray[np.bool_]]
) -> list[Row]:
    rows = []
    for number, method in enumerate(compared()):
        kept = [each.signatures[number] for each in signed if each.signatures[number] is not None]
        size = round(sum(map(method.size, kept)) / max(1, len(kept)))
        found = pairs.columns[accepted[method.name]]
        rows.append(Row(method.name, size, found, method.rule(method.least or 0)))
    pages = [each.relatable.pages for each in signed if each.relatable.pages is not None]
    size = round(sum(each.values.nbytes + each.lengths.nbytes for each in pages) / max(1, len(pages)))
    found = pairs.columns[accepted[RELATION]]
    rows.insert(1, Row(RELATION, (rows[0].bytes_kept or 0) + size, found, "a relation, page by page"))
    return rows


def _row_of_file(path: Path, books: Sequence[PublicBook], pairs: LabelledPairs) -> Row:
    with path.open(encoding="utf-8", newline="") as lines:
        found = {frozenset((row["a"], row["b"])) for row in csv.DictReader(lines)}
    accepted = [frozenset((books[one].id, books[other].id)) in found for one, other in pairs.places]
    return Row(path.name, None, pairs.columns[np.array(accepted, dtype=np.bool_)], "they are in the file")
