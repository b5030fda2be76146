"""Distinction of issues of one form from copies: real pairs of public repositories, labelled by reading."""

import csv
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np

from app.synthesis.noise import corrupt_pages
from bench.data.labelled_pairs import book_span, labelled_pairs
from bench.harness.confusion import wilson
from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.public.repositories import Mirror, file_at
from bookprint_core.model import Metadata
from bookprint_core.relations.relation import ComparedBook, compare, relation_of
from bookprint_core.relations.revision import changed_lines
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages
from bookprint_core.warm_up import warm_up

LABELS = Path(__file__).parents[1] / "data" / "revised_pairs.csv"
RATES = (0.0, 0.02, 0.05, 0.1)
"""OCR errors per character on both sides."""

_FILLED, _PAGE = 70, 50
"""Columns of a line and lines of a page, for a file without pages."""
_LEAST_PAGE = 1_800
"""Minimum characters of a page that ends with an article or section."""

Books = tuple[list[str], list[str]]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Result of a pair."""

    half: str
    label: str
    clear: bool
    rate: float  # errors per character
    before: bool  # whether the relation without the texts is SAME_PAGINATION
    after: bool  # whether the relation with the texts is SAME_PAGINATION


def run(out_dir: Path) -> Section:
    """Relate the labelled pairs with and without their texts; takes three minutes of processor time."""
    if (folder := os.environ.get("BOOKPRINT_MIRROR")) is None:
        raise CannotMeasure("Set BOOKPRINT_MIRROR to a folder of git repositories, OWNER+NAME each.")
    warm_up()
    with LABELS.open(encoding="utf-8", newline="") as lines:
        pairs = list(csv.DictReader(lines))
    outcomes = [each for pair in pairs for each in _outcomes(pair, _books(pair, Mirror(Path(folder))))]
    outcomes += _scans()
    works = len({pair["work"] for pair in pairs})
    return Section(
        title="Issues of one form, and copies of one issue",
        command="python -m bench revised_relations",
        tables=[_counts(outcomes), _scores(outcomes)],
        notes=[
            f"{len(pairs)} pairs of {works} works: treaties with several states, ordinances of several "
            "trades, yearly ordinances, drafts and licences of several versions, a guidebook's editions. All "
            "but a few were chosen because they were called SAME_PAGINATION without their texts. One reader "
            "saw a sample of the places that differ. Works are divided between the halves; the rule was "
            "chosen on one and on the scans. Drafts have pages of their own; others were cut alike on both.",
            "Made copies are the left book of a pair, read twice with errors. Scans are the real "
            "copies of `real_relations` with pages, which are no yearly books. Metadata are left out.",
        ],
    )


def _books(pair: Mapping[str, str], mirror: Mirror) -> Books:
    left, right = (_pages(_text(pair, side, mirror), pair["pages"]) for side in ("left", "right"))
    return left, right


def _text(pair: Mapping[str, str], side: str, mirror: Mirror) -> str:
    commit, path = pair[f"{side}_commit"], pair[f"{side}_path"]
    data = file_at(mirror.git_folder(pair[side], commit), commit, path)
    if data is None or sha256(data).hexdigest() != pair[f"{side}_sha256"]:
        raise CannotMeasure(f"{pair[side]}: {path} is not there as it was labelled.")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\0", "")


def _pages(text: str, paging: str) -> list[str]:
    match paging:
        case "form feeds":
            return [page.strip("\n") for page in text.split("\f") if page.strip()]
        case "articles":
            body = re.sub(r"(?s)<meta>.*?</meta>", "", text).split("</article>")
            return _grouped([re.sub(r"\s+\n", "\n", re.sub(r"<[^>]+>", "", part)).strip() for part in body])
        case "sections":
            return _grouped(re.split(r"(?m)^(?=## )", text))
        case "filled lines":
            filled = [textwrap.wrap(" ".join(each.split()), _FILLED) for each in re.split(r"\n\s*\n", text)]
            return _cut([line for lines in filled for line in [*lines, ""]], _PAGE)
        case _:
            return _cut(text.split("\n"), int(paging.split()[0]))


def _grouped(parts: Sequence[str]) -> list[str]:
    pages = [""]
    for part in parts:
        pages[-1] += f"{part}\n"
        if len(pages[-1]) >= _LEAST_PAGE:
            pages.append("")
    return [page for page in pages if page.strip()]


def _cut(lines: Sequence[str], size: int) -> list[str]:
    return ["\n".join(lines[start : start + size]) for start in range(0, len(lines), size)]


def _outcomes(pair: Mapping[str, str], books: Books) -> Iterator[_Outcome]:
    left, right = books
    clear = pair["clear"] == "yes"
    for rate, (label, sides) in product(RATES, ((pair["label"], (left, right)), ("made copy", (left, left)))):
        if rate or label != "made copy":
            rng = np.random.default_rng(crc32(f"{pair['left_path']} {pair['right_path']} {label}".encode()))
            noisy = [corrupt_pages(side, rate, rng) if rate else side for side in sides]
            before, after = _judged(*noisy)
            yield _Outcome(pair["half"], label, clear or label == "made copy", rate, before, after)


def _judged(left: list[str], right: list[str]) -> tuple[bool, bool]:
    """Return whether two books have one pagination, without and with their texts."""
    contents = [content_from_pages([page.replace("\f", " ") for page in side]) for side in (left, right)]
    signed = [sketch(content) for content in contents]
    comparison = compare(*(ComparedBook(each.pages, each.minhash, Metadata()) for each in signed))
    shares = None
    if comparison.alignment is not None:
        shares = changed_lines(contents[0], contents[1], comparison.alignment)
    relations = [relation_of(comparison, Metadata(), Metadata(), share) for share in (None, shares)]
    before, after = (relation.classification.kind == "SAME_PAGINATION" for relation in relations)
    return before, after


def _scans() -> Iterator[_Outcome]:
    books = {book.id: book for book in corpus_books(corpus_folder())}
    for pair in labelled_pairs():
        sides = [book_span(side, books) for side in (pair.left, pair.right)]
        if pair.kind == "SAME_PAGINATION" and all(book.pages for book in sides):
            before, after = _judged(*(list(book.pages or ()) for book in sides))
            yield _Outcome("scans", "copy", pair.clear, 0.0, before, after)


def _counts(outcomes: Sequence[_Outcome]) -> Table:
    rows: list[list[Cell]] = []
    for half, label, rate in sorted({(each.half, each.label, each.rate) for each in outcomes}):
        of = [each for each in outcomes if (each.half, each.label, each.rate) == (half, label, rate)]
        clear = [each for each in of if each.clear]
        of_clear = f"{sum(each.after for each in clear)} of {len(clear)}"
        counts = [sum(each.before for each in of), sum(each.after for each in of)]
        rows.append([f"{half}, {label}, {rate:.0%} errors", len(of), *counts, of_clear])
    headers = ["pairs", "how many", "without the texts", "with them", "of clear labels"]
    return Table(headers, rows, "Pairs called SAME_PAGINATION")


def _scores(outcomes: Sequence[_Outcome]) -> Table:
    """Return precision and recall of SAME_PAGINATION, on pairs without made errors and with made copies."""
    rows: list[list[Cell]] = []
    apart = {"apart", "scans"}
    for name, halves, made, only_clear in (
        ("apart, scans", apart, False, False),
        ("apart, scans, clear labels", apart, False, True),
        ("apart, scans, made copies", apart, True, False),
        ("apart, scans, made copies, clear labels", apart, True, True),
        ("all, made copies", {*apart, "development"}, True, False),
    ):
        chosen = [
            each
            for each in outcomes
            if each.half in halves
            and (each.clear or not only_clear)
            and (not each.rate or (made and each.label == "made copy"))
        ]
        copies = [each for each in chosen if each.label != "revised"]
        row: list[Cell] = [name, len(copies), len(chosen) - len(copies)]
        for found, right in (
            (sum(each.before for each in chosen), sum(each.before for each in copies)),
            (sum(each.after for each in chosen), sum(each.after for each in copies)),
        ):
            row += [str(wilson(right / found, found)), str(wilson(right / len(copies), len(copies)))]
        rows.append(row)
    headers = [
        "pairs",
        "copies",
        "revised",
        "without the texts: P",
        "without: R",
        "with them: P",
        "with them: R",
    ]
    return Table(headers, rows, "SAME_PAGINATION, precision and recall in %, with Wilson 95 % intervals")
