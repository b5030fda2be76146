"""Processor time as a sum of terms with coefficients that are not negative, fitted by relative errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

Terms = Mapping[str, float]
"""The value of each term in one run, as the number of books."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """What each unit of a term takes."""

    seconds: Mapping[str, float]  # per unit of the term
    largest_error: float  # of the fit, as a share of what was measured; 0 where it cannot be otherwise

    @classmethod
    def fit(cls, runs: Sequence[Terms], seconds: Sequence[float]) -> "CostModel":
        """The model that is nearest to measured seconds."""
        names = list(runs[0])
        measured = np.array(seconds)
        terms = np.array([[run[name] for name in names] for run in runs])
        # Scaled, so that a term of N² does not swallow the others by its size.
        scale = np.abs(terms).max(axis=0).clip(min=1e-300)
        found, _ = nnls(terms / scale / measured[:, None], np.ones(measured.size))
        coefficients = found / scale
        errors = np.abs(terms @ coefficients / measured - 1)
        return cls(dict(zip(names, coefficients.tolist(), strict=True)), float(errors.max()))

    def predict(self, run: Terms) -> float:
        """Seconds of a run with these terms."""
        return sum(self.seconds[name] * value for name, value in run.items())
