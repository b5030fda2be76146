import json
import os
from pathlib import Path

import pytest

from bench.harness.checkout import this_checkout
from bench.harness.report import Section
from bench.load.ab import Figures, Options, Side, over_http, section, signing


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_both_sides_are_measured_in_turn(tmp_path: Path) -> None:
    kernels = Path(os.environ["NUMBA_CACHE_DIR"])  # the tests keep theirs
    sides = (Side("this", this_checkout(), kernels), Side("other", this_checkout(), kernels))
    options = Options("HEAD", books=60, rounds=1, seconds=0.5, warm_up=0.2, idle=0.5, posts=3, works=1)
    figures = Figures()
    over_http(sides, tmp_path, options, figures)
    assert signing(sides, tmp_path, 1, figures)
    # A service that is idle for half a second may take no processor time.
    assert all(one >= 0 and other >= 0 for pairs in figures.rounds.values() for one, other in pairs)
    lookups = [each for pairs in figures.answers.values() for pair in pairs for each in pair]
    assert all(each.hits > 0 and each.failed == 0 for each in lookups)
    made = section(sides, options, figures, same_signatures=True)
    text = Section.from_json(json.loads(json.dumps(made.to_json()))).to_markdown()
    assert sides[0].checkout.commit in text
    assert made.machine in text
