"""How many strangers a lookup meets in a simulated library by the distance of fingerprints alone.

A stranger is another work. Real ones were counted among 42 million pairs of unlike books of one language, and
among the volumes of one journal. `bench.data.fingerprint_model` is fitted to them; this tells what it makes
of a library that is too large to gather.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.fingerprint_model import LibraryModel, distances

WITHIN = 15, 23  # bits
_MOST_WORKS = 1_000_000  # drawn; a larger library has so many times more strangers
_BATCH = 20_000
_LOOKUPS = 1_000
_SEED = 20261124


def strangers_per_lookup(works: int) -> dict[str, Any]:
    """Strangers that a lookup of a book finds among so many works, and one of a volume in its own journal."""
    model, drawn_works = LibraryModel.load(), min(works, _MOST_WORKS)
    found = siblings = np.zeros(len(WITHIN), dtype=np.int64)
    asked, volumes = np.zeros((0, 16), dtype=np.uint8), 0
    for number, start in enumerate(range(0, drawn_works, _BATCH)):
        rng = np.random.Generator(np.random.SFC64([_SEED, number]))
        drawn = model.draw(rng, min(_BATCH, drawn_works - start))
        if not number:
            asked = drawn.fingerprints[~drawn.in_journal][:_LOOKUPS]
            found = found - len(asked)  # each finds itself
        found = found + _counts(asked, drawn.fingerprints)
        journal = drawn.fingerprints[drawn.in_journal]
        siblings, volumes = siblings + _counts(journal, journal) - len(journal), volumes + len(journal)
    told = {"": found / len(asked) * works / drawn_works, "journal_": siblings / max(volumes, 1)}
    figures: dict[str, Any] = {"works_drawn": drawn_works, "lookups": len(asked), "volumes": volumes}
    for prefix, strangers in told.items():
        figures |= {f"{prefix}d{bits}": round(float(n), 4) for bits, n in zip(WITHIN, strangers, strict=True)}
    return figures


def _counts(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The pairs within each of `WITHIN`."""
    apart = distances(one, other)
    return np.array([np.count_nonzero(apart <= within) for within in WITHIN])
