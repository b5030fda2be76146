"""How far similarities from signatures are from the cosine (Mohammadi and Nikoukaran 2018, V)."""

from dataclasses import dataclass

import numpy as np

from research.cosine.letter_grams import Rows


@dataclass(frozen=True, slots=True)
class Errors:
    """Over all pairs of two different texts."""

    mean_absolute: float
    mean_squared: float
    variance: float
    bias: float  # the mean error
    pairs: int


def errors(similarities: Rows, truth: Rows) -> Errors:
    """The errors of the pairs above the diagonal; both matrices (texts, texts).

    Equation 2 there has no absolute value and divides by the documents: read as the mean over pairs.
    Equation 3, their variance, is read as the mean square: only so does their simhash row come out.
    """
    upper = np.triu_indices(len(truth), 1)
    differences = similarities[upper].astype(np.float64) - truth[upper]
    return Errors(
        mean_absolute=float(np.abs(differences).mean()),
        mean_squared=float((differences**2).mean()),
        variance=float(differences.var()),
        bias=float(differences.mean()),
        pairs=differences.size,
    )
