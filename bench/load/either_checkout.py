"""Script of `bench ab` for a commit's own code; it runs by its path in the environment of either commit.

    python -P either_checkout.py load DATA_DIR BOOKS       a simulated library, by the commit's own COPY
    python -P either_checkout.py sign TEXTS.json OUT.json  milliseconds of all signatures of each text

It therefore imports only the commit's modules.
"""

import json
import sys
import time
from hashlib import sha256
from pathlib import Path

from app.embedded import EmbeddedServers
from app.kernel_cache import keep_kernels
from bench.data import bulk_load
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text


def load(data_dir: str, books: str) -> None:
    """Load a library into the embedded servers of a data folder."""
    with EmbeddedServers(Path(data_dir)) as servers:
        bulk_load.load(servers.database_url, int(books))


def sign(texts: str, out: str) -> None:
    """Write the milliseconds of each text and a digest of all signatures."""
    keep_kernels()
    given = json.loads(Path(texts).read_text(encoding="utf-8"))
    signed = [encode(sketch(content_from_text(text))) for text in given[:2]]
    milliseconds = []
    for text in given:
        started = time.perf_counter()
        made = sketch(content_from_text(text))
        milliseconds.append(1000 * (time.perf_counter() - started))
        signed.append(encode(made))
    digest = sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()
    Path(out).write_text(json.dumps({"milliseconds": milliseconds, "digest": digest}), encoding="utf-8")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"load": load, "sign": sign}[command](*arguments)
