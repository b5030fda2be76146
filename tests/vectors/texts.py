"""Texts of invented words in many scripts, the same on every machine and every Python."""

from collections.abc import Sequence

SYLLABLES = {
    "latin": "ba ce do fi gu ha je ko li mu na pe qui ro si tu ve wo xa yn the and ing er",
    "french": "é è ça où la œu ré ché bon jou ni çoi ê dé pas le une ô vre qu'",
    "german": "ß ü der sch ö ei ä ung ver ich auf la wie tz ge ber ſt",
    "russian": "на ко ё ть ше ста ро й вы де лю ща мы бо ю ни ъе гра",
    "greek": "τη ος ά και ψυ χή ὁ λό γου ἐν ἀρ θε φω ξύ ις ῶν μα",
    "arabic": "ال كت اب وَ من ْد رُو قا ل في هذ ا بي ت شم ـس",
    "hebrew": "של ום אֶ רץ בי ת מל ך הר כת בו שמ ים אר",
    "hindi": "का की है में ज्ञ स्त्र भा र त ने हिं दी क्ष या प्रे म",
    "thai": "กา รน้ำ ที่ เป็น ไม่ คน มา ก็ ให้ วัน นี้ ดี",
    "chinese": " ".join(chr(0x4E00 + 37 * k) for k in range(400)),
    "japanese": "の に は を た が で て と し れ さ あ る 、 ア イ ウ カ ガ ー 。 漢 字 東 京 "
    + " ".join(chr(0x5000 + 61 * k) for k in range(200)),
    "korean": " ".join(chr(0xAC00 + 91 * k) for k in range(120)),
    "georgian": "და არ ის რო მ ქა ლა ქი სა ხე ლი ბი",
}
"""The syllables of words, by script."""

UNSPACED = ("thai", "chinese", "japanese")


class Dice:
    """A linear congruential generator (Knuth's MMIX constants), so that no library's random numbers enter."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` − 1."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self._state >> 33) * limit >> 31

    def one_of(self, things: Sequence[str]) -> str:
        """One of them."""
        return things[self.below(len(things))]


def text(script: str, words: int, seed: int) -> str:
    """So many words, common or in bursts; sentences, lines, and words split at a line's end."""
    dice = Dice(seed)
    syllables = SYLLABLES[script].split()
    longest = 3 if script in UNSPACED else 4
    vocabulary = ["".join(dice.one_of(syllables) for _ in range(1 + dice.below(longest))) for _ in range(300)]
    parts: list[str] = []
    column = 0
    for place in range(words):
        topic = 200 + 20 * (place // 250 % 5)
        common = dice.below(1 + dice.below(200))
        word = vocabulary[topic + dice.below(20) if dice.below(5) == 0 else common]
        if dice.below(12) == 0:
            word = word[0].upper() + word[1:] + dice.one_of([".", ",", "!", " …", "”", ";"])
        column += len(word) + 1
        if column > 66 and script not in UNSPACED and len(word) > 4 and dice.below(2):
            parts.append(word[:2] + dice.one_of(["-\n", "\u00ad\n", "- \r\n"]) + word[2:] + " ")
            column = 0
        elif column > 66:
            parts.append(word + "\n")
            column = 0
        else:
            parts.append(word if script in UNSPACED else word + " ")
    return "".join(parts)


def pages(script: str, count: int, words: int, seed: int) -> list[str]:
    """So many pages, a blank one among them."""
    return ["" if page == 1 else text(script, words, seed + page) for page in range(count)]
