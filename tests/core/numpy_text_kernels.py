"""The kernels that read text in plain numpy, bit for bit what `app.core.text.kernels` computes."""

import numpy as np
from numpy.typing import NDArray

from app.core.jit import Codes
from app.core.text import unicode_table as u
from app.core.text.kernels import DONE, NEEDS_WHOLE_NFKC, TOO_SMALL

SPACE, LINE_FEED, FORM_FEED, CARRIAGE_RETURN = 0x20, 0x0A, 0x0C, 0x0D


def inspect(codes: Codes, traits: NDArray[np.uint8]) -> tuple[int, int]:
    """All traits that occur, or-ed, and the number of page breaks."""
    trait = traits[codes]
    seen = int(np.bitwise_or.reduce(trait, initial=0))
    starters = np.flatnonzero(np.concatenate(([True], (trait & u.COMBINING) == 0, [True])))
    if np.diff(starters).max() - 1 > u.MAX_COMBINING:
        seen |= u.PILE
    return seen, int(np.count_nonzero(codes == FORM_FEED))


def _last_before(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each place, where the last marked place before it is; -1 if there is none."""
    places = np.where(marked, np.arange(marked.size), -1)
    return np.concatenate(([-1], np.maximum.accumulate(places)[:-1])) if marked.size else places


def next_at(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each place, the first marked place there or after; the size if there is none."""
    places = np.where(marked, np.arange(marked.size), marked.size)
    return np.minimum.accumulate(places[::-1])[::-1]


def _joints(codes: Codes, entries: NDArray[np.uint32]) -> NDArray[np.int64]:
    """For each place after a hyphen: where the split word goes on, or -1 if no line ends there."""
    feed = codes == FORM_FEED
    second = np.zeros(codes.size, dtype=np.bool_)
    second[1:] = (codes[1:] == LINE_FEED) & (codes[:-1] == CARRIAGE_RETURN)
    line = ((entries & u.BREAK) != 0) & ~feed & ~second
    resumed = next_at((entries & (u.BREAK | u.BLANK)) == 0)
    lines, pages = (np.concatenate(([0], np.cumsum(kind))) for kind in (line, feed))
    places = np.arange(codes.size)
    line_count, page_count = lines[resumed] - lines[places], pages[resumed] - pages[places]
    lower = np.append((entries & u.LOWER) != 0, False)[resumed]
    joins = lower & (line_count <= 1) & (page_count <= 1) & (line_count + page_count > 0)
    return np.where(joins, resumed, -1)


def normalise(
    codes: Codes,
    table: NDArray[np.uint32],
    traits: NDArray[np.uint8],
    expansions: NDArray[np.uint32],
    out: Codes,
    page_starts: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Writes the normal form and the page starts; returns length, flags seen and status."""
    page_starts[0] = 0
    if codes.size == 0:
        return 0, 0, DONE
    entries = table[codes]
    special = (entries & u.SPECIAL) != 0
    action = np.where(special, entries & u.ACTION, u.COPY)
    suspect = np.append((traits[codes[1:]] & u.NFC_SUSPECT) != 0, False)
    if np.any(special & (action == u.NEEDS_NFKC)) or np.any((action == u.EXPAND) & suspect):
        return 0, 0, NEEDS_WHOLE_NFKC

    counts = np.ones(codes.size, dtype=np.int64)
    expanded = np.flatnonzero(action == u.EXPAND)
    counts[expanded] = expansions[entries[expanded] & u.CODE]
    source = np.repeat(np.arange(codes.size), counts)
    within = np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)
    element = entries[source]
    of_expansion = action[source] == u.EXPAND
    element[of_expansion] = expansions[(element[of_expansion] & u.CODE) + 1 + within[of_expansion]]

    kind_of_element = np.where((element & u.SPECIAL) != 0, element & u.ACTION, u.COPY)
    hyphen = kind_of_element == u.HYPHEN
    feed = kind_of_element == u.PAGE
    mark = kind_of_element == u.MARK
    separator = ((element & u.SEPARATOR) != 0) | hyphen
    keep = (kind_of_element == u.COPY) & ~separator

    # a hyphen joins if the last thing written is a letter and a line ends here
    last = _last_before(keep | separator)
    written = _last_before(keep | mark)
    letter = np.append((table[element & u.CODE] & u.LETTER) != 0, False)[written]
    open_word = np.append(keep, False)[last] & letter
    may_join = np.flatnonzero((hyphen | (kind_of_element == u.SOFT_HYPHEN)) & open_word)
    joint = np.append(_joints(codes, entries), -1)[source[may_join] + 1]
    skipped = np.zeros(codes.size + 1, dtype=np.int64)
    np.add.at(skipped, source[may_join[joint >= 0]], 1)
    np.subtract.at(skipped, joint[joint >= 0], 1)
    gone = (np.cumsum(skipped)[:-1] > 0)[source]
    separator &= ~gone
    keep &= ~gone
    mark &= ~gone

    after_letter = np.append(keep, False)[_last_before(keep | separator)]
    space = separator & after_letter
    emitted = keep | (mark & after_letter) | space
    dense = keep & ((element & u.KIND) == (1 << u.KIND_SHIFT))
    following = next_at(keep)
    beside = np.append(dense, False)[_last_before(keep)] & np.append(dense, False)[following]
    emitted &= ~(space & (beside | (following == keep.size)))

    size = int(np.count_nonzero(emitted))
    if size > out.size:
        return size, 0, TOO_SMALL
    out[:size] = np.where(space, SPACE, element & u.CODE)[emitted]
    starts = np.cumsum(emitted)[feed][: page_starts.size - 1]
    page_starts[1 : starts.size + 1] = starts
    return size, int(np.bitwise_or.reduce(element[keep | mark], initial=0)), DONE


def kinds_of(text: Codes, table: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> None:
    """Writes the kind of script of each code point; a mark has that of what it follows."""
    entries = table[text]
    mark = ((entries & u.SPECIAL) != 0) & ((entries & u.ACTION) == u.MARK)
    base = np.maximum.accumulate(np.where(mark, 0, np.arange(text.size)))
    kinds[:] = ((entries & u.KIND) >> u.KIND_SHIFT)[base]
