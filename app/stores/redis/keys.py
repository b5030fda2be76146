"""Keys of the band index in Redis.

A bucket's key is `bp:3{recipes:partition}number`; 3 is the form of the records, and numbers are hexadecimal.
In a cluster the part in braces decides the hash slot. The buckets of one partition are therefore on one node,
and one command can name many of them. The keys contain a digest of the names of the recipes, so an index of
other recipes is never read. The keys of the flat index, which every lookup reads, also contain the MinHash
bands. Every partition and the flat index have an epoch (`app.stores.redis.epoch`).
"""

from functools import cache
from hashlib import sha256

from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.tables import TABLES, BucketNumbers, BucketTable, parts
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE

_RECIPES = sha256(f"{DEFAULT_FINGERPRINT}+{DEFAULT_SAMPLE}+{DEFAULT_MINHASH}".encode()).hexdigest()[:10]
_PREFIX = f"bp:3{{{_RECIPES}:"

ALL_KEYS = ("bp:*{*}*epoch", "bp:*{*")
"""Patterns of all keys of the index, also of other recipes or an earlier form; epochs are first."""


def bucket_keys(table: BucketTable, addresses: BucketNumbers) -> list[str]:
    """Return the keys of the buckets at these addresses."""
    prefixes = _prefixes(table)
    partitions, numbers = parts(addresses)
    pairs = zip(partitions.tolist(), numbers.tolist(), strict=True)
    return [f"{prefixes[partition]}{number:x}" for partition, number in pairs]


@cache
def _prefixes(table: BucketTable) -> tuple[str, ...]:
    """Return the prefix of the keys of each partition, by its number."""
    return tuple(f"{_PREFIX}{table.name}{number:x}}}" for number in range(table.partitions))


@cache
def epochs_of(table: BucketTable) -> tuple[str, ...]:
    """Return the keys of the epochs of a table's partitions, by their numbers."""
    return tuple(f"{prefix}epoch" for prefix in _prefixes(table))


def hash_tag(key: str) -> str:
    """Return the hash tag of a key, the part in braces."""
    return key[key.index("{") + 1 : key.index("}")]


def flat_index_prefix(bands: MinHashBands) -> str:
    """Return the prefix of the keys of the flat index."""
    return f"{_PREFIX}f{bands.name}}}"


@cache
def least_sizes(bands: MinHashBands) -> dict[str, int]:
    """Return the number of buckets of each partition of an empty index, by epoch; 0 for the flat index."""
    flat = f"{flat_index_prefix(bands)}epoch"
    return {flat: 0} | {epoch: table.least for table in TABLES for epoch in epochs_of(table)}
