"""Texts of characters that the normaliser and the kernels treat in special ways."""

from hypothesis import strategies as st

TRICKY = (
    "abcxyzAÉÑœŒßẞﬁﬅ½²…-\u00ad\u2010\u2011 \t\n\r\f\v\u2028\u00a0\u3000漢字々〇かなカﾞｶガー\u3099กขั\u0e33ລ"
    "က\u1039\u0301\u0323\u093f\u0915\u094dאְبَـ한글\u1100\u1161\u11a8ㄱㅏ１٣४\u200d\u200c\ufe0f\ufeffʼΣςΆ'’.#+“”"
    "\U0001d4b3\U00020000ǅİıK℮№㌀㍿ﷺ´¨=\u0338\u20dd😀"
)


FOLDED = (
    "กนมเา\u0e33\u0e4d\u0e49\u0e48\u0e34\u0e31๑ລ\u0eb3\u0ecd\u0ec9က\u102c\u1039ខ\u17d2\u17c6\u17b4"
    "אבשמ\u05b6\u05c1\u05bf\u05be\u0591\ufb2aعبيوا\u064b\u0651\u0670\u0654\u0640\u06e5\u06dd\u06de\ufe71\ufe70\ufefbܐܒ\u0730\u0711"
)
"""Characters of scripts whose normal form is folded, and what is folded in them."""


def folded_texts() -> st.SearchStrategy[str]:
    """Texts mostly of scripts that are folded."""
    return st.text(st.sampled_from(FOLDED + 3 * " " + "a漢か-\u00ad\n\f\u200b.\u0301"), max_size=60).map(
        lambda text: "نมש" + text
    )


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
