"""The parts of `bench ab` that need a commit's own code; run by its path in the environment of either.

    python -P either_checkout.py load DATA_DIR BOOKS       a simulated library, by the commit's own COPY
    python -P either_checkout.py sign TEXTS.json OUT.json  milliseconds of all signatures of each text

So it imports nothing but the commit's modules, each under the names that it has had.
"""

import json
import sys
import time
from hashlib import sha256
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType

_LOADING = ("bench.data.bulk_load", "bench.loading")
_KERNEL_CACHE = ("app.kernel_cache", "app.cli.caches")
_CONTENT = ("bookprint_core.text.content", "bookprint_core.text")
_SKETCH = ("bookprint_core.signatures.sketch", "bookprint_core.sketch")
_JSON = ("bookprint_core.signatures.json_codec", "bookprint_core.signatures")


def first_of(*names: str) -> ModuleType:
    """The first module that there is."""
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name is None or not name.startswith(missing.name):
                raise
    raise ModuleNotFoundError(f"None of {', '.join(names)} is there.")


def load(data_dir: str, books: str) -> None:
    """Load a library into the embedded servers of a data folder."""
    servers_of = import_module("app.embedded").EmbeddedServers
    with servers_of(Path(data_dir)) as servers:
        loading = first_of(*_LOADING).load
        loading(
            servers.database_url,
            int(books),
            **({"texts": True} if "texts" in str(signature(loading)) else {}),
        )


def sign(texts: str, out: str) -> None:
    """Write the milliseconds of each text and the digest of all signatures."""
    first_of(*_KERNEL_CACHE).keep_kernels()
    content_from_text = first_of(*_CONTENT).content_from_text
    sketch, encode = first_of(*_SKETCH).sketch, first_of(*_JSON).encode
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
