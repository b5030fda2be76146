"""Values that the documentation shows; those of requests work as they stand."""

from base64 import b64encode
from hashlib import sha512
from typing import Any

BOOK_ID = "0193508e-7a3c-7c19-9b54-2f1d6a0e4c11"
OTHER_ID = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"

TITLE = "The Ferry at Dawn"
TEXT = (
    "The ferry left at dawn, and nobody on the quay could say who had paid for it.\fBy noon the whole town "
    "held an opinion on the matter; by evening it held three, and the ferry had still not come back."
)
METADATA: dict[str, Any] = {
    "title": TITLE,
    "authors": ["E. M. Harbour"],
    "language": "en",
    "year": 1913,
    "volume": "1",
    "external_id": "shelf-7.0042",
    "identifiers": ["isbn:9780141439600", "htid:mdp.39015005768391"],
}

HEX = "6f1d4c0b93a7e25882d1b6f04a9c3e71"
OTHER_HEX = "6f1d4c0b93a7e25882d1b6f04a9c3e26"
FINGERPRINT: dict[str, Any] = {"recipe": "gap-simhash128-v1", "hex": HEX}
IDENTIFIER = "bp1:05qhtk0bjeky4p42t6vf0jmw7srtkd96"
OTHER_IDENTIFIER = "bp1:05qhtk0bjeky4p42t6vf0jmw7rkaj8ge"
SIGNATURES: dict[str, Any] = {
    "fingerprint": FINGERPRINT,
    "minhash": None,
    "pages": None,
    "word_count": 121_533,
    "character_count": 652_305,
    "page_count": 330,
}

MINHASH: dict[str, Any] = {
    "recipe": "word5-minhash128-v1",
    "values": b64encode(sha512(b"bookprint").digest() * 8).decode(),
    "shingle_count": 121_487,
}
SAMPLE: dict[str, Any] = {
    "recipe": "word5-sample128-v1",
    "level": 57,
    "hashes": b64encode(bytes(6) + b"\x01\x00" + bytes(6) + b"\x02\x00").decode(),
}
PAGE_SIGNATURES: dict[str, Any] = {
    "recipe": "char6-page128-v2",
    "unit": "page",
    "values": b64encode(sha512(b"bookprint").digest() * 2 + b"\x40\x07").decode(),
}

BOOK: dict[str, Any] = {
    "id": BOOK_ID,
    "identifier": IDENTIFIER,
    "status": "indexed",
    "title": TITLE,
    "page_count": 330,
    "word_count": 121_533,
    "fingerprint": FINGERPRINT,
    "identifiers": METADATA["identifiers"],
    "links": {"self": f"/v1/books/{BOOK_ID}", "near_duplicates": f"/v1/books/{BOOK_ID}/near-duplicates"},
    "authors": METADATA["authors"],
    "language": METADATA["language"],
    "year": METADATA["year"],
    "volume": METADATA["volume"],
    "external_id": METADATA["external_id"],
    "version": 1,
}
JOB: dict[str, Any] = {
    "id": 4711,
    "task": "relate",
    "state": "waiting",
    "attempts": 1,
    "max_attempts": 6,
    "book_id": BOOK_ID,
    "created_at": "2026-11-21T08:00:00.000000Z",
    "next_try_at": "2026-11-21T08:00:02.500000Z",
    "reason": "Unavailable: The catalogue (Postgres) cannot be reached. Try again in a moment.",
}
CLUSTER_ID = f"same_text-{BOOK_ID}"
CLUSTER_MEMBER: dict[str, Any] = {
    "book_id": BOOK_ID,
    "title": TITLE,
    "volume": METADATA["volume"],
    "year": METADATA["year"],
    "page_count": 330,
    "word_count": 121_533,
}
CLUSTER: dict[str, Any] = {
    "id": CLUSTER_ID,
    "by": "same_text",
    "size": 2,
    "best_copy": {
        "book_id": BOOK_ID,
        "because": "Of 2 that are complete its pages agree best with those of other copies, by 93%: "
        "121,533 words, where the fullest of 2 copies has 121,533.",
    },
    "items": [CLUSTER_MEMBER, CLUSTER_MEMBER | {"book_id": OTHER_ID, "word_count": 121_410}],
    "next_cursor": None,
    "links": {"self": f"/v1/clusters/{CLUSTER_ID}"},
}
NEAR_DUPLICATE: dict[str, Any] = {
    "id": OTHER_ID,
    "identifier": OTHER_IDENTIFIER,
    "title": TITLE,
    "distance": 5,
    "jaccard": 0.91,
    "containment": {"this_in_other": 0.99, "other_in_this": 0.92},
    "relation": None,
}
NEAR_DUPLICATES: dict[str, Any] = {
    "query": {"id": BOOK_ID, "d": 7},
    "exact": True,
    "total": 1,
    "items": [NEAR_DUPLICATE],
    "next_cursor": None,
}
