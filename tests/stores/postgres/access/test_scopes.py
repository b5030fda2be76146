"""What a key allows, and the hash that it is stored under."""

from hashlib import sha256

import pytest

from app.stores.postgres.keys import SCOPES, Caller, Scope, key_hash


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (("read",), {"read"}),
        (("ingest",), {"ingest", "read"}),
        (("decide",), {"decide", "read"}),
        (("admin",), {"read", "ingest", "decide", "admin"}),
        (("ingest", "decide"), {"read", "ingest", "decide"}),
    ],
)
def test_scopes_include_lesser_ones_and_add_up(scopes: tuple[Scope, ...], allowed: set[Scope]) -> None:
    caller = Caller(None, "test", scopes)

    assert {each for each in SCOPES if caller.may(each)} == allowed


def test_the_hash_is_sha_256_of_whatever_was_sent() -> None:
    assert key_hash("bp_abc") == sha256(b"bp_abc").digest()
    assert len(key_hash("\udcff")) == 32
