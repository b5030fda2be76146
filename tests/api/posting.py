"""Posting books and asking for those near them, where all is expected to go well."""

import json
from base64 import b64encode
from typing import Any

import numpy as np
from httpx import AsyncClient

from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from bookprint_core.signatures.simhash import hamming

Json = dict[str, Any]


def signatures(bits: bytes, rng: np.random.Generator) -> Json:
    return {
        "fingerprint": {"recipe": DEFAULT_FINGERPRINT, "hex": bits.hex()},
        "minhash": {
            "recipe": DEFAULT_MINHASH,
            "values": b64encode(rng.bytes(512)).decode(),
            "shingle_count": 900,
        },
        "word_count": 1000,
        "character_count": 6000,
    }


async def post(client: AsyncClient, **body: Any) -> Json:
    response = await client.post("/v1/books", json=body)
    assert response.status_code == 201, response.text
    book: Json = response.json()
    return book


async def get(client: AsyncClient, path: str, **parameters: Any) -> Json:
    response = await client.get(path, params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


async def all_pages(client: AsyncClient, path: str, **parameters: Any) -> list[Json]:
    """The pages of a list, to the last."""
    pages = [await get(client, path, **parameters)]
    while cursor := pages[-1]["next_cursor"]:
        pages.append(await get(client, path, **parameters, cursor=cursor))
    return pages


async def send_lines(client: AsyncClient, path: str, *lines: Json | bytes) -> list[Json]:
    """The answer to each line."""
    content = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    response = await client.post(path, content=content, headers={"Content-Type": "application/x-ndjson"})
    assert response.status_code == 200, response.text
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert [answer["line"] for answer in answers] == [*range(1, len(lines) + 1)]
    return answers


async def near(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    return await get(client, book["links"]["near_duplicates"], **parameters)


async def look_up(client: AsyncClient, body: Json, **parameters: Any) -> Json:
    response = await client.post("/v1/lookups", json=body, params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


def distance(a: Json, b: Json) -> int:
    return hamming(bytes.fromhex(a["fingerprint"]["hex"]), bytes.fromhex(b["fingerprint"]["hex"]))
