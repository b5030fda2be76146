"""The pairs of real books that lookups return: all pairs of one language, counted by their labels.

Signatures are stored beside the texts, so a changed rule is judged in minutes. A new recipe needs new ones.
"""

import argparse
import csv
import gzip
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.harness.checkout import this_checkout
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.public.manifest import labels, public_books
from bookprint_core.index.records import EntryColumns
from bookprint_core.matching.verification import are_joined, evidence, is_accepted
from bookprint_core.model import PAGE_BREAK, Content, Metadata, Sketch
from bookprint_core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, minhash_recipe, page_recipe
from bookprint_core.signatures.shingles import shingles
from bookprint_core.signatures.sketch import sketch
from bookprint_core.signatures.table_codec import sketch_of
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from bookprint_corpus.block_join import BlockIndex, candidates_of_each
from bookprint_corpus.blocks import HashLists, SignatureBlock
from bookprint_corpus.sketches import written
from bookprint_readers.extraction import to_content
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

KEPT = "signatures.parquet"
UNLABELLED = ("no label, 3 % shared or more", "no label, under 3 % shared")
LEAST = 0.03  # share of the smaller text below which two books have nothing in common


@dataclass(frozen=True, slots=True)
class Books:
    """Books whose texts lie in a folder, and what is known of their pairs."""

    name: str
    folder: Path  # with texts/FILE
    languages: Mapping[str, str]  # of each file
    known: Mapping[frozenset[str], str]  # labels of pairs of files
    are_files: bool  # as readers take them, with pages; otherwise texts as the public benchmark has them

    def content(self, file: str) -> Content:
        data = (self.folder / "texts" / file).read_bytes()
        if self.are_files:
            return to_content(read_book(Source.of_bytes(data, Path(file).name)))
        return content_from_text(data.decode().replace(PAGE_BREAK, "\n"))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gathered", type=Path, metavar="DIR", help="OUT of gather.py of the strangers")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Judge every pair: one minute, and ten more if no signatures are stored."""
    sets = [*_strangers(options.gathered), *_public(options.data)]
    if not sets:
        raise CannotMeasure("Name --gathered DIR and BOOKPRINT_STRANGERS, or --data of `bench fetch`.")
    return Section(
        title=f"Real books of one language: pairs that lookups name, commit {this_checkout().commit}",
        command="python -m bench strangers --gathered DIR --data OUT",
        tables=[judged(each) for each in sets],
        notes=[
            "Accepted: by distances and samples (decision 38). Named: with places, too (decision 49). Labels "
            "were not proofread. Shared is what the other has of the smaller text's distinct shingles.",
        ],
    )


def _strangers(gathered: Path | None) -> Iterator[Books]:
    if gathered is not None and (folder := os.environ.get("BOOKPRINT_STRANGERS")):
        with gzip.open(Path(folder) / "manifest.csv.gz", "rt", encoding="utf-8", newline="") as lines:
            languages = {row["file"]: row["language"] for row in csv.DictReader(lines)}
        volumes = [file for file in languages if file.startswith("dingler/")]
        known = {frozenset(pair): "series" for pair in combinations(volumes, 2)}
        with (Path(folder) / "pairs.csv").open(encoding="utf-8", newline="") as lines:
            known |= {frozenset((row["a"], row["b"])): row["kind"] for row in csv.DictReader(lines)}
        yield Books("Open half of the strangers", gathered, languages, known, are_files=True)


def _public(fetched: Path | None) -> Iterator[Books]:
    if fetched is not None:
        known = {frozenset(f"{each}.txt" for each in pair): label.kind for pair, label in labels().items()}
        languages = {f"{book.id}.txt": book.language for book in public_books()}
        yield Books("Public benchmark", fetched, languages, known, are_files=False)


def judged(books: Books) -> Table:
    """Count the pairs of each label that the samples accept, and those that a lookup returns."""
    signatures = signed(books)
    pairs = Counter(label for pair, label in books.known.items() if pair <= signatures.keys())
    accepted, named, together = Counter[str](), Counter[str](), 0
    for language in set(books.languages.values()):
        files = [file for file in signatures if books.languages[file] == language]
        together += len(files) * (len(files) - 1) // 2
        for pair in candidate_pairs([signatures[file] for file in files]):
            one, other = (files[place] for place in pair)
            found = evidence(signatures[one], signatures[other])
            if not is_accepted(found):
                continue
            known = books.known.get(frozenset((one, other)))
            label = known or UNLABELLED[_share(books.content(one), books.content(other)) < LEAST]
            accepted[label] += 1
            named[label] += are_joined(found)
    every = sorted({*pairs, *accepted, *UNLABELLED})
    rows: list[list[Cell]] = [[each, pairs[each] or None, accepted[each], named[each]] for each in every]
    rows.append(["all", together, accepted.total(), named.total()])
    caption = f"{books.name}: {len(signatures):,} of {len(books.languages):,} books"
    return Table(["label", "pairs", "accepted", "named"], rows, caption)


def signed(books: Books) -> dict[str, Sketch]:
    """Return the signatures of each book with a text, from the stored table or computed and stored."""
    kept = books.folder / KEPT
    if not kept.exists():
        with written(kept) as table:
            for file in filter(lambda file: (books.folder / "texts" / file).exists(), books.languages):
                table.add(file, Metadata(), sketch(books.content(file)), pages=False)
    return {row["place"]: sketch_of(row) for row in pq.read_table(kept).to_pylist()}


def candidate_pairs(sketches: Sequence[Sketch]) -> Iterator[tuple[int, int]]:
    """Yield the places of each two books that are compared."""
    columns = EntryColumns.empty(np.arange(len(sketches), dtype=np.uint64))
    hashes = [np.empty(0, dtype=np.uint64)] * len(sketches)
    for place, each in enumerate(sketches):
        if each.fingerprint is not None:
            columns.bits[place] = np.frombuffer(each.fingerprint.bits, dtype=np.uint8)
            columns.signed[place] = True
        if each.sample is not None:
            columns.levels[place], hashes[place] = each.sample.level, each.sample.hashes
    lists = HashLists(np.concatenate(hashes), np.cumsum([each.size for each in hashes]))
    block = SignatureBlock(columns, lists)
    for found in candidates_of_each(block, BlockIndex.of(block), len(sketches)):
        once = found.books < found.others
        yield from zip(found.books[once].tolist(), found.others[once].tolist(), strict=True)


def _share(one: Content, other: Content) -> float:
    """Return the share of the smaller text's distinct shingles that the other text contains."""
    recipes = minhash_recipe(DEFAULT_MINHASH), page_recipe(DEFAULT_PAGES)
    left, right = (np.unique(shingles(normalise(each), *recipes).hashes) for each in (one, other))
    return np.intersect1d(left, right, assume_unique=True).size / max(1, min(left.size, right.size))
