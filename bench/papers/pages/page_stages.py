"""Processor time of the stages beside those of Spasojević and Poncin (2011, section VI).

Each stage of posting and relating runs over all books before the next begins, in one process with Postgres
and Valkey of its own. What they spend counts too.
"""

import asyncio
import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from app.core.clusters.clustering import KINDS, Edge
from app.core.matching.candidates import SelectionLimits, select_candidates
from app.core.matching.search import plan_related, proposed, related_entries
from app.core.model import Content, Metadata, PageSignatures
from app.core.recipe import DEFAULT_PAGES, Suite
from app.core.relations.alignment import align
from app.core.relations.relation import DEFAULT_CLASSIFIER, ComparedBook, Relation
from app.core.relations.shares_v1 import shares_v1
from app.core.relations.signals import measure as signals_of
from app.core.signatures.minhash import jaccard
from app.core.text.content import content_from_pages, content_from_text
from app.core.warm_up import warm_up
from app.embedded import EmbeddedServers
from app.services.signing import Extras, computed
from app.services.storing import new_book_id
from app.settings import Settings
from app.stores.postgres.audit import Actor
from app.stores.postgres.books import BookStore
from app.stores.postgres.candidates import CandidateStore, StoredSignatures
from app.stores.postgres.migrate import upgrade
from app.stores.postgres.relations import BookVersion, ComparedPair, RelationStore
from app.stores.postgres.texts import compress
from app.wiring import Stores, open_stores, services_on
from bench.harness.corpus import corpus_folder
from bench.harness.report import Cell, Section, Table
from bench.papers.pages.page_cluster_time import cluster_of
from bench.service.service_process import processor_seconds

PAPER_BOOKS = 15_000_000
PAPER_HOURS = {
    "reading the stored corpus": 11_275,
    "text features and MinHash": 1_428,
    "book similarity": 72,
    "page similarity": 11_047,
    "page-based book similarity, page matches of a pair": 1_633,
    "matches of a book, classification": 406,
    "clustering": 1,
}
"""Section VI: cpu-hours for more than 15 million books; the time of machines, an upper bound."""
STAGES = {
    "read": "reading the stored corpus",
    "sign": "text features and MinHash",
    "store book and text": None,
    "index": None,
    "find candidates": "book similarity",
    "read page signatures": None,
    "align pages": "page similarity",
    "measure signals": "page-based book similarity, page matches of a pair",
    "classify": "matches of a book, classification",
    "store relations, update clusters": None,
    "cluster all edges at once": "clustering",
}
"""Ours, in their order, and the paper's stage that does what is nearest to it."""
PAIR_STAGES = frozenset({"align pages", "measure signals", "classify"})


class Stopwatch:
    """Processor seconds of this process and its children, by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._children = psutil.Process().children()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is spent within as this stage."""
        children, own = self._of_children(), time.process_time()
        yield
        own = time.process_time() - own
        self.seconds[name] = own + self._of_children() - children

    def _of_children(self) -> float:
        return sum(processor_seconds(*self._children).values())


@dataclass(frozen=True, slots=True)
class Measured:
    """What the stages took, and over how much."""

    seconds: dict[str, float]  # processor seconds by stage
    books: int
    characters: int
    pages: int  # of the books that have pages
    pairs: int  # of books that were compared


@dataclass(frozen=True, slots=True)
class StoredPair:
    """Two stored books to compare, the older one left."""

    left: StoredSignatures
    right: StoredSignatures


def seconds_per_book(hours: float) -> float:
    """Processor seconds a book of the paper's hours."""
    return 3600 * hours / PAPER_BOOKS


def run(_: Path) -> Section:
    """Every book of the corpus; half a minute."""
    corpus = corpus_folder()
    warm_up()
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder) / "data") as servers:
        upgrade(servers.database_url)
        settings = Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
        measured = asyncio.run(through_stages(settings, corpus))
    return section(measured)


def section(measured: Measured) -> Section:
    """The two pipelines side by side."""
    rows: list[list[Cell]] = []
    for name, paper in STAGES.items():
        seconds = measured.seconds.get(name, 0.0)
        hours = None if paper is None else PAPER_HOURS[paper]
        published = "" if hours is None else f"{seconds_per_book(hours):.3g}"
        per_pair = f"{1000 * seconds / max(measured.pairs, 1):.3g}" if name in PAIR_STAGES else ""
        rows.append([name, f"{1000 * seconds / measured.books:.3g}", per_pair, paper or "", hours, published])
    ours = 1000 * sum(value for name, value in measured.seconds.items() if name != "read")
    theirs = sum(hours for name, hours in PAPER_HOURS.items() if name != STAGES["read"])
    total = f"{seconds_per_book(theirs):.3g}"
    rows.append(["all but reading", f"{ours / measured.books:.3g}", "", "all but reading", theirs, total])
    return Section(
        title="Spasojević and Poncin (2011): processor time by stage",
        command="python -m bench page_stages",
        tables=[
            Table(
                ["stage", "ms per book", "ms per pair", "the paper's stage", "cpu-hours", "s per book"],
                rows,
                f"Processor time of {measured.books:,} books and {measured.pairs:,} pairs "
                f"({measured.pairs / measured.books:.2f} per book), beside the paper's of 15 million books",
            )
        ],
        notes=[
            f"The corpus: {measured.characters / measured.books:,.0f} characters a book on the average, "
            f"{measured.pages:,} pages where pages are known, windows of 300 words elsewhere. Read is plain "
            "text: gzip, JSON and the check of the text; what files of other formats take is told by "
            "`python -m bench readers`. All processes count: Python, Postgres and Valkey.",
            "The paper prints cpu-hours for more than 15 million books of 330 pages, the time of machines "
            "with waits, an upper bound; seconds per book are those hours over 15 million. Of machines it "
            "says that they are typical of Google's, and it prints no pairs per book. Three stages grow with "
            "the pairs, so their ms per pair is what can be carried over. Its page similarity counts equal "
            "values of pages over the whole corpus; ours aligns two books. Its sum has the clustering, about "
            "an hour of one processor.",
        ],
    )


async def through_stages(settings: Settings, folder: Path) -> Measured:
    """What the stages take for every book in books.jsonl.gz of a folder, on empty servers."""
    watch = Stopwatch()
    with watch.stage("read"):
        books = list(_read(folder))
    async with open_stores(settings) as stores:
        await services_on(stores, settings).upkeep.catch_up()
        entry_ids = await _store(stores, watch, books)
        pairs = await _find_pairs(stores, watch, entry_ids)
        suite = (await stores.suites.current()).serving
        compared = compare(pairs, suite, watch)
        with watch.stage("store relations, update clusters"):
            for entry_id in entry_ids:
                own = [pair for pair in compared if pair.right.entry_id == entry_id]
                await RelationStore(stores.database).insert_search(entry_id, own, 0, {})
    edges = [
        Edge(pair.left.book_id, pair.right.book_id, pair.relation.classification.confidence)
        for pair in compared
        if pair.relation.classification.kind in KINDS["related"]
    ]
    with watch.stage("cluster all edges at once"):
        cluster_of(edges)
    return Measured(
        seconds=watch.seconds,
        books=len(books),
        characters=sum(len(content.text) for content, _ in books),
        pages=sum(content.page_count or 0 for content, _ in books),
        pairs=len(compared),
    )


def _read(folder: Path) -> Iterator[tuple[Content, Metadata]]:
    with gzip.open(folder / "books.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            book = json.loads(line)
            pages, metadata = book["pages"], Metadata(title=book["title"] or None, year=book["year"])
            yield content_from_pages(pages) if pages else content_from_text(book["text"]), metadata


async def _store(stores: Stores, watch: Stopwatch, books: Sequence[tuple[Content, Metadata]]) -> list[int]:
    """Sign books, store them with their texts and write them to the index, as posting does; their entries."""
    suites = await stores.suites.current()
    catalogue = BookStore(stores.database)
    with watch.stage("sign"):
        signed = [computed(content, suites, Extras()) for content, _ in books]
    entry_ids = []
    with watch.stage("store book and text"):
        for made, (content, metadata) in zip(signed, books, strict=True):
            kept = replace(made, compressed_text=compress(content.text))
            stored = await catalogue.insert(new_book_id(), metadata, kept, actor=Actor("command", "bench"))
            entry_ids.append(stored.book.entry_id)
    with watch.stage("index"):
        for made, entry_id in zip(signed, entry_ids, strict=True):
            versions = {suite: made.entry(entry_id, suite) for suite in suites.indexed}
            await stores.indexes.insert([versions], suites.serving)
            await stores.entries.update_indexed([entry_id])
    return entry_ids


async def _find_pairs(stores: Stores, watch: Stopwatch, entry_ids: Sequence[int]) -> list[StoredPair]:
    """Every book and its candidates, each pair once, with their signatures, as the jobs read them."""
    suite = (await stores.suites.current()).serving
    index, candidates = stores.indexes.of(suite), CandidateStore(stores.database)
    chosen: dict[int, list[int]] = {}
    with watch.stage("find candidates"):
        for entry_id in entry_ids:
            [summary] = await stores.entries.read_summaries([entry_id], suite)
            plan = plan_related(summary.entry, suite, index.flat_index.latest)
            others = related_entries(summary.entry, proposed(plan, await index.read(plan)), [])
            listed = await candidates.list_candidates(summary.book_id, entry_id, others, DEFAULT_CLASSIFIER)
            selection = select_candidates(listed, entry_id, SelectionLimits())
            chosen[entry_id] = [each.entry_id for each in selection.compared if each.entry_id < entry_id]
    pairs: list[StoredPair] = []
    with watch.stage("read page signatures"):
        for entry_id, others in chosen.items():
            wanted = [entry_id, *others]
            read = {
                each.entry_id: each
                for each in await candidates.read_signatures(wanted, suite.minhash, DEFAULT_PAGES)
            }
            pairs += [StoredPair(read[other], read[entry_id]) for other in others]
    return pairs


def compare(pairs: Sequence[StoredPair], suite: Suite, watch: Stopwatch) -> list[ComparedPair]:
    """The relations of pairs of books, as `relate` finds them, stage by stage."""
    sides = [
        tuple(each.candidate(suite.minhash, DEFAULT_PAGES) for each in (pair.left, pair.right))
        for pair in pairs
    ]
    with watch.stage("align pages"):
        alignments = [align(_pages(left), _pages(right)) for left, right in sides]
    with watch.stage("measure signals"):
        signals = [
            signals_of(alignment, _book_similarity(left, right))
            for alignment, (left, right) in zip(alignments, sides, strict=True)
        ]
    with watch.stage("classify"):
        verdicts = [
            (
                shares_v1(found, left.metadata, right.metadata),
                shares_v1(found.swapped(), right.metadata, left.metadata),
            )
            for found, (left, right) in zip(signals, sides, strict=True)
        ]
    return [
        ComparedPair(
            BookVersion(pair.left.book_id, pair.left.entry_id),
            BookVersion(pair.right.book_id, pair.right.entry_id),
            Relation(*verdict, DEFAULT_CLASSIFIER, found, alignment),
        )
        for pair, verdict, found, alignment in zip(pairs, verdicts, signals, alignments, strict=True)
    ]


def _pages(book: ComparedBook) -> PageSignatures:
    assert book.pages is not None  # every book of the corpus is signed with its pages or windows
    return book.pages


def _book_similarity(left: ComparedBook, right: ComparedBook) -> float:
    return jaccard(left.minhash, right.minhash) if left.minhash and right.minhash else 0.0
