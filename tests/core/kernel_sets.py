"""Texts for the core's tests, and a way to run them on the compiled kernels or on their numpy oracle."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from hypothesis import strategies as st

from app.core.index import kernels as index_kernels
from app.core.relations import kernels as page_kernels
from app.core.signatures import kernels as signature_kernels, shingle_kernels
from app.core.text import kernels as text_kernels
from tests.core import numpy_kernels

COMPILED: dict[ModuleType, tuple[str, ...]] = {
    text_kernels: ("inspect", "normalise", "kinds_of"),
    signature_kernels: (
        "count_ngrams",
        "weigh",
        "vote",
        "repeated",
        "minhash",
        "one_permutation_minhash",
    ),
    shingle_kernels: ("shingle_words", "shingle_tokens"),
    index_kernels: ("rows_within", "count_sharing"),
    page_kernels: ("page_similarities", "compare_neighbours", "smith_waterman", "trace_path"),
}
KERNELS: dict[str, object] = {
    "compiled": SimpleNamespace(
        **{name: getattr(module, name) for module, names in COMPILED.items() for name in names}
    ),
    "numpy": numpy_kernels,
}

TRICKY = (
    "abcxyzAÉÑœŒßẞﬁﬅ½²…-\u00ad\u2010\u2011 \t\n\r\f\v\u2028\u00a0\u3000漢字々〇かなカﾞｶガー\u3099กขั\u0e33ລ"
    "က\u1039\u0301\u0323\u093f\u0915\u094dאְبَـ한글\u1100\u1161\u11a8ㄱㅏ１٣४\u200d\u200c\ufe0f\ufeffʼΣςΆ'’.#+“”"
    "\U0001d4b3\U00020000ǅİıK℮№㌀㍿ﷺ´¨=\u0338\u20dd😀"
)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Runs the core on the compiled or on the numpy kernels."""
    with ExitStack() as patches:
        for module, names in COMPILED.items():
            for kernel in names:
                patches.enter_context(patch.object(module, kernel, getattr(KERNELS[name], kernel)))
        yield


def tricky_texts(max_size: int = 80) -> st.SearchStrategy[str]:
    """Texts of characters that the normaliser treats in special ways, after a letter."""
    snippets = st.lists(st.sampled_from(TRICKY), min_size=1, max_size=12, unique=True)
    text = snippets.flatmap(lambda chars: st.text(st.sampled_from(chars), max_size=max_size))
    characters = st.characters(exclude_categories=("Cs", "Cn"), exclude_characters="\0")
    any_text = st.text(characters, max_size=max_size)
    return st.one_of(text, any_text).map(lambda text: "a" + text)


def repeated_texts() -> st.SearchStrategy[str]:
    """Longer texts, made by repeating spans."""
    return st.lists(st.tuples(tricky_texts(30), st.integers(1, 40)), min_size=1, max_size=6).map(
        lambda spans: " ".join(text * times for text, times in spans)
    )
