"""Keys of the band index in Redis.

A bucket's key is `bp:3{recipes:partition}number`; 3 is the form of the records, and numbers are hexadecimal.
On a cluster the part in braces decides the hash slot. So the buckets of one partition lie on one node, and
one command can name many of them. The names of the recipes are part of the keys, as a digest, so an index of
other recipes is never read. Nor is one of other MinHash bands, which the keys of the flat index name, as
nothing is read without it. Every partition and the flat index have an epoch (`app.stores.redis.epoch`).
"""

from functools import cache
from hashlib import sha256

from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.tables import TABLES, BucketNumbers, BucketTable, parts
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE

_RECIPES = sha256(f"{DEFAULT_FINGERPRINT}+{DEFAULT_SAMPLE}+{DEFAULT_MINHASH}".encode()).hexdigest()[:10]
_PREFIX = f"bp:3{{{_RECIPES}:"

ALL_KEYS = ("bp:*{*}*epoch", "bp:*{*")
"""Patterns of all keys of the index, also of other recipes or an earlier form; epochs come first."""


def bucket_keys(table: BucketTable, addresses: BucketNumbers) -> list[str]:
    """The keys of the buckets at these addresses."""
    prefixes = _prefixes(table)
    partitions, numbers = parts(addresses)
    pairs = zip(partitions.tolist(), numbers.tolist(), strict=True)
    return [f"{prefixes[partition]}{number:x}" for partition, number in pairs]


@cache
def _prefixes(table: BucketTable) -> tuple[str, ...]:
    """The prefixes of the keys of each partition, by its number."""
    return tuple(f"{_PREFIX}{table.name}{number:x}}}" for number in range(table.partitions))


@cache
def epochs_of(table: BucketTable) -> tuple[str, ...]:
    """The keys of the epochs of a table's partitions, by their numbers."""
    return tuple(f"{prefix}epoch" for prefix in _prefixes(table))


def hash_tag(key: str) -> str:
    """The part in braces."""
    return key[key.index("{") + 1 : key.index("}")]


def flat_index_prefix(bands: MinHashBands) -> str:
    """The prefix of the keys of the flat index."""
    return f"{_PREFIX}f{bands.name}}}"


@cache
def least_sizes(bands: MinHashBands) -> dict[str, int]:
    """The buckets of each partition of an empty index, by its epoch; 0: the flat index has none."""
    flat = f"{flat_index_prefix(bands)}epoch"
    return {flat: 0} | {epoch: table.least for table in TABLES for epoch in epochs_of(table)}
