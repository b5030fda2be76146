import json
import os
from pathlib import Path

import pytest

from bench.harness.checkout import this_checkout
from bench.harness.report import Section
from bench.service.ab import Measurements, Options, Side, over_http, section, signing


@pytest.mark.slow
def test_both_sides_are_measured_in_turn(tmp_path: Path) -> None:
    kernels = Path(os.environ["NUMBA_CACHE_DIR"])  # the tests keep theirs
    sides = (Side("this", this_checkout(), kernels), Side("other", this_checkout(), kernels))
    options = Options("HEAD", books=200, rounds=1, seconds=0.5, warm_up=0.2, idle=0.5, posts=3, works=1)
    measurements = Measurements()
    answers = over_http(sides, tmp_path, options, measurements)
    assert signing(sides, tmp_path, 1, measurements)
    assert all(0.05 < ratio < 20 for each in measurements for ratio in each.ratios)
    assert all(each.hits[0] > 0 and each.failed == (0, 0) for each in answers)
    made = section(sides, options, list(measurements), answers, same_signatures=True)
    text = Section.from_json(json.loads(json.dumps(made.to_json()))).to_markdown()
    assert this_checkout().commit in text
    assert made.machine in text
