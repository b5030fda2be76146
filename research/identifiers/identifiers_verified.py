"""F1 of verified near-duplicates on sets made as in Vladimir et al. (2015) and on the hard set."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.harness.report import Cell, Section, Table
from bookprint_core.matching.verification import VERIFICATION, Candidates, verified
from research.identifiers.candidate_pairs import CandidatePairs, candidate_pairs
from research.identifiers.paper_sets import FULL, HARD, SHORT, SetPlan, SignedSet, signed_set

_FIGURES = ["precision", "recall", "F1", "F1 of pairs", "false pairs of one work", "false pairs of two works"]
_HEADERS = ["set", "texts", "recall of candidates", *_FIGURES, "wanted F1"]
WANTED = {FULL.name: 0.99, HARD.name: 0.99, SHORT.name: 0.97}


def run(out_dir: Path) -> Section:
    """Verify every set; takes some minutes, and more to make the sets."""
    return measure((FULL, HARD, SHORT))


def measure(plans: Sequence[SetPlan]) -> Section:
    """Return the table of these sets."""
    rows: list[list[Cell]] = []
    for plan in plans:
        texts = signed_set(plan)
        proposed = candidates(texts)
        found = figures(texts, proposed, accepted(texts, proposed))
        rows.append([plan.name, texts.caption, *found, WANTED.get(plan.name)])
    return Section(
        title="Verified near-duplicates on sets made as in Vladimir et al. (2015)",
        command="python -m research identifiers_verified",
        tables=[Table(_HEADERS, rows, "Every text asks for its near-duplicates without a distance")],
        notes=[
            "Every canonical text is a class of its own, as there; here two may be cut from one "
            "work. Precision and recall are means over queries; F1 the mean of their harmonic means, “F1 of "
            "pairs” pools all pairs. Candidates are found as the band index finds them: within "
            f"{VERIFICATION.distance_unsampled} bits, or with {VERIFICATION.min_shared} shared hashes of "
            "their samples. The hard set is that of `python -m bench fingerprints`. The rule's steps "
            "were chosen on these sets, so they look a little better there than elsewhere.",
        ],
    )


def candidates(texts: SignedSet) -> CandidatePairs:
    """Return the candidates that the band index would propose for each text of a set."""
    return candidate_pairs(texts, VERIFICATION.distance_unsampled, VERIFICATION.min_shared)


def accepted(texts: SignedSet, proposed: CandidatePairs) -> NDArray[np.bool_]:
    """Return for each candidate, in query order, whether the verification rule accepts it."""
    levels = texts.levels[proposed.query], texts.levels[proposed.other]
    return verified(Candidates.between(*levels, proposed.distance, proposed.shared))


def figures(texts: SignedSet, proposed: CandidatePairs, verdicts: NDArray[np.bool_]) -> list[Cell]:
    """Return recall of candidates; precision, recall, F1 by query; F1 of pairs; false pairs."""
    right = texts.books[proposed.query] == texts.books[proposed.other]
    one_work = texts.works[proposed.query] == texts.works[proposed.other]
    wanted, asked = texts.wanted, texts.wanted > 0
    seen = _per_query(texts, proposed, right)
    per_query = _per_query(texts, proposed, verdicts)
    hits = _per_query(texts, proposed, verdicts & right)
    precision = np.where(per_query > 0, hits / np.maximum(per_query, 1), 1.0)
    return [
        float((seen[asked] / wanted[asked]).mean()),
        float(precision[asked].mean()),
        float((hits[asked] / wanted[asked]).mean()),
        float((2 * hits[asked] / (per_query[asked] + wanted[asked])).mean()),
        float(2 * hits.sum() / (per_query.sum() + wanted.sum())),
        int((verdicts & ~right & one_work).sum()) // 2,
        int((verdicts & ~right & ~one_work).sum()) // 2,
    ]


def _per_query(texts: SignedSet, proposed: CandidatePairs, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.asarray(np.bincount(proposed.query[chosen], minlength=texts.size))
