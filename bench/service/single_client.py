"""The service as its clients meet it: start, posts and lookups over HTTP, and what a post costs the machine.

`bookprint serve` runs in processes of its own. The processor time of a post is that of all of them together
(API, worker, Postgres, Valkey). It is read before and after the posts, the background work awaited. Beside
it, in the same run, stands the time that datasketch takes for its MinHash signature of the same texts.
"""

import http.client
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import orjson
import psutil
from datasketch import MinHash

from app.core.model import Sketch
from app.core.signatures.json_codec import encode
from app.core.signatures.simhash import hamming
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from app.synthesis.library import synthetic_library
from bench.harness.report import Cell, Section, Table
from bench.service.service_process import Address, post, processor_seconds, running

_SEED = 11
_BOOK_CHARACTERS = 600_000
_BOOKS_POSTED = 25
_LIBRARY = 3_000
_TEXTS = 1_000
_SETTLING_SECONDS = 8.0
_LOOKUPS = 300
_DISTANCES = (0, 3, 7, 10, 15, 20, 23, 28, 40)
_QUERIES_PER_DISTANCE = 60


def run(out_dir: Path) -> Section:
    """Start the service twice, post large books, fill a library of 3,000 and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        with running(data_dir) as service:
            first_start = service.start_seconds
        with running(data_dir) as service, service.client() as client:
            second_start = service.start_seconds
            large = _large_books()
            posts, cost = _post_large(client, service.process, large)
            peer = [_datasketch_seconds(text) for text in large]
            hexes = _fill(client)
            lookups = _look_up(service.address, list(hexes))
            exactness = _against_brute_force(client, hexes)
    return Section(
        title="The service: start, posts and lookups over HTTP",
        command="python -m bench single_client",
        tables=[
            Table(
                ["", "median", "lowest", "highest"],
                [
                    ["start to ready, first time, s", first_start, None, None],
                    ["start to ready, second time, s", second_start, None, None],
                    [f"POST of a book of {_BOOK_CHARACTERS:,} characters, ms", *_spread(posts)],
                    *lookups,
                ],
                f"One client, {_BOOKS_POSTED} posts; {_LOOKUPS} lookups among {len(hexes):,} books",
            ),
            Table(
                ["processor time per posted book", "ms"],
                [
                    ["Bookprint: API, worker, Postgres, Valkey, background included", 1000 * cost],
                    [
                        "datasketch: its k = 100 signature alone, from the same text",
                        1000 * statistics.median(peer),
                    ],
                    ["share", cost / statistics.median(peer)],
                ],
            ),
            exactness,
        ],
        notes=[
            f"Books are synthetic (seed {_SEED}). The library holds {_TEXTS:,} short texts of 8,000 "
            "characters, and books posted as signatures, 0 to 45 bits from a text. Brute force compares "
            "the fingerprints that the service itself returned."
        ],
    )


def _large_books() -> list[str]:
    size = (_BOOK_CHARACTERS, _BOOK_CHARACTERS)
    return [
        book.text for book in synthetic_library(_SEED, works=_BOOKS_POSTED, copies=(0, 0), characters=size)
    ]


def _post_large(
    client: httpx.Client, service: psutil.Process, texts: Sequence[str]
) -> tuple[list[float], float]:
    """Seconds of each post, and processor seconds per post of the whole service."""
    bodies = [orjson.dumps({"text": text}) for text in texts]
    post(client, orjson.dumps({"text": texts[0][:50_000]}))
    time.sleep(_SETTLING_SECONDS)
    idle_before = sum(processor_seconds(service).values())
    time.sleep(_SETTLING_SECONDS)
    before = sum(processor_seconds(service).values())
    started = time.perf_counter()
    seconds = []
    for body in bodies:
        began = time.perf_counter()
        post(client, body)
        seconds.append(time.perf_counter() - began)
    time.sleep(_SETTLING_SECONDS)
    # What the service spends anyway, posts or none, is not the posts' cost.
    idle = (before - idle_before) / _SETTLING_SECONDS * (time.perf_counter() - started)
    spent = sum(processor_seconds(service).values()) - before - idle
    return seconds, spent / len(texts)


def _datasketch_seconds(text: str) -> float:
    started = time.process_time()
    words = re.findall(r"\w+", text.lower())
    MinHash(num_perm=100).update_batch([" ".join(words[i : i + 5]).encode() for i in range(len(words) - 4)])
    return time.process_time() - started


def _fill(client: httpx.Client) -> dict[str, str]:
    """Post a third of the library as texts and the rest as signatures; the fingerprints returned, by book id.

    The fingerprint of a book of signatures lies 0 to 45 bits from that of a text, so that every distance has
    neighbours to find.
    """
    rng = np.random.default_rng(_SEED)
    hexes: dict[str, str] = {}
    for book in synthetic_library(_SEED + 1, works=_TEXTS, copies=(0, 0), characters=(8_000, 8_000)):
        bodies: list[dict[str, object]] = [{"text": book.text}]
        known = sketch(content_from_text(book.text))
        bodies += [{"signatures": encode(_near(known, rng))} for _ in range(_LIBRARY // _TEXTS - 1)]
        for body in bodies:
            posted = post(client, orjson.dumps(body))
            hexes[posted["id"]] = posted["fingerprint"]["hex"]
    return hexes


def _near(known: Sketch, rng: np.random.Generator) -> Sketch:
    """A book with a fingerprint near the known one, and MinHash values and a sample of its own."""
    assert known.fingerprint is not None
    assert known.minhash is not None
    assert known.sample is not None
    bits = int.from_bytes(known.fingerprint.bits, "big")
    for position in rng.choice(128, int(rng.integers(0, 46)), replace=False).tolist():
        bits ^= 1 << position
    return replace(
        known,
        fingerprint=replace(known.fingerprint, bits=bits.to_bytes(16, "big")),
        minhash=replace(known.minhash, values=rng.integers(0, 2**32, 128, dtype=np.uint32)),
        sample=replace(
            known.sample,
            hashes=np.sort(
                rng.integers(0, known.sample.hashes[-1], known.sample.hashes.size, dtype=np.uint64)
            ),
        ),
    )


def _look_up(address: Address, ids: Sequence[str]) -> list[list[Cell]]:
    """Lookups over one connection, with the plainest client there is, since its time counts too."""
    connection = http.client.HTTPConnection(*address)
    rows: list[list[Cell]] = []
    for query in ("?d=7", "?d=15", "?d=23", "?d=40", ""):
        seconds = []
        for book_id in random.Random(_SEED).sample(ids, _LOOKUPS):
            began = time.perf_counter()
            connection.request("GET", f"/v1/books/{book_id}/near-duplicates{query}")
            answer = connection.getresponse()
            answer.read()
            seconds.append(time.perf_counter() - began)
            assert answer.status == 200
        rows.append([f"near-duplicates{query or ', verified'}, ms", *_spread(seconds)])
    connection.close()
    return rows


def _against_brute_force(client: httpx.Client, hexes: dict[str, str]) -> Table:
    fingerprints = {book_id: bytes.fromhex(text) for book_id, text in hexes.items()}
    asked = random.Random(_SEED).sample(sorted(fingerprints), _QUERIES_PER_DISTANCE)
    rows = []
    for d in _DISTANCES:
        answered = expected = agreed = 0
        for book_id in asked:
            answer = set(_all_near(client, book_id, d))
            truth = {
                other
                for other, bits in fingerprints.items()
                if other != book_id and hamming(bits, fingerprints[book_id]) <= d
            }
            answered += len(answer & fingerprints.keys())
            expected += len(truth)
            agreed += len(answer & truth)
        rows.append(
            [d, expected, agreed / expected if expected else 1.0, agreed / answered if answered else 1.0]
        )
    return Table(
        ["d", "neighbours by brute force", "recall", "precision"],
        rows,
        f"The endpoint against brute force, {_QUERIES_PER_DISTANCE} books asked for among {len(hexes):,}",
    )


def _all_near(client: httpx.Client, book_id: str, d: int) -> Iterator[str]:
    cursor = ""
    while True:
        answer = client.get(f"/v1/books/{book_id}/near-duplicates?d={d}&limit=1000{cursor}").json()
        yield from (item["id"] for item in answer["items"])
        if answer["next_cursor"] is None:
            return
        cursor = f"&cursor={answer['next_cursor']}"


def _spread(seconds: Sequence[float]) -> list[Cell]:
    return [round(1000 * value, 2) for value in (statistics.median(seconds), min(seconds), max(seconds))]
