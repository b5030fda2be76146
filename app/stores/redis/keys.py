"""Keys of the band index in Redis.

A bucket's key is `bp:2{recipe:partition}:address`; 2 is the form of the records. On a cluster the part in
braces decides the hash slot. So the buckets of one partition, 16,384 in a row of a band or of every posting
list, lie on one node, and one command can name many of them.
Every partition has an epoch (`app.stores.redis.epoch`), and so has the flat index of a suite.
"""

from collections.abc import Collection
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.core.index.fingerprints import BAND_BITS, BANDS
from app.core.index.records import SAMPLE_BUCKET_BITS
from app.core.recipe import Suite

_PREFIX = "bp:2"
FOREIGN = ("bp:[^2]*:epoch", "bp:[^2]*")
"""Patterns of the keys of earlier versions, epochs first: without them nothing is read there."""

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


def flat_index_prefix(suite: Suite) -> str:
    """The prefix of the keys of a suite's flat index."""
    return f"{_PREFIX}{{{suite.fingerprint}+{suite.sample}}}:"


def epoch_keys(suite: Suite, parts: Collection[str]) -> list[str]:
    """The epochs of a suite's flat index, and of its bands and posting list where `parts` names them."""
    address_bits = {
        suite.fingerprint: (BANDS - 1).bit_length() + BAND_BITS,
        suite.sample: SAMPLE_BUCKET_BITS,
    }
    return [
        f"{flat_index_prefix(suite)}epoch",
        *(
            epoch
            for recipe, bits in address_bits.items()
            if recipe in parts
            for epoch in epochs_of(recipe, np.arange(0, 1 << bits, 1 << _PARTITION_BITS))
        ),
    ]
