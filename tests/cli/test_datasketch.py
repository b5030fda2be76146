"""Moving a library from datasketch to Bookprint, as the guide says, and back."""

import json
import re
from base64 import b64decode
from pathlib import Path

import httpx
import numpy as np
import pytest
from datasketch import LeanMinHash, MinHash, MinHashLSH

from tests.cli.command_line import Service, bookprint
from tests.factories import similar_values

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "datasketch.md"


def test_a_library_of_datasketch_finds_the_same_books_here(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    bases = rng.integers(0, 1 << 32, (10, 128), dtype=np.uint32)
    rows = [row for base in bases for row in (base, *similar_values(rng, base, 0.6, 9))]
    minhashes = {f"k{n}": MinHash(hashvalues=row, seed=1, scheme="affine32") for n, row in enumerate(rows)}
    lsh = MinHashLSH(threshold=0.5, num_perm=128)
    for key, minhash in minhashes.items():
        lsh.insert(key, minhash)

    [example] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(example, {"minhashes": minhashes})
    done = bookprint("ingest", "--datasketch", "library.jsonl", **service.servers)
    assert done.stdout == f"{len(rows)} created, 0 already there, 0 pending, 0 failed\n", done.stderr

    lines = [json.loads(line) for line in (tmp_path / "library.jsonl").read_text().splitlines()]
    with httpx.Client(base_url=service.url, timeout=60) as http:
        books = http.get("/v1/books", params={"limit": 1000}).json()["items"]
        keys = {book["id"]: book["external_id"] for book in books}
        for line in lines[::7]:
            made = minhashes[line["external_id"]]
            answer = http.post("/v1/lookups?jaccard=0.3", json={"datasketch": line["datasketch"]}).json()
            assert {keys[item["id"]] for item in answer["items"]} == {
                key for key in lsh.query(made) if made.jaccard(minhashes[key]) >= 0.3
            }
        back = http.get(f"/v1/books/{books[0]['id']}/signatures?format=datasketch").json()["datasketch"]
        refused = http.post("/v1/books", json={"datasketch": {"hashvalues": [1]}}).json()
    assert LeanMinHash.deserialize(b64decode(back["leanminhash"])) == LeanMinHash(
        minhashes[books[0]["external_id"]]
    )
    assert refused["errors"][0]["field"] == "datasketch.hashvalues"


def test_a_text_is_signed_for_datasketch_as_the_service_signs_it(
    service: Service, folder: Path, tmp_path: Path
) -> None:
    file = next(folder.glob("*.txt"))
    [line] = bookprint("sign", file, "--datasketch").stdout.splitlines()
    (tmp_path / "signed.json").write_text(line)
    assert bookprint("ingest", file, **service.servers).returncode == 0
    found = bookprint("lookup", tmp_path / "signed.json", "--jaccard", "1", "--json", "--url", service.url)
    assert [json.loads(item)["jaccard"] for item in found.stdout.splitlines()] == [1.0]
