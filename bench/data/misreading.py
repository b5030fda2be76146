"""Errors of machine reading, by a model independent of `app/synthesis/noise.py`.

Most errors are look-alikes: one letter for another, two for one (m read as rn) and one for two (cl read as
d). The others are lost and added letters, and split and joined words. The shares are our choice.
"""

from collections.abc import Sequence

import numpy as np

_KINDS = _MISREAD, _LOST, _ADDED, _SPLIT, _JOINED = range(5)
_SHARES = (0.70, 0.10, 0.08, 0.06, 0.06)
_MET_AGAIN = 1.03
"""Edits made per edit of the edit distance: neighbouring errors share some edits."""

_ONE = (
    "a:o,u b:h,6 c:e,o d:cl,a e:c,o f:s,t g:q,9 h:li,b i:l,1,j j:i k:lc,h l:1,i,t m:rn,nn,in n:u,ri o:0,c,e "
    "p:n,q q:g,p r:i,t s:f,5,e t:l,f u:n,ii v:y,r w:vv,u x:z,s y:v,g z:s,x A:R,4 B:8,R C:G,O D:O,I) E:F,B "
    "F:P,E G:C,6 H:II,N I:l,1 J:I K:R L:I,1 M:N,IVI N:H,M O:0,Q P:F,D Q:O R:B,K S:8,5 T:I,Y U:II,V V:Y,U "
    "W:VV,M Y:V,T Z:2 é:e,è è:e,é à:a,á á:a,à ä:a,ii ö:o,ó ó:o,6 ü:u,ii ß:B,fs ñ:n,ii "
    "ł:l,t ą:a,q ę:e,q ż:z,ź ź:z,ż ś:s,5 ć:c,é ç:c,g ſ:f,s "
    "ب:ت,ن ت:ب,ن ث:ت ن:ب,ت ي:ب,ى ج:ح,خ ح:ج,خ خ:ح د:ذ,ر ذ:د ر:ز,د ز:ر س:ش ش:س ص:ض ض:ص ط:ظ ع:غ غ:ع ف:ق "
    "ق:ف ه:ة ة:ه ا:ل,أ أ:ا إ:ا ل:ا م:ه و:ر ー:一 口:ロ 力:カ は:ほ ほ:は ば:ぱ る:ろ ろ:る ね:れ,わ め:ぬ"
)
_TWO = "rn:m cl:d li:h ri:n in:m vv:w ii:u fi:h tl:d nn:m"


def _table(entries: str) -> dict[str, list[str]]:
    return {seen: read.split(",") for seen, _, read in (entry.partition(":") for entry in entries.split())}


_LOOK_ALIKES = _table(_ONE) | _table(_TWO) | {".": [","], ",": ["."], ";": [":"], ":": [";"]}


def misread(text: str, rate: float, rng: np.random.Generator) -> str:
    """Return the text with errors, whose edits are a share `rate` (0 to 1) of its length."""
    letters = list(text)
    edits = _MET_AGAIN * rate * len(text)
    places = rng.permutation(len(text))[: round(edits)]
    kinds = rng.choice(len(_KINDS), places.size, p=_SHARES)
    draws = rng.integers(0, max(1, len(text)), places.size)
    for place, kind, draw in zip(places.tolist(), kinds.tolist(), draws.tolist(), strict=True):
        if edits < 1:
            break
        space = text.find(" ", place) if kind == _JOINED else -1
        if space >= 0:
            letters[space] = ""
        elif kind == _LOST:
            letters[place] = ""
        elif kind in (_ADDED, _SPLIT):
            letters[place] += text[draw] if kind == _ADDED else " "
        else:
            edits -= _misread(text, letters, place, draw) - 1
        edits -= 1
    return "".join(letters)


def _misread(text: str, letters: list[str], place: int, draw: int) -> int:
    """Misread one letter or two; return the number of edits."""
    pair = text[place : place + 2]
    seen = pair if pair in _LOOK_ALIKES and pair == "".join(letters[place : place + 2]) else pair[0]
    alike = _LOOK_ALIKES.get(seen)
    read = alike[draw % len(alike)] if alike else text[draw]
    letters[place : place + len(seen)] = [read, ""][: len(seen)]
    return max(len(seen), len(read))


def misread_pages(pages: Sequence[str], rate: float, seed: Sequence[int]) -> list[str]:
    """Return the pages with errors at this rate on each page."""
    rng = np.random.default_rng(seed)
    return [misread(page, rate, rng) for page in pages]
