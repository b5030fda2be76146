"""Keys of the band index in Redis.

A bucket's key is `bp:2{recipe:partition}:address`; 2 is the form of the records. On a cluster the part in
braces decides the hash slot. So the buckets of one partition, 16,384 in a row of a band or of every posting
list, lie on one node, and one command can name many of them.
The names of the recipes are part of the keys, so an index of other recipes is never read. Nor is one of other
MinHash bands, which the keys of the flat index name, as nothing is read without it.
Every partition has an epoch (`app.stores.redis.epoch`), and so has the flat index.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from bookprint_core.index.fingerprints import BAND_BITS, BANDS
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.index.records import SAMPLE_BUCKET_BITS
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_SAMPLE

_PREFIX = "bp:2"

ALL_KEYS = (f"{_PREFIX}{{*}}:epoch", f"{_PREFIX}{{*")
"""Patterns of all keys of the index, also of one of other recipes; epochs come first."""

_PARTITION_BITS = 14
_LAST_PARTITION = (1 << (SAMPLE_BUCKET_BITS - _PARTITION_BITS)) - 1


def bucket_keys(recipe: str, addresses: NDArray[np.integer]) -> list[str]:
    """The keys of the buckets at these addresses.

    >>> bucket_keys("a", np.array([5, 65536]))
    ['bp:2{a:0}:5', 'bp:2{a:4}:65536']
    """
    partitions = _partitions(recipe)
    return [f"{partitions[each >> _PARTITION_BITS & _LAST_PARTITION]}{each}" for each in addresses.tolist()]


@cache
def _partitions(recipe: str) -> tuple[str, ...]:
    """The prefixes of the keys of each partition, by its number."""
    return tuple(f"{bucket_prefix(recipe)}{number}}}:" for number in range(_LAST_PARTITION + 1))


def address_of(key: str) -> int:
    """The address in the key of a bucket, or the number of a segment."""
    return int(key.rpartition(":")[2])


def bucket_prefix(recipe: str) -> str:
    """The prefix of every key of a recipe's buckets."""
    return f"{_PREFIX}{{{recipe}:"


def is_bucket(key: str) -> bool:
    """Whether the key is one of a bucket or a segment, not of an epoch or of what goes with segments."""
    return key.rpartition(":")[2].isdigit()


def hash_tag(key: str) -> str:
    """The part in braces."""
    return key[key.index("{") + 1 : key.index("}")]


def epochs_of(recipe: str, addresses: NDArray[np.integer]) -> list[str]:
    """The keys of the epochs of the partitions that the buckets at these addresses belong to, each once.

    >>> epochs_of("a", np.array([5, 65536, 7]))
    ['bp:2{a:0}:epoch', 'bp:2{a:4}:epoch']
    """
    partitions, touched = _partitions(recipe), addresses >> _PARTITION_BITS & _LAST_PARTITION
    return [f"{partitions[each]}epoch" for each in set(touched.tolist())]


def flat_index_prefix(bands: MinHashBands) -> str:
    """The prefix of the keys of the flat index.

    >>> flat_index_prefix(MinHashBands(25, 5))
    'bp:2{gap-simhash128-v1+char20-sample256-v2+word5-minhash128-v1+25x5}:'
    """
    return f"{_PREFIX}{{{DEFAULT_FINGERPRINT}+{DEFAULT_SAMPLE}+{DEFAULT_MINHASH}+{bands.name}}}:"


@cache
def epoch_keys(bands: MinHashBands) -> tuple[str, ...]:
    """The epochs of the flat index, of all bands and of the posting list."""
    sizes = {DEFAULT_FINGERPRINT: (BANDS - 1).bit_length() + BAND_BITS, DEFAULT_SAMPLE: SAMPLE_BUCKET_BITS}
    return (
        f"{flat_index_prefix(bands)}epoch",
        *(
            epoch
            for recipe, bits in sizes.items()
            for epoch in epochs_of(recipe, np.arange(0, 1 << bits, 1 << _PARTITION_BITS))
        ),
    )
