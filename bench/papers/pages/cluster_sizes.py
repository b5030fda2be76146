"""Sizes of clusters by the relations that join them (Spasojević and Poncin 2011, section V-C, figure 5)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.clusters.clustering import KINDS
from app.core.model import Metadata
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.core.warm_up import warm_up
from app.synthesis.library import synthetic_library
from bench.data.compared_books import corpus_metadata
from bench.harness.plot import Line, Plot, images
from bench.harness.report import Cell, Section, Table
from bench.papers.pages.found_relations import FoundRelation, clusters, found_relations, kinds_within
from bench.papers.pages.relations.measured_pairs import corpus

SEED = 29
WORKS, COPIES, CHARACTERS = 30, (0, 29), (30_000, 30_000)
"""Of the synthetic library: copies of each work beside the canonical book, and length."""

JOINED_BY: Mapping[str, Collection[str]] = {
    "SAME_PAGINATION": ("SAME_PAGINATION",),
    "DIFFERENT_PAGINATION": ("DIFFERENT_PAGINATION",),
    "any copy (`same_text`)": KINDS["same_text"],
    "any relation (`related`)": KINDS["related"],
}
"""The kinds of relations that join clusters; the last two are those of the service."""

RANGES = ((2, 2), (3, 5), (6, 10), (11, 20), (21, None))
"""Smallest and largest size of a row; Spasojević and Poncin (2011) tell of up to 10, and of 40 to 50."""


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """Books and the relations found between them."""

    name: str
    books: int
    relations: Sequence[FoundRelation]


def run(out_dir: Path) -> Section:
    """Cluster the corpus and a synthetic library; a minute."""
    warm_up()
    synthetic = list(synthetic_library(SEED, WORKS, COPIES, CHARACTERS))
    works = [book.work for book in synthetic]
    libraries = [
        Library(
            "corpus",
            len(corpus().books),
            found_relations([(sketch(book.content), corpus_metadata(book)) for book in corpus().books]),
        ),
        Library(
            "synthetic library",
            len(synthetic),
            found_relations(
                [
                    (sketch(content_from_pages(book.pages)), Metadata(title=book.title, year=book.year))
                    for book in synthetic
                ]
            ),
        ),
    ]
    return measure(out_dir, libraries, works)


def measure(out_dir: Path, libraries: Sequence[Library], works: Sequence[int]) -> Section:
    """Tables of both libraries and a plot of each; `works` are those of the books of the last one."""
    plots = {f"cluster_sizes_{each.name.replace(' ', '_')}.svg": _plot(each) for each in libraries}
    return Section(
        title="Spasojević and Poncin (2011): sizes of clusters by relation",
        command="python -m bench cluster_sizes",
        tables=[
            *(_sizes(each) for each in libraries),
            *(_mixture(each) for each in libraries),
            _recovered(libraries[-1], works),
        ],
        notes=[
            "Spasojević and Poncin (2011), figure 5. Books are joined by the relations that `shares-v1` "
            "finds between the candidates of the index. Among theirs, clusters of two are about 10 % of the "
            "number of books, clusters of up to ten are mostly of one pagination, and clusters of 40 to 50 "
            "are mixed. Neither library here is a sample of what libraries hold: the corpus was gathered for "
            "its copies, and the synthetic library "
            f"(`app/synthesis/library`, seed {SEED}: {WORKS} works of {CHARACTERS[0]:,} characters, "
            f"{COPIES[0]} to {COPIES[1]} copies of each) draws its sizes evenly, and page breaks anew for "
            "every copy, so that few pairs have one pagination, and those by chance. It shows whether sizes "
            "are found; the corpus, how small clusters are made up.",
            *images(out_dir, plots),
        ],
    )


def sizes(library: Library, kinds: Collection[str]) -> Counter[int]:
    """The number of clusters of each size, single books left out."""
    return Counter(map(len, clusters(library.relations, kinds)))


def _within(size: int, smallest: int, largest: int | None) -> bool:
    return smallest <= size and (largest is None or size <= largest)


def _named(smallest: int, largest: int | None) -> str:
    if smallest == largest:
        return str(smallest)
    return f"{smallest} or more" if largest is None else f"{smallest} to {largest}"


def _sizes(library: Library) -> Table:
    counts = {name: sizes(library, kinds) for name, kinds in JOINED_BY.items()}
    rows: list[list[Cell]] = [
        [
            _named(*limits),
            *(
                sum(count for size, count in each.items() if _within(size, *limits))
                for each in counts.values()
            ),
        ]
        for limits in RANGES
    ]
    rows.append(["largest", *(max(each, default=1) for each in counts.values())])
    pairs = (_share(each[2], library.books) for each in counts.values())
    rows.append(["clusters of two per 100 books", *pairs])
    rows.append(
        [
            "books in any, %",
            *(
                _share(sum(size * count for size, count in each.items()), library.books)
                for each in counts.values()
            ),
        ]
    )
    return Table(
        ["books in a cluster", *counts], rows, f"Clusters by size, {library.name}: {library.books:,} books"
    )


def _share(part: int, whole: int) -> float:
    return round(100 * part / max(whole, 1), 1)


def _mixture(library: Library) -> Table:
    """The relations within clusters of copies, by size."""
    kinds = sorted(KINDS["same_text"])
    found = [
        (each, kinds_within(each, library.relations))
        for each in clusters(library.relations, KINDS["same_text"])
    ]
    rows: list[list[Cell]] = []
    for limits in RANGES:
        chosen = [counts for each, counts in found if _within(len(each), *limits)]
        totals = [sum(counts.get(kind, 0) for counts in chosen) for kind in kinds]
        one = sum(max(counts, key=lambda kind: counts[kind]) == "SAME_PAGINATION" for counts in chosen)
        mixed = sum({"SAME_PAGINATION", "DIFFERENT_PAGINATION"} <= counts.keys() for counts in chosen)
        rows.append([_named(*limits), len(chosen), *totals, one, mixed])
    return Table(
        [
            "books in a cluster",
            "clusters",
            *(f"pairs {kind}" for kind in kinds),
            "mostly of one pagination",
            "of both",
        ],
        rows,
        f"Relations within clusters of copies, {library.name}",
    )


def _recovered(library: Library, works: Sequence[int]) -> Table:
    """Clusters of copies against the works that the books were made from."""
    true: dict[int, set[int]] = {}
    for book, work in enumerate(works):
        true.setdefault(work, set()).add(book)
    wanted = {frozenset(books) for books in true.values() if len(books) > 1}
    found = set(clusters(library.relations, KINDS["same_text"]))
    return Table(
        ["works with copies", "clusters found", "the same books in both", "books of works in clusters, %"],
        [
            [
                len(wanted),
                len(found),
                len(wanted & found),
                _share(sum(map(len, found)), sum(map(len, wanted))),
            ]
        ],
        f"Clusters of copies and the truth, {library.name}",
    )


def _plot(library: Library) -> Plot:
    lines = [
        Line(
            name.replace("`", ""),
            [(float(size), float(count)) for size, count in sorted(sizes(library, kinds).items())],
            joined=False,
        )
        for name, kinds in JOINED_BY.items()
    ]
    return Plot(f"Clusters by size, {library.name}", "books in a cluster", "clusters", lines, log_y=True)
