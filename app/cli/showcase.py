"""The parts of the demo: near-duplicates, relations, an exact lookup, two recipes compared, a request."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.output import drawn_table
from app.core.model import Fingerprint
from bookprint_client import Client, calls

if TYPE_CHECKING:
    from app.synthesis.library import SyntheticBook

_SHOWN_WORKS = 4
_RADIUS = 20
"""The d of the exact lookup: beyond what one or two bit flips a band could answer at d = 7 or 15."""

_TF = "tf-simhash128-v1"


class Library:
    """The synthetic books, and the service's answer to each post; both by the books' own names."""

    def __init__(self, books: "Mapping[str, SyntheticBook]", posted: Mapping[str, Mapping[str, Any]]) -> None:
        self.books = books
        self.posted = posted
        self._names = {answer["id"]: name for name, answer in posted.items()}

    def copies(self, name: str) -> set[str]:
        """The other books of the same work: those that a lookup should find."""
        work = self.books[name].work
        return {other for other, book in self.books.items() if book.work == work and other != name}

    def name(self, item: Mapping[str, Any]) -> str | None:
        """The name of a book in an answer; None if it is not one of other_name."""
        return self._names.get(item["id"])

    def fingerprint(self, name: str) -> Fingerprint:
        """The fingerprint that the service computed."""
        answer = self.posted[name]["fingerprint"]
        return Fingerprint(answer["recipe"], bytes.fromhex(answer["hex"]))


def show_near_duplicates(service: Client, library: Library, console: Console) -> None:
    """Ask for the near-duplicates of every book, print some, and count all against the truth."""
    answers: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, answer in library.posted.items():
        items = service.items(calls.near_duplicates(answer["id"], limit=1000))
        answers[name] = {other_name: item for item in items if (other_name := library.name(item)) is not None}
    table = drawn_table(
        ("near-duplicates found", "distance", "jaccard", "OCR errors", "edited"),
        (),
        wide="near-duplicates found",
        right=("distance", "jaccard", "OCR errors", "edited"),
    )
    for name in _first_editions(library)[:_SHOWN_WORKS]:
        _add_work(table, library, name, answers[name])
    console.print(table, soft_wrap=False)
    wanted = {(name, other) for name in library.books for other in library.copies(name)}
    answered = {(name, other) for name, others in answers.items() for other in others}
    console.print(
        f"Asked for the near-duplicates of all {len(library.books):,} books, the service found "
        f"{len(wanted & answered):,} of {len(wanted):,}, and {len(answered - wanted):,} that are none.\n"
    )


def _first_editions(library: Library) -> list[str]:
    return [name for name, book in library.books.items() if name.endswith("-c00") and library.copies(name)]


def _add_work(table: Table, library: Library, name: str, items: Mapping[str, Mapping[str, Any]]) -> None:
    table.add_row(Text(library.books[name].title, style="bold"))
    for other, item in items.items():
        book = library.books[other]
        warning = Text(" not a copy", style="red") if other not in library.copies(name) else Text()
        table.add_row(
            Text.assemble(f"  {_version(other)}", warning),
            str(item["distance"]),
            f"{item['jaccard']:.2f}",
            f"{book.error_rate:.1%}",
            f"{book.edited:.1%}",
        )
    for other in sorted(library.copies(name) - set(items)):
        table.add_row(Text(f"  {_version(other)} not found", style="red"))
    table.add_section()


def _version(name: str) -> str:
    return f"copy {int(name[-2:])}" if not name.endswith("-c00") else "the original"


def show_relations(service: Client, library: Library, console: Console) -> None:
    """Print how the versions of one book are related to it, as the workers found."""
    name = _first_editions(library)[0]
    columns = ("relations", "kind", "confidence", "why")
    with console.status("Waiting for the workers to compare pages …"):
        answer = service.send(calls.list_relations(library.posted[name]["id"], wait=60))
    rows = []
    for item in answer["items"]:
        pair = service.send(calls.read_relation(library.posted[name]["id"], item["book_id"]))
        other = library.name({"id": item["book_id"]})
        label = "another book" if other is None else _version(other)
        rows.append((label, str(item["kind"]), f"{item['confidence']:.2f}", pair["because"] or ""))
    console.print(drawn_table(columns, rows, wide="why", right=("confidence",)), soft_wrap=False)
    left = f"; {answer['pending']} comparisons are still to come" if answer["pending"] else ""
    console.print(f"“{library.books[name].title}” page by page, from the background workers{left}.\n")


def show_exact_lookup(service: Client, library: Library, console: Console) -> None:
    """Ask for every book within `_RADIUS` bits, and compare the answer with brute force."""
    name = max(_first_editions(library), key=lambda each: len(library.copies(each)))
    question = calls.near_duplicates(library.posted[name]["id"], d=_RADIUS, limit=1000)
    service.send(question)
    started = time.perf_counter()
    answer = service.send(question)
    milliseconds = (time.perf_counter() - started) * 1e3
    answered = {other_name for item in answer["items"] if (other_name := library.name(item)) is not None}
    own = library.fingerprint(name)
    brute = {
        other
        for other in library.books
        if other != name and (_bits(own) ^ _bits(library.fingerprint(other))).bit_count() <= _RADIUS
    }
    verdict = "the same" if answered == brute else f"others: {', '.join(sorted(answered ^ brute))}"
    console.print(
        f"Exact lookup: {len(answered)} books within {_RADIUS} of 128 bits of “{library.books[name].title}”, "
        f"in {milliseconds:.1f} ms; comparing all {len(library.books):,} one by one finds {verdict}.\n"
    )


def _bits(fingerprint: Fingerprint) -> int:
    return int.from_bytes(fingerprint.bits, "big")


def show_evaluation(library: Library, seed: int, console: Console) -> None:
    """Compare the default fingerprint with plain term frequency, each at its own best threshold."""
    from app.core.recipe import fingerprint_recipe
    from app.core.signatures.simhash import simhash
    from app.core.text.content import content_from_pages
    from app.core.text.normal_form import normalise

    recipe = fingerprint_recipe(_TF)
    plain = [simhash(normalise(content_from_pages(book.pages)), recipe) for book in library.books.values()]
    served = [library.fingerprint(name) for name in library.books]
    works = [book.work for book in library.books.values()]
    rows: list[Sequence[str]] = []
    for label, fingerprints in ((served[0].recipe, served), (_TF, plain)):
        fit = best_threshold([each for each in fingerprints if each is not None], works)
        figures = (f"{fit.f1:.3f}", f"{fit.precision:.3f}", f"{fit.recall:.3f}", str(fit.d))
        rows.append((label, *figures, f"{fit.unrelated_median:g} bits"))
    columns = ("fingerprint alone", "F1", "precision", "recall", "at d", "unrelated")
    console.print(drawn_table(columns, rows, wide=columns[0], right=columns[1:]), soft_wrap=False)
    pairs = len(works) * (len(works) - 1) // 2
    console.print(
        f"{len(works):,} books of {len(set(works)):,} works, seed {seed}, {pairs:,} pairs; each recipe at "
        "its best d; unrelated: median distance of books of different works.\n"
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """The threshold with the best F1: pairs at a Hamming distance <= d are called near-duplicates."""

    d: int  # 0 to 128
    precision: float  # 0 to 1
    recall: float  # 0 to 1
    unrelated_median: float  # bits between two books of different works

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def best_threshold(fingerprints: Sequence[Fingerprint], works: Sequence[int]) -> Fit:
    """The best threshold over all pairs; books of one work are near-duplicates, all others are not.

    Needs at least one pair of each sort, and 128-bit fingerprints of one recipe.
    """
    bits = np.array([np.frombuffer(each.bits, dtype=np.uint64) for each in fingerprints])
    left, right = np.triu_indices(len(bits), k=1)
    distances = np.bitwise_count(bits[left] ^ bits[right]).sum(axis=1)
    same = np.asarray(works)[left] == np.asarray(works)[right]
    true = np.cumsum(np.bincount(distances[same], minlength=129))
    false = np.cumsum(np.bincount(distances[~same], minlength=129))
    f1 = 2 * true / (true + false + true[-1])
    d = int(np.argmax(f1))
    return Fit(
        d=d,
        precision=float(true[d] / (true[d] + false[d])),
        recall=float(true[d] / true[-1]),
        unrelated_median=float(np.median(distances[~same])),
    )


def show_request(service: Client, library: Library, console: Console) -> None:
    """Print a request as a client would make it, and the beginning of the answer."""
    name = _first_editions(library)[0]
    question = calls.near_duplicates(library.posted[name]["id"], d=_RADIUS, limit=1)
    answer = service.send(question)
    console.print("What a client sends and gets (with --keep the service stays up for you to try):")
    request = f"$ curl '{service.url}{question.path}?d={_RADIUS}&limit=1'"
    console.print(Text(request, style="bold"), soft_wrap=True)
    console.print(json.dumps(answer, indent=2, ensure_ascii=False), soft_wrap=True)
    console.print()
