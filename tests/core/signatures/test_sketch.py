"""Whole sketches: texts that differ, texts that do not, and the work that hostile texts make."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bookprint_core.errors import UnknownRecipe
from bookprint_core.model import Sketch
from bookprint_core.signatures import json_codec as signatures
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.vectors import texts

SCRIPTS = sorted(texts.SYLLABLES)


def of(text: str) -> Sketch:
    return sketch(content_from_text(text))


def test_unknown_recipe_is_refused() -> None:
    with pytest.raises(UnknownRecipe, match="Known: "):
        sketch(content_from_text("text"), "no-such-recipe-v9")


def test_threads_do_not_disturb_each_other() -> None:
    books = [texts.text(script, 1500, 4) for script in SCRIPTS]
    alone = [signatures.encode(of(book)) for book in books]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda book: signatures.encode(of(book)), books * 4))
    assert together == alone * 4


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "The cat sat on the mat and looked at the moon. " * 6_000,
        "漢" * 300_000,
        "a" + "\u00ad" * 300_000 + "b",
        "a\u00ad\n" * 100_000,
        ("a-" + " " * 50) * 5_000,
        "a-\n" * 100_000,
        ("a" + "\u0301\u0323" * 32) * 3_000,
        ("漢" + "\u3099" * 60 + " 漢") * 3_000,
        "漢" + "\f" * 100_000 + "字",
        "\ufdfa" * 30_000,
        "a " * 100_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_text_is_signed_in_time_in_proportion_to_its_length(text: str) -> None:
    """It takes a tenth of a second; what grows with the square of the length takes minutes."""
    start = time.thread_time()
    of(text)
    assert time.thread_time() - start < 4


def test_many_pages_of_one_character_are_signed() -> None:
    start = time.thread_time()
    pages = sketch(content_from_pages(["a"] * 100_000)).pages
    assert pages.values.shape == (100_000, 128)
    assert time.thread_time() - start < 5


@pytest.mark.slow
def test_text_of_64_megabytes_takes_bounded_memory() -> None:
    resource = pytest.importorskip("resource")
    unit = 1 if sys.platform == "darwin" else 1024
    numbers = (np.arange(9_200_000) * 2654435761 % (1 << 32)).astype(">u4").view(np.uint8).reshape(-1, 4)
    text = numbers[:, :3].tobytes().hex(" ", 3)
    assert len(text) > 64_000_000
    before = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = of(text)
    assert made.minhash.shingle_count > 9_000_000
    assert unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 800_000_000


def test_importing_names_and_rules_does_not_import_the_compiler() -> None:
    names = (
        "bookprint_core.model, bookprint_core.errors, bookprint_core.recipe, "
        "bookprint_core.index.fingerprints, bookprint_core.matching.verification, "
        "bookprint_core.signatures.identifier, bookprint_core.signatures.json_codec, "
        "bookprint_core.signatures.sketch, bookprint_core.text.content"
    )
    code = f"import sys, {names}; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
