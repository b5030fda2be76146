"""Texts for the core's tests, and a way to run them on either set of kernels."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from unittest.mock import patch

from hypothesis import strategies as st

from app.core import kernels_numpy
from app.core.signatures import kernels as compiled

KERNELS: dict[str, ModuleType] = {"compiled": compiled, "numpy": kernels_numpy}
USERS = (
    "index.records",
    "index.places",
    "text.content",
    "signatures.shingles",
    "signatures.simhash",
    "signatures.minhash",
    "signatures.page_minhash",
    "relations.alignment",
    "relations.runs",
)

TRICKY = (
    "abcxyzAÉÑœŒßẞﬁﬅ½²…-\u00ad\u2010\u2011 \t\n\r\f\v\u2028\u00a0\u3000漢字々〇かなカﾞｶガー\u3099กขั\u0e33ລ"
    "က\u1039\u0301\u0323\u093f\u0915\u094dאְبَـ한글\u1100\u1161\u11a8ㄱㅏ１٣४\u200d\u200c\ufe0f\ufeffʼΣςΆ'’.#+“”"
    "\U0001d4b3\U00020000ǅİıK℮№㌀㍿ﷺ´¨=\u0338\u20dd😀"
)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Runs the core on the compiled or on the numpy kernels."""
    patches = [patch(f"app.core.{user}.kernels", lambda: KERNELS[name]) for user in USERS]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def tricky_texts(max_size: int = 80) -> st.SearchStrategy[str]:
    """Texts of characters that the normaliser treats in special ways, after a letter."""
    few = st.lists(st.sampled_from(TRICKY), min_size=1, max_size=12, unique=True)
    text = few.flatmap(lambda chars: st.text(st.sampled_from(chars), max_size=max_size))
    characters = st.characters(exclude_categories=("Cs", "Cn"), exclude_characters="\0")
    any_text = st.text(characters, max_size=max_size)
    return st.one_of(text, any_text).map(lambda text: "a" + text)


def repeated_texts() -> st.SearchStrategy[str]:
    """Longer texts, made by repeating stretches."""
    return st.lists(st.tuples(tricky_texts(30), st.integers(1, 40)), min_size=1, max_size=6).map(
        lambda stretches: " ".join(text * times for text, times in stretches)
    )
