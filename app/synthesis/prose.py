"""Prose of a made-up language: evenly spread common words, and a book's own names and topics in clusters.

All books have one vocabulary, in which the word of rank r has a probability proportional to 1 / (r + 2.7)
(Zipf-Mandelbrot), as in real languages. A text changes between modes of writing (talk, narration,
description), each of which prefers some words.

A book is a sequence of scenes. Each scene repeats a few of the book's people and topics, which are rare
elsewhere. All other words are drawn from the common vocabulary in the book's own style.

The constants are fitted to chunks of one real novel. Under tf-simhash and gap-simhash, volumes of one author
have the same distances as real volumes: to each other, to other books and to their copies.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ONSETS = "- t n s h r l d m th w c b st f p g br ch v sh tr pr dr gr j"
VOWELS = "e a o i u ea ou ai"
CODAS = "- - - n r s l t nd m st th rd ck"
"""Sounds of a syllable, the most common first; a hyphen means no sound."""

_SYLLABLE = tuple(tuple(sounds.replace("-", "").split(" ")) for sounds in (ONSETS, VOWELS, CODAS))

VOCABULARY = 12_000
COMMON = 150
"""Number of words, the most common ones, that have one syllable."""
SYLLABLES = (0.2, 0.5, 0.25, 0.05)
"""Shares of the other words with one, two, three and four syllables."""
MODES = 4
MODE_SPREAD = 1.2
"""Standard deviation of the log of a word's preference in one mode."""

AUTHOR_SPREAD = 0.35
"""Standard deviation of the log of an author's preference for a word."""
BOOK_SPREAD = 0.2
"""Standard deviation of the log of a book's preference for a word, in addition to its author's."""

PEOPLE = (6, 16)
TOPICS = (60, 160)
SCENE_WORDS = (250, 1200)
SCENE_PEOPLE = 3
SCENE_TOPICS = 8
NAMED = 0.025
"""Share of words that are names of people."""
TOPICAL = 0.025
"""Share of words that are topics of the scene."""
FAMILIAR_NAMES = 60
"""Number of first names of the language. Half of a book's people have one of these, as in real books."""
SENTENCE_WORDS = (4, 26)
PARAGRAPH_SENTENCES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """Words in order of rank, and the probability of every word in every mode."""

    words: tuple[str, ...]
    likelihoods: NDArray[np.float64]  # (modes, words), each row sums to 1


def word(rng: np.random.Generator, syllables: int) -> str:
    """Return a pronounceable word with this number of syllables."""
    parts = []
    for _ in range(syllables):
        for sounds in _SYLLABLE:
            parts.append(sounds[int(len(sounds) * rng.random() ** 1.4)])
    return "".join(parts)


@lru_cache(maxsize=4)
def language(seed: int = 0) -> Language:
    """Return the language of this seed; all books of one language share its vocabulary."""
    rng = np.random.default_rng([0x1A06, seed])
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 if len(words) < COMMON else rng.choice(len(SYLLABLES), p=SYLLABLES) + 1
        words.setdefault(word(rng, int(syllables)))
    ranks = np.arange(VOCABULARY)
    zipf = 1 / (ranks + 2.7)
    preferences = np.exp(MODE_SPREAD * rng.standard_normal((MODES, VOCABULARY)))
    likelihoods = zipf * preferences
    return Language(tuple(words), likelihoods / likelihoods.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The author, style and topics of a book."""

    language: Language
    author: str
    lexicon: NDArray[np.object_]  # words of the language, then names
    capitalised: NDArray[np.object_]
    cumulative: NDArray[np.float64]  # (modes, words); each row ends at 1
    people: NDArray[np.intp]  # indices into the lexicon
    topics: NDArray[np.intp]
    prominence: NDArray[np.float64]  # of the people, sums to 1


@lru_cache(maxsize=4)
def _familiar_names(language: Language) -> tuple[str, ...]:
    rng = np.random.default_rng(len(language.words))
    return tuple(word(rng, 2).capitalize() for _ in range(FAMILIAR_NAMES))


def world(language: Language, author: np.random.Generator, rng: np.random.Generator) -> World:
    """Return a world with author and people from `author`, and topics and style of a book from `rng`."""
    count = int(author.integers(*PEOPLE))
    familiar = _familiar_names(language)
    names = [
        str(author.choice(familiar)) if author.random() < 0.5 else word(author, 2).capitalize()
        for _ in range(count)
    ]
    size = len(language.words)
    style = AUTHOR_SPREAD * author.standard_normal(size) + BOOK_SPREAD * rng.standard_normal(size)
    cumulative = np.cumsum(language.likelihoods * np.exp(style), axis=1)
    lexicon = np.array([*language.words, *names], dtype=object)
    prominence = 1 / np.arange(1, count + 1)
    return World(
        language=language,
        author=f"{author.choice(familiar)} {word(author, 2).capitalize()}",
        lexicon=lexicon,
        capitalised=np.array([each.capitalize() for each in lexicon], dtype=object),
        cumulative=cumulative / cumulative[:, -1:],
        people=np.arange(size, size + count),
        topics=rng.choice(np.arange(200, size), int(rng.integers(*TOPICS)), replace=False),
        prominence=prominence / prominence.sum(),
    )


def title(world: World, rng: np.random.Generator) -> str:
    """Return a title made of the book's own people and topics."""
    person = world.capitalised[rng.choice(world.people)]
    topic = world.capitalised[rng.choice(world.topics)]
    patterns = (f"{person} and the {topic}", f"The {topic} of {person}", f"{topic}: A Tale of {person}")
    return str(rng.choice(patterns))


def _scene(world: World, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the words of one scene."""
    size = int(rng.integers(*SCENE_WORDS))
    people = rng.choice(world.people, SCENE_PEOPLE, replace=False, p=world.prominence)
    topics = rng.choice(world.topics, SCENE_TOPICS, replace=False)
    mode = np.repeat(rng.integers(0, MODES, size // 60 + 1), 60)[:size]
    words = np.empty(size, dtype=np.intp)
    draws = rng.random(size)
    for each in range(MODES):
        words[mode == each] = np.searchsorted(world.cumulative[each], draws[mode == each])
    kind = rng.random(size)
    named, topical = kind < NAMED, (kind >= NAMED) & (kind < NAMED + TOPICAL)
    words[named] = rng.choice(people, int(named.sum()))
    words[topical] = rng.choice(topics, int(topical.sum()))
    return words


def prose(world: World, characters: int, rng: np.random.Generator) -> str:
    """Return about `characters` characters of the book's prose; blank lines separate paragraphs."""
    pieces: list[str] = []
    length = 0
    while length < characters:
        scene = _punctuated(world, _scene(world, rng), rng)
        pieces.append(scene)
        length += len(scene)
    return "".join(pieces)[:characters].rstrip()


def _punctuated(world: World, words: NDArray[np.intp], rng: np.random.Generator) -> str:
    lengths = rng.integers(*SENTENCE_WORDS, size=words.size // SENTENCE_WORDS[0] + 1)
    ends = np.cumsum(lengths) - 1
    ends = np.append(ends[ends < words.size - 1], words.size - 1)
    starts = np.append(0, ends[:-1] + 1)
    text = world.lexicon[words]
    text[starts] = world.capitalised[words[starts]]
    after = np.full(words.size, " ", dtype=object)
    after[rng.random(words.size) < 0.06] = ", "
    after[ends] = np.where(rng.random(ends.size) < 0.9, ". ", "? ")
    after[ends[rng.random(ends.size) < 1 / PARAGRAPH_SENTENCES]] = ".\n\n"
    after[-1] = ".\n\n"
    pieces = np.empty(2 * words.size, dtype=object)
    pieces[0::2], pieces[1::2] = text, after
    return "".join(pieces)
