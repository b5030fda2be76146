"""Values that the documentation shows; those of requests work as they stand."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha512
from typing import Any

BOOK_ID = "0193508e-7a3c-7c19-9b54-2f1d6a0e4c11"
OTHER_ID = "01935090-11c2-7e0a-8d3f-b5c0a1e27f46"


def named(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Examples of a body by their summaries, as OpenAPI takes them."""
    return {
        summary.lower().replace(" ", "-"): {"summary": summary, "value": value}
        for summary, value in values.items()
    }


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

MARC: dict[str, Any] = {
    "leader": "00000nam a2200000 i 4500",
    "fields": [
        {"001": "ocm00400866"},
        {"020": {"ind1": " ", "ind2": " ", "subfields": [{"a": "0141439602"}, {"q": "pbk."}]}},
        {
            "245": {
                "ind1": "1",
                "ind2": "4",
                "subfields": [{"a": "The ferry at dawn /"}, {"c": "E. M. Harbour."}],
            }
        },
    ],
}

HEX = "6f1d4c0b93a7e25882d1b6f04a9c3e71"
FINGERPRINT: dict[str, Any] = {"recipe": "gap-simhash128-v1", "hex": HEX}
IDENTIFIER = "bp1:05qhtk0bjeky4p42t6vf0jmw7srtkd96"
OTHER_IDENTIFIER = "bp1:05qhtk0bjeky4p42t6vf0jmw7rkaj8ge"
LONG_IDENTIFIER = "bp2:05qhtk0bjeky4p42t6vf0jmw7srqs3bwhny8tz4dfj6qs3bwhny8vab9k1h9"
COMPOSITE = f"{LONG_IDENTIFIER}.9780141439600"
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

DIGESTS = {
    "md5-text": "28a7ea33533221889c3c5e25ed106ce5",
    "textprofile-md5-v1": "da4da0cd10a9d8a6f114af6d568d4337",
}

CLUSTER_ID = f"same_text-{BOOK_ID}"
CLUSTER_NAME: dict[str, Any] = {"id": CLUSTER_ID, "key": f"s{BOOK_ID.replace('-', '')}"}
BOOK: dict[str, Any] = {
    "id": BOOK_ID,
    "identifier": IDENTIFIER,
    "long_identifier": LONG_IDENTIFIER,
    "composite": COMPOSITE,
    "iscc": "ISCC:EAASKDNZNYGUUF5A",
    "digests": DIGESTS,
    "status": "indexed",
    "title": TITLE,
    "page_count": 330,
    "word_count": 121_533,
    "fingerprint": FINGERPRINT,
    "identifiers": METADATA["identifiers"],
    "invalid_identifiers": [],
    "cluster": CLUSTER_NAME,
    "links": {
        "self": f"/v1/books/{BOOK_ID}",
        "near_duplicates": f"/v1/books/{BOOK_ID}/near-duplicates",
        "relations": f"/v1/books/{BOOK_ID}/relations",
        "similar": f"/v1/books/{BOOK_ID}/similar",
    },
    "authors": METADATA["authors"],
    "language": METADATA["language"],
    "year": METADATA["year"],
    "volume": METADATA["volume"],
    "external_id": METADATA["external_id"],
    "version": 1,
}
OF_FILE: dict[str, Any] = {"format": "epub", "warnings": []}
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
CLUSTER_MEMBER: dict[str, Any] = {
    "book_id": BOOK_ID,
    "external_id": METADATA["external_id"],
    "title": TITLE,
    "volume": METADATA["volume"],
    "year": METADATA["year"],
    "page_count": 330,
    "word_count": 121_533,
}
CLUSTER: dict[str, Any] = CLUSTER_NAME | {
    "by": "same_text",
    "size": 2,
    "best_copy": {
        "book_id": BOOK_ID,
        "because": "Nothing tells the 2 complete copies apart; the first by external id was taken: "
        "121,533 words, where the fullest of 2 copies has 121,533.",
    },
    "items": [
        CLUSTER_MEMBER,
        CLUSTER_MEMBER | {"book_id": OTHER_ID, "external_id": None, "word_count": 121_410},
    ],
    "next_cursor": None,
    "links": {"self": f"/v1/clusters/{CLUSTER_ID}"},
}
MASTER_PAGE: dict[str, Any] = {
    "page": 16,
    "label": "1",
    "text": "It is a truth universally acknowledged, that a single man in possession\n"
    "of a good fortune, must be in want of a wife.",
    "copies": 3,
    "agreement": 0.9871,
    "changed": 0.0476,
}
MASTER_COPY: dict[str, Any] = CLUSTER_NAME | {
    "by": "same_text",
    "unit": "page",
    "page_count": 330,
    "best_copy": {
        "book_id": BOOK_ID,
        "because": "Of 3 that are complete its pages agree best with those of other copies, by 93%: "
        "121,533 words, where the fullest of 4 copies has 121,533.",
    },
    "copies": [
        {"book_id": BOOK_ID, "pages": 330},
        {"book_id": OTHER_ID, "pages": 326},
        {"book_id": "0193508e-7a3c-7c19-9b54-2f1d6a0e4c33", "pages": 328},
    ],
    "left_out": [{"book_id": "0193508e-7a3c-7c19-9b54-2f1d6a0e4c44", "because": "Its text is not kept."}],
    "items": [MASTER_PAGE],
    "next_cursor": None,
    "links": {"self": f"/v1/clusters/{CLUSTER_ID}/text", "cluster": f"/v1/clusters/{CLUSTER_ID}"},
}
NEAR_DUPLICATE: dict[str, Any] = {
    "id": OTHER_ID,
    "identifier": OTHER_IDENTIFIER,
    "title": TITLE,
    "distance": 5,
    "jaccard": 0.91,
    "containment": {"this_in_other": 0.99, "other_in_this": 0.92},
    "relation": {"kind": "SAME_PAGINATION", "confidence": 0.97},
}
NEAR_DUPLICATES: dict[str, Any] = {
    "query": {"id": BOOK_ID, "max_distance": 7, "nearest": None},
    "exact": True,
    "total": 1,
    "items": [NEAR_DUPLICATE],
    "next_cursor": None,
}

CURSOR = "ZmVlZAAAAAAAAAQx"
CHANGE: dict[str, Any] = {
    "cursor": CURSOR,
    "at": "2026-11-21T08:00:00.123456Z",
    "type": "relation.found",
    "book_id": BOOK_ID,
    "other_id": OTHER_ID,
    "data": {"kind": "SAME_PAGINATION", "direction": None, "confidence": 0.97},
}
WEBHOOK_ID = "8f14e45f-ceea-467f-a8d8-4c1c2f2e6b90"
WEBHOOK: dict[str, Any] = {
    "id": WEBHOOK_ID,
    "url": "https://93.184.215.14/changes",
    "types": ["book.created", "relation.found"],
    "state": "failing",
    "cursor": CURSOR,
    "created_at": "2026-11-20T08:00:00Z",
    "failing_since": "2026-11-21T08:00:01Z",
    "next_try_at": "2026-11-21T08:00:09Z",
    "last_error": "The receiver answered 500.",
    "disabled_at": None,
    "disabled_because": None,
}
AUDIT_ENTRY: dict[str, Any] = {
    "at": "2026-11-23T08:00:00.123456Z",
    "actor": {
        "kind": "key",
        "name": "harvester",
        "key_id": "3d594650-3436-4b2a-9d7e-6f1f4a2c8b10",
        "address": "203.0.113.7",
    },
    "action": "book.deleted",
    "object": {"kind": "book", "id": BOOK_ID, "other_id": None},
}
SECRET = f"whsec_{b64encode(bytes(range(32))).decode()}"
COLLECTION: dict[str, Any] = {
    "@context": "http://iiif.io/api/discovery/1/context.json",
    "id": "https://catalogue.example/changes/collection",
    "type": "OrderedCollection",
    "totalItems": 1073,
    "first": {"id": "https://catalogue.example/changes/pages/0", "type": "OrderedCollectionPage"},
    "last": {"id": "https://catalogue.example/changes/pages/1", "type": "OrderedCollectionPage"},
}
ACTIVITY: dict[str, Any] = {
    "type": "Create",
    "object": {"id": f"https://catalogue.example/v1/books/{BOOK_ID}", "type": "Book"},
    "endTime": "2026-11-21T08:00:00.123456Z",
    "summary": "book.created",
}
COLLECTION_PAGE: dict[str, Any] = {
    "@context": "http://iiif.io/api/discovery/1/context.json",
    "id": "https://catalogue.example/changes/pages/1",
    "type": "OrderedCollectionPage",
    "partOf": {"id": "https://catalogue.example/changes/collection", "type": "OrderedCollection"},
    "prev": {"id": "https://catalogue.example/changes/pages/0", "type": "OrderedCollectionPage"},
    "next": {"id": "https://catalogue.example/changes/pages/2", "type": "OrderedCollectionPage"},
    "orderedItems": [ACTIVITY],
}

SIMILAR_BOOK: dict[str, Any] = {
    "id": OTHER_ID,
    "title": "The Salt Road",
    "authors": METADATA["authors"],
    "similarity": 0.8125,
}
SIMILAR_BOOKS: dict[str, Any] = {"recipe": "tfidf-simhash1024-v1", "items": [SIMILAR_BOOK]}
MAP_PLACE: dict[str, Any] = {
    "id": BOOK_ID,
    "title": TITLE,
    "authors": METADATA["authors"],
    "language": METADATA["language"],
    "x": 0.2188,
    "y": -0.0625,
}
MAP: dict[str, Any] = {"recipe": "tfidf-simhash1024-v1", "items": [MAP_PLACE], "next_cursor": None}

LINEAR_FIT: dict[str, Any] = {"slope": 1.0, "intercept": 4.0, "delta_page_count": 2.0}
SIGNALS: dict[str, Any] = {
    "text_pages": {"this": 322, "other": 327},
    "book_similarity": 0.91,
    "page_similarity": 0.64,
    "text_shared": {"this": 0.99, "other": 0.97},
    "typical_share": 0.78,
    "pages_matched": {"this": 0.99, "other": 0.97},
    "span_matched": {"this": 0.99, "other": 0.97},
    "span": {"this": 1.0, "other": 0.98},
    "other_breaks": 0.01,
    "revised": 0.0,
    "consecutive_correlation": 0.02,
    "runs": 1,
    "linear_fit": LINEAR_FIT,
}
DECISION: dict[str, Any] = {
    "verdict": "confirmed",
    "kind": "SAME_PAGINATION",
    "decided_at": "2026-11-21T08:00:00.000000Z",
    "decided_by": "cataloguer",
    "stale": False,
}
FINDING: dict[str, Any] = {"kind": "SAME_PAGINATION", "direction": None, "confidence": 0.97}
RELATION: dict[str, Any] = {
    "book_id": OTHER_ID,
    "title": TITLE,
    "kind": "SAME_PAGINATION",
    "direction": None,
    "confidence": 1.0,
    "signals": SIGNALS,
    "classifier": "shares-v1",
    "decision": DECISION,
    "machine": FINDING,
    "via": None,
}
RELATIONS: dict[str, Any] = {
    "pending": 0,
    "failed": [],
    "complete": True,
    "items": [RELATION],
    "next_cursor": None,
}
RUN: dict[str, Any] = {"left": [0, 326], "right": [4, 330]}
PAGE_LABELS: dict[str, Any] = {"this": ["xii", "1"], "other": [None, None, None, None, "12", "13"]}
EXACT: dict[str, Any] = {
    "jaccard": 0.9063,
    "containment": {"this_in_other": 0.9874, "other_in_this": 0.9169},
    "shingles": {"this": 98110, "other": 105650, "shared": 96873},
}
PAGE_RELATION: dict[str, Any] = RELATION | {
    "because": "99% of the text pages of this book and 97% of the other's match one to one with the same "
    "page breaks.",
    "confidences": {"SAME_PAGINATION": 0.97, "DIFFERENT_PAGINATION": 0.03},
    "unit": "page",
    "page_map": [[0, 4, 0.71], [1, 5, 0.66]],
    "page_labels": PAGE_LABELS,
    "runs": [RUN],
    "linear_fit": LINEAR_FIT,
    "exact": EXACT,
}
CONFLICT_BOOK: dict[str, Any] = {
    "id": BOOK_ID,
    "title": TITLE,
    "authors": METADATA["authors"],
    "year": METADATA["year"],
    "volume": None,
    "identifiers": ["isbn:9780141439600"],
}
CONFLICT: dict[str, Any] = {
    "books": [CONFLICT_BOOK, CONFLICT_BOOK | {"id": OTHER_ID, "title": "The Salt Road", "year": 1898}],
    "agrees": ["isbn", "authors"],
    "contradicts": ["text", "title", "year"],
    "evidence": {
        "distance": 61,
        "jaccard": 0.0,
        "containment": {"this_in_other": 0.0, "other_in_this": 0.0},
        "relation": None,
    },
}
CONFLICT_OF_TEXT: dict[str, Any] = {
    "books": [CONFLICT_BOOK, CONFLICT_BOOK | {"id": OTHER_ID, "identifiers": ["isbn:9780306406157"]}],
    "agrees": ["text", "title", "authors", "year"],
    "contradicts": ["isbn"],
    "evidence": {
        "distance": 5,
        "jaccard": 0.91,
        "containment": {"this_in_other": 0.99, "other_in_this": 0.92},
        "relation": {"kind": "SAME_PAGINATION", "confidence": 0.97, "source": "machine", "decided_by": None},
    },
}
CUT_GROUP: dict[str, Any] = {"shared": "isbn:9783161484100", "size": 312, "examined": 50}
