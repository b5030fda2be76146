"""What compiled and numpy kernels have in common: their types, and the contract that both fulfil."""

# ruff: noqa: D102

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]
"""A string's code points."""

Text = NDArray[np.uint32]
"""A normal form's code points."""

Lengths = tuple[int, int, int, int]

DONE, TOO_SMALL, NEEDS_WHOLE_NFKC = range(3)
"""How `normalise` may end."""


class Kernels(Protocol):
    """What both sets of kernels offer; the compiled ones tell what each function does."""

    def codes_of(self, text: str, /) -> Codes: ...

    def inspect(self, codes: Codes, traits: NDArray[np.uint8], /) -> tuple[int, int]: ...

    def normalise(
        self,
        codes: Codes,
        table: NDArray[np.uint32],
        traits: NDArray[np.uint8],
        expansions: NDArray[np.uint32],
        out: Text,
        page_starts: NDArray[np.int64],
        /,
    ) -> tuple[int, int, int]: ...

    def kinds_of(self, text: Text, table: NDArray[np.uint32], kinds: NDArray[np.uint8], /) -> None: ...

    def count_ngrams(
        self,
        text: Text,
        size: int,
        kinds: NDArray[np.uint8],
        lengths: Lengths,
        window: int,
        cells: NDArray[np.uint64],
        /,
    ) -> None: ...

    def weigh(
        self,
        cells: NDArray[np.uint64],
        gap: bool,
        min_count: int,
        window: int,
        characters: int,
        features: NDArray[np.uint32],
        weights: NDArray[np.int64],
        /,
    ) -> int: ...

    def vote(
        self, features: NDArray[np.uint32], weights: NDArray[np.int64], votes: NDArray[np.int64], /
    ) -> None: ...

    def shingle_words(
        self,
        text: Text,
        size: int,
        per_shingle: int,
        hashes: NDArray[np.uint64],
        per_window: int,
        windows: NDArray[np.int64],
        /,
    ) -> tuple[int, int, int]: ...

    def shingle_tokens(
        self,
        text: Text,
        size: int,
        kinds: NDArray[np.uint8],
        weights: tuple[int, int, int],
        hashes: NDArray[np.uint64],
        window_weight: int,
        windows: NDArray[np.int64],
        /,
    ) -> tuple[int, int, int]: ...

    def count_distinct(
        self, hashes: NDArray[np.uint64], bits: NDArray[np.uint8], some: NDArray[np.uint64], /
    ) -> int: ...

    def minhash(
        self,
        hashes: NDArray[np.uint64],
        a: NDArray[np.uint32],
        b: NDArray[np.uint32],
        values: NDArray[np.uint32],
        /,
    ) -> None: ...

    def sign_pages(
        self,
        text: Text,
        kinds: NDArray[np.uint8],
        lengths: Lengths,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        signatures: NDArray[np.uint8],
        /,
    ) -> None: ...

    def distances(
        self, query: NDArray[np.uint64], packed: NDArray[np.uint64], out: NDArray[np.uint8], /
    ) -> None: ...

    def records_within(
        self, query: NDArray[np.uint64], records: NDArray[np.uint64], d: int, out: NDArray[np.uint64], /
    ) -> int: ...

    def take_apart(
        self, near: NDArray[np.uint64], entry_ids: NDArray[np.uint64], distances: NDArray[np.uint8], /
    ) -> int: ...

    def count_probed(
        self, sizes: NDArray[np.int32], keys: NDArray[np.uint32], masks: NDArray[np.uint32], /
    ) -> int: ...

    def rows_within(
        self,
        query: NDArray[np.uint64],
        high: NDArray[np.uint64],
        low: NDArray[np.uint64],
        d: int,
        rows: NDArray[np.uint32],
        out: NDArray[np.uint8],
        /,
    ) -> int: ...

    def tally(
        self,
        query: NDArray[np.uint64],
        high: NDArray[np.uint64],
        low: NDArray[np.uint64],
        counts: NDArray[np.int64],
        /,
    ) -> None: ...

    def group(
        self,
        buckets: NDArray[np.uint32],
        records: NDArray[np.uint8],
        places: NDArray[np.int64],
        out: NDArray[np.uint8],
        /,
    ) -> None: ...

    def write_keys(
        self,
        prefix: NDArray[np.uint8],
        lists: NDArray[np.uint32],
        buckets: NDArray[np.uint32],
        out: NDArray[np.uint8],
        /,
    ) -> int: ...

    def write_strings(
        self,
        prefix: NDArray[np.uint8],
        numbers: NDArray[np.int64],
        bounds: NDArray[np.int64],
        most: int,
        data: NDArray[np.uint8],
        out: NDArray[np.uint8],
        /,
    ) -> int: ...

    def count_sharing(
        self,
        words: NDArray[np.uint16],
        ends: NDArray[np.int64],
        tags: NDArray[np.uint64],
        table: NDArray[np.int32],
        entry_ids: NDArray[np.uint64],
        counts: NDArray[np.int64],
        seen: NDArray[np.int64],
        /,
    ) -> int: ...

    def counts_of(
        self,
        table: NDArray[np.int32],
        entry_ids: NDArray[np.uint64],
        counts: NDArray[np.int64],
        wanted: NDArray[np.uint64],
        out: NDArray[np.int64],
        /,
    ) -> None: ...

    def page_similarities(
        self, left: NDArray[np.uint8], right: NDArray[np.uint8], least: int, out: NDArray[np.uint8], /
    ) -> None: ...

    def smith_waterman(
        self,
        similarities: NDArray[np.uint8],
        weights: NDArray[np.float32],
        limits: NDArray[np.float32],
        steps: NDArray[np.uint8],
        best: NDArray[np.float32],
        places: NDArray[np.int64],
        /,
    ) -> int: ...

    def trace_chain(
        self, steps: NDArray[np.uint8], row: int, column: int, path: NDArray[np.int64], /
    ) -> int: ...

    def compare_neighbours(
        self, pages: NDArray[np.uint8], equal: NDArray[np.uint8], common: NDArray[np.uint8], /
    ) -> None: ...
