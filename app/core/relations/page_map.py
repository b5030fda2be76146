"""The page map of two books as it is stored: which pages match, and how alike they are."""

import numpy as np
from numpy.typing import NDArray

from app.core.relations.alignment import Alignment, concatenated

SIMILARITY_STEPS = 255
"""Similarities in a page map are kept in so many steps."""


def page_map(alignment: Alignment) -> NDArray[np.int32]:
    """The matching pages, run by run: left page, right page and similarity in 255ths; (pairs, 3)."""
    every = concatenated(alignment.runs)
    return np.column_stack([every.pairs, np.rint(every.similarities * SIMILARITY_STEPS)]).astype(np.int32)


def run_bounds(alignment: Alignment) -> NDArray[np.int32]:
    """Each run's first page and the one after the last, in the left book and then the right; (runs, 4)."""
    bounds = [(*run.left, *run.right) for run in alignment.runs]
    return np.array(bounds, dtype=np.int32).reshape(-1, 4)
