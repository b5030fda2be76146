"""Checks of lists: what a thousand rows are answered, how fast, and what foreign identifiers are found by."""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import httpx
import numpy as np
import orjson

from app.core.model import Fingerprint, MinHashBits
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from app.core.signatures.identifier import Identifier, decode, written
from app.services.checks import CheckVerdict
from bench.data.checked_rows import ERRORS, Compared, Row, identifier_of, made_rows, shelves, strangers
from bench.data.fingerprint_model import LibraryModel
from bench.data.misreading import misread
from bench.harness.corpus import corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import post, running

SEED = 33
_BOOKS, _ROWS = 10_000, 1_000
_FOREIGN, _TEXTS = 100_000, 1_000
_TEXT_CHARACTERS = 60_000
_LINES = {"Content-Type": "application/x-ndjson"}
_LINES_TOGETHER = 500

_BY_TEXT = frozenset({"text", "noisy text"})
_BY_NUMBER = frozenset({"bp1", "bp2", "noisy bp2", "isbn", "short isbn"})


@dataclass(slots=True)
class Score:
    """The answers to rows, by the kind of row."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    truths: dict[str, CheckVerdict] = field(default_factory=dict)
    right_haves: int = 0  # of the right book, where it is had
    haves: int = 0
    wanted: Counter[str] = field(default_factory=Counter)  # rows by text, and by number, that are had
    found: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # kinds of rows of which a book was said to be had

    def add(self, row: Row, answer: Mapping[str, Any], ids: Mapping[str, str]) -> None:
        """Count the answer to a row; `ids` are those of the service by those of the corpus."""
        kind = f"{row.kind}, {'held' if row.book else 'absent'}"
        verdict = str(answer.get("verdict", answer.get("status")))
        self.verdicts.setdefault(kind, Counter())[verdict] += 1
        self.truths[kind] = row.truth
        first = answer["items"][0]["book_id"] if answer.get("items") else None
        is_right = verdict == row.truth == "have" and first == ids.get(row.book or "")
        self.haves += verdict == "have"
        self.right_haves += is_right
        if verdict == "have" and not is_right:
            self.wrong.append(kind)
        if row.truth == "have":
            given = "text" if row.kind in _BY_TEXT else "identifier"
            self.wanted[given] += 1
            self.found[given] += is_right

    def rows(self) -> Iterator[list[Cell]]:
        """A row for each kind: the truth, and how often each verdict was given."""
        for kind, counts in sorted(self.verdicts.items()):
            yield [kind, self.truths[kind], *(counts[each] for each in get_args(CheckVerdict))]


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("options of checks")
    group.add_argument("--rows", type=int, help=f"rows to check; {_ROWS:,}")
    group.add_argument("--foreign", type=int, help=f"foreign identifiers; {_FOREIGN:,}")
    group.add_argument("--texts", type=int, help=f"texts that look for them; {_TEXTS:,}")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """A library of real books and identifiers, and lists that are checked; half an hour."""
    books, rows = options.books or _BOOKS, options.rows or _ROWS
    foreign, texts = options.foreign or _FOREIGN, options.texts or _TEXTS
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "checks", "--workers", "1") as service,
        service.client() as client,
    ):
        checked = _checked(client, books, rows)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "foreign", "--workers", "1") as service,
        service.client() as client,
    ):
        found = _foreign(client, foreign, texts)
    return Section(
        title="Checks of lists",
        command="python -m bench checks",
        tables=[*checked, found],
        notes=[
            f"Texts are badly read at {ERRORS:.0%} of their characters where they are called noisy. An "
            "edition has the same text with other page breaks; identifiers do not tell one from the other, "
            "and no row asks them to. The library is filled with identifiers of other real books; those that "
            "may be the same as one of the corpus are left out."
        ],
    )


def _checked(client: httpx.Client, size: int, count: int) -> list[Table]:
    folder = corpus_folder()
    shelf = shelves(list(corpus_books(folder)), corpus_pairs(folder))
    held = [each for each in shelf if each.is_held]
    ids = {}
    for each in held:
        content = {"pages": each.book.pages} if each.book.pages else {"text": each.book.text}
        ids[each.book.id] = post(client, orjson.dumps(content | each.metadata))["id"]
    _send(client, "/v1/books:bulk", strangers(size - len(held), shelf))
    rows = made_rows(shelf, count, SEED)
    score = Score()
    for row, answer in zip(rows, _send(client, "/v1/checks", (row.body for row in rows)), strict=True):
        score.add(row, answer, ids)
    verdicts = Table(
        ["row", "truth", *get_args(CheckVerdict)],
        list(score.rows()),
        f"Verdicts in a library of {size:,} books",
    )
    recalls: list[list[Cell]] = [
        [f"recall of `have` by {by}", score.found[by] / wanted] for by, wanted in score.wanted.items()
    ]
    totals: list[list[Cell]] = [
        ["precision of `have`", score.right_haves / max(score.haves, 1)],
        *recalls,
        ["rows a second by identifier", _rate(client, [row.body for row in rows if row.kind in _BY_NUMBER])],
        ["rows a second by text", _rate(client, [row.body for row in rows if row.kind in _BY_TEXT])],
        ["lookups a second of the same texts", _lookups_rate(client, rows)],
        ["wrongly had", ", ".join(sorted(set(score.wrong))) or "none"],
    ]
    return [verdicts, Table(["figure", "value"], totals, "Figures of these rows")]


def _send(client: httpx.Client, path: str, documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The answers to documents that are sent as lines; raises where one has failed for good."""
    answers: list[dict[str, Any]] = []
    waiting = iter(documents)
    while some := list(islice(waiting, _LINES_TOGETHER)):
        body = b"\n".join(map(orjson.dumps, some))
        response = client.post(path, content=body, headers=_LINES, timeout=600)
        response.raise_for_status()
        answers += map(orjson.loads, response.content.splitlines())
    return answers


def _rate(client: httpx.Client, bodies: Sequence[Mapping[str, Any]]) -> float:
    started = time.perf_counter()
    _send(client, "/v1/checks", bodies)
    return round(len(bodies) / (time.perf_counter() - started), 1)


def _lookups_rate(client: httpx.Client, rows: Sequence[Row]) -> float:
    bodies = [orjson.dumps(row.body) for row in rows if row.kind in _BY_TEXT]
    started = time.perf_counter()
    for body in bodies:
        headers = {"Content-Type": "application/json"}
        client.post("/v1/lookups", content=body, headers=headers).raise_for_status()
    return round(len(bodies) / (time.perf_counter() - started), 1)


def _foreign(client: httpx.Client, size: int, count: int) -> Table:
    """Foreign identifiers of which texts are looked for; what `compare` calls the same is to be found."""
    rng = np.random.default_rng(SEED)
    texts = _texts(count)
    known = [*map(identifier_of, texts), *_made(size - len(texts), rng)]
    bodies = [{"identifier": written(each), "external_id": f"foreign-{at}"} for at, each in enumerate(known)]
    places = {answer["id"]: at for at, answer in enumerate(_send(client, "/v1/books:bulk", bodies))}
    compared = Compared.of([decode(body["identifier"]) for body in bodies])
    own = right = missed = more = 0
    for at, text in enumerate(texts):
        noisy = misread(text, ERRORS, rng)
        answer = client.post("/v1/lookups", json={"text": noisy}, params={"limit": 1_000})
        answer.raise_for_status()
        found = {places[item["id"]] for item in answer.json()["items"]}
        same = compared.same(identifier_of(noisy))
        own, right = own + (at in found), right + len(found & same)
        missed, more = missed + len(same - found), more + len(found - same)
    columns = ["identifiers", "texts", "found their own", "found as compared", "missed", "claimed beyond it"]
    cells: list[Cell] = [size, count, own, right, missed, more]
    return Table(columns, [cells], "Foreign identifiers found by badly read texts")


def _texts(count: int) -> list[str]:
    """Parts of the corpus's books, of which none shares text with another."""
    parts: list[str] = []
    for book in corpus_books(corpus_folder()):
        ends = range(_TEXT_CHARACTERS, len(book.text) + 1, _TEXT_CHARACTERS)
        parts += [book.text[end - _TEXT_CHARACTERS : end] for end in ends]
    step = max(1, len(parts) // count)
    return parts[::step][:count]


def _made(count: int, rng: np.random.Generator) -> Iterator[Identifier]:
    """Identifiers of made books, as far apart as those of a real library."""
    drawn = LibraryModel.load().draw(rng, count)
    for bits, shingles in zip(drawn.fingerprints, drawn.shingle_counts.tolist(), strict=True):
        shingles = max(1_000, round(shingles))
        minhash = MinHashBits(DEFAULT_MINHASH, rng.bytes(16), shingles)
        yield Identifier(Fingerprint(DEFAULT_FINGERPRINT, bits.tobytes()), round(1.02 * shingles), minhash)
