"""Which relation two books have: the definitions of the classes, applied to what was measured.

Each class has a confidence, the product of one filter for each figure that its definition names (Spasojević and
Poncin 2011, formula 4); a filter is 1/2 on the line that the definition draws and passes to 0 and 1 within the
accuracy of the figure. The most confident class wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Literal

from app.core.signals import Sides, Signals

Kind = Literal[
    "SAME_PAGINATION",
    "DIFFERENT_PAGINATION",
    "CONTIGUOUS_SUBSET",
    "OVERLAPPING_TEXT",
    "SAME_TEXT",
    "UNRELATED",
    "INSUFFICIENT_TEXT",
]
Direction = Literal["contains", "contained_in"]

MOST = 0.8
"""Share of both books that the two pagination classes ask for."""

PART = 0.9
"""Share of a book that lies in the other one of which it is a part."""

RELATED = 0.04
"""Share of either book below which shared text is no relation."""

OTHER_BREAKS = 0.08
"""Share of the pages found that lie across page breaks where the pagination is another."""

_ACCURACY = 0.02
"""How far measured shares lie from the true ones."""
