"""Books for the tests of the API: prose of invented words, and copies of it with scanning errors."""

from functools import cache, lru_cache
from random import Random

from tests.vectors import texts


@lru_cache(maxsize=1000)
def prose(seed: int, words: int = 4000) -> str:
    """A text whose names and topics come in bursts, as a book's do."""
    rng = Random(seed)
    common = _common_words()
    own = [_word(rng) for _ in range(60)]
    # Without calls of `choice` and `paretovariate` it takes half the time.
    random, bits, last = rng.random, rng.getrandbits, len(common) - 1
    chosen: list[str] = []
    while len(chosen) < words:
        topic = rng.sample(own, 4)
        for _ in range(200):
            rank = (1.0 - random()) ** (-1 / 0.9)
            if random() < 0.15:
                while (place := bits(3)) > 3:
                    pass
                chosen.append(topic[place])
            else:
                chosen.append(common[int(min(rank, last))])
    return " ".join(chosen[:words])


def sharing(words: int) -> list[str]:
    """Two texts that begin with so many words in common, and share nothing else."""
    return [f"{_latin(1, words)} {_latin(seed, 3_500)}" for seed in (2, 3)]


@cache
def _latin(seed: int, words: int) -> str:
    return " ".join(texts.text("latin", 2 * words, seed).split()[:words])


@cache
def _common_words() -> list[str]:
    return [_word(Random(n)) for n in range(2000)]


@lru_cache(maxsize=1000)
def scanned(text: str, seed: int, error_rate: float = 0.02) -> str:
    """The text with letters exchanged at this rate."""
    rng = Random(seed)
    return "".join(
        rng.choice("abcdefghijklmnopqrstuvwxyz") if letter != " " and rng.random() < error_rate else letter
        for letter in text
    )


def _word(rng: Random) -> str:
    return "".join(
        rng.choice("aeiou" if place % 2 else "bcdfghjklmnprstvw") for place in range(rng.randint(3, 9))
    )
