"""The vote of several copies on a page: for each place of it, the reading that most copies share.

Each copy has one vote on each character, and on what stands between two characters. Where two readings have
as many votes, the best copy's stays.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from app.core.clusters.page_reading import ABSENT, SILENT, PageReading, codes_of


@dataclass(frozen=True, slots=True)
class VotedPage:
    """What copies have voted for."""

    characters: Sequence[str]  # in place of each character of the page; "": none
    insertions: Sequence[str]  # before each of them, and after the last
    agreement: float  # share of the copies that have the chosen character, over all places; 0 to 1


def vote(text: str, readings: Sequence[PageReading]) -> VotedPage:
    """The outcome for a page that the best copy has as `text`, of at least one character.

    >>> from app.core.clusters.page_reading import FramedPage, page_reading
    >>> others = ["\\fthe salt roads\\f", "\\ftlie salt road,\\f"]
    >>> readings = [page_reading(FramedPage("thc salt road", "", ""), other) for other in others]
    >>> "".join(vote("thc salt road", readings).characters)
    'the salt road'
    """
    votes = np.stack([codes_of(text), *(reading.codes for reading in readings)])
    characters = list(text)
    agreeing = 0.0
    places = np.flatnonzero((votes != votes[0]).any(axis=0))
    for place in places.tolist():
        counts = Counter(votes[:, place].tolist())
        counts.pop(SILENT, None)
        winner, most = max(
            counts.items(), key=lambda item: item[1]
        )  # of equal ones, the best copy's is first
        characters[place] = "" if winner == ABSENT else chr(winner)
        agreeing += most / counts.total()
    agreeing += len(text) - places.size
    return VotedPage(characters, _insertions(votes, readings), agreeing / len(text))


def _insertions(votes: NDArray[np.int32], readings: Sequence[PageReading]) -> list[str]:
    size = votes.shape[1]
    chosen = [""] * (size + 1)
    for place in sorted({place for reading in readings for place in reading.insertions}):
        heard = votes[:, max(place - 1, 0) : place + 1] != SILENT
        added = [reading.insertions[place] for reading in readings if place in reading.insertions]
        chosen[place] = _shared(added, int(heard.any(axis=1).sum()))
    return chosen


def _shared(added: Sequence[str], voters: int) -> str:
    """What most of so many voters add at a place, where some of them add these texts."""
    [(text, count)] = Counter(added).most_common(1)
    if count > voters - len(added):
        return text
    if 2 * len(added) <= voters:
        return ""
    # All but a few add something, each something else: the characters that more than half of all share.
    base = added[0]
    counts = np.ones(len(base), dtype=np.int64)
    for other in added[1:]:
        for block in Levenshtein.editops(base, other).as_matching_blocks():
            counts[block.a : block.a + block.size] += 1
    return "".join(np.array(list(base))[2 * counts > voters])
