"""Signatures per second, from `str` to the last bit, of Bookprint and of alternative libraries.

All contenders sign one text of 600 KB (UTF-8) in one process on one core. They run in turn, so a change of
the machine's speed affects all of them. Bookprint computes all its signatures: fingerprint, 128 MinHash
values with the number of distinct shingles, signatures of 330 pages. The others compute only MinHash.
"""

import re
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import xxhash
from datasketch import MinHash
from gaoya.minhash import MinHashStringIndex
from rensa import RMinHash

from bench.harness.corpus import corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bookprint_core.model import PAGE_BREAK
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from bookprint_core.warm_up import warm_up

_BYTES, _PAGES, _ROUNDS = 600_000, 330, 7
_PEER_LANGUAGES = ("en", "fr", "de", "ru")


def run(out_dir: Path) -> Section:
    """Measure every contender on a book of each language of the corpus."""
    warm_up()
    texts = _texts()
    speeds: list[list[Cell]] = []
    for language, text in texts.items():
        [times] = _turns([partial(_sketch, text)])
        speeds.append([language, *_spread(_BYTES / seconds / 1e6 for seconds in times)])
    caption = f"All signatures of {_BYTES:,} bytes in {_PAGES} pages, median of {_ROUNDS} runs"
    peers = [_against_peers(name, texts[name]) for name in _PEER_LANGUAGES if name in texts]
    return Section(
        title="Signatures: megabytes per second and core",
        command="python -m bench signatures",
        tables=[Table(["language", "MB/s, median", "lowest", "highest"], speeds, caption), *peers],
        notes=[
            "datasketch and rensa get five-word shingles that plain Python cuts from the same `str`, as "
            "their users do; that is part of their time. gaoya takes the text and inserts into its index. "
            "Values differ from ours because shingle hashes do; `tests/core` holds our MinHash to that of "
            "datasketch bit for bit when both get the same hashes."
        ],
    )


def _texts() -> dict[str, str]:
    """Return for each language the first book that is long enough, else all books joined, cut into pages."""
    long: dict[str, str] = {}
    joined: dict[str, str] = {}
    for book in corpus_books(corpus_folder()):
        if len(book.text.encode()) >= _BYTES:
            long.setdefault(book.language, book.text)
        joined[book.language] = joined.get(book.language, "") + "\n" + book.text
    texts = {name: text.encode()[:_BYTES] for name, text in sorted((joined | long).items())}
    return {
        name: _paginated(text.decode(errors="ignore")) for name, text in texts.items() if len(text) == _BYTES
    }


def _paginated(text: str) -> str:
    size = -(-len(text) // _PAGES)
    return PAGE_BREAK.join(text[start : start + size] for start in range(0, len(text), size))


def _against_peers(language: str, text: str) -> Table:
    contenders: dict[str, Callable[[], object]] = {
        "Bookprint, all signatures": lambda: _sketch(text),
        "datasketch, SHA-1 (default), k = 128": lambda: _datasketch(text, None),
        "datasketch, xxh3, k = 128": lambda: _datasketch(text, xxhash.xxh3_64_intdigest),
        "rensa RMinHash, k = 128": lambda: _rensa(text),
        "gaoya, insert, k = 128": lambda: _gaoya(text),
    }
    turns = _turns(list(contenders.values()))
    rows: list[list[Cell]] = []
    for name, times in zip(contenders, turns, strict=True):
        ratios = _spread(peer / own for peer, own in zip(times, turns[0], strict=True))
        median = statistics.median(times)
        rows.append([name, round(1000 * median, 1), round(_BYTES / median / 1e6, 1), *ratios])
    headers = ["contender", "ms", "MB/s", "times our time, median", "lowest", "highest"]
    return Table(headers, rows, f"{language}: from the same `str`, CPU time, {_ROUNDS} turns")


def _turns(contenders: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Return the CPU seconds of each contender in each round, after one uncounted round."""
    times: list[list[float]] = [[] for _ in contenders]
    for turn in range(_ROUNDS + 1):
        for contender, own in zip(contenders, times, strict=True):
            started = time.process_time()
            contender()
            if turn:
                own.append(time.process_time() - started)
    return times


def _spread(values: Iterable[float]) -> list[Cell]:
    known = sorted(values)
    return [round(value, 1) for value in (statistics.median(known), known[0], known[-1])]


def _sketch(text: str) -> object:
    return sketch(content_from_text(text))


def _shingles(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[i : i + 5]) for i in range(len(words) - 4)]


def _datasketch(text: str, hashfunc: Callable[[bytes], int] | None) -> None:
    low32 = None if hashfunc is None else (lambda data: hashfunc(data) & 0xFFFFFFFF)
    MinHash(num_perm=128, hashfunc=low32).update_batch([shingle.encode() for shingle in _shingles(text)])


def _rensa(text: str) -> None:
    RMinHash(num_perm=128, seed=1).update(_shingles(text))


def _gaoya(text: str) -> None:
    index = MinHashStringIndex(
        hash_size=32, num_bands=32, band_size=4, analyzer="word", lowercase=True, ngram_range=(5, 5)
    )
    index.insert_document(1, text)
