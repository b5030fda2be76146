"""Values of MARC fields in the form of the catalogue: text without ISBD punctuation, BCP 47 languages.

MARC's language codes are the bibliographic codes of ISO 639-2. BCP 47 uses the shortest code of a language.
"""

import re
from collections.abc import Mapping

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200c\u200d\ufeff]+")
"""Control characters, including begin and end of text that is ignored in sorting."""

_MARKS = " \t,;:/="
_KEPT_PERIOD = re.compile(r"(?:\.\.|\b[^\W\d_]{1,2})\.$")
"""Pattern of the end of an initial, a short abbreviation or an ellipsis."""


def plain(text: str) -> str:
    """Return the text on one line, without control characters."""
    return " ".join(_CONTROL.sub("", text.translate(_LINE_ENDS)).split())


def is_utf8(data: bytes) -> bool:
    """Return whether the bytes are a text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def trimmed(text: str) -> str:
    """Return the plain text without ISBD punctuation at its end.

    >>> trimmed("Summerland /"), trimmed("Austen, Jane,"), trimmed("Smith, J."), trimmed("Random House.")
    ('Summerland', 'Austen, Jane', 'Smith, J.', 'Random House')
    """
    text = plain(text).rstrip(_MARKS)
    if text.endswith(".") and not _KEPT_PERIOD.search(text):
        text = text[:-1].rstrip(_MARKS)
    return unbracketed(text)


def unbracketed(text: str) -> str:
    """Return the text without brackets around the whole.

    The brackets mark text that is not on the title page.
    """
    inner = text[1:-1]
    return inner.strip() if text[:1] == "[" and text[-1:] == "]" and not set("[]") & set(inner) else text


_LINE_ENDS = str.maketrans("\t\n\r", "   ")

_SHORT = """
aar:aa abk:ab afr:af aka:ak alb:sq amh:am ara:ar arg:an arm:hy asm:as ava:av ave:ae aym:ay aze:az bak:ba
bam:bm baq:eu bel:be ben:bn bih:bh bis:bi bos:bs bre:br bul:bg bur:my cat:ca cha:ch che:ce chi:zh chu:cu
chv:cv cor:kw cos:co cre:cr cze:cs dan:da div:dv dut:nl dzo:dz eng:en epo:eo est:et ewe:ee fao:fo fij:fj
fin:fi fre:fr fry:fy ful:ff geo:ka ger:de gla:gd gle:ga glg:gl glv:gv gre:el grn:gn guj:gu hat:ht hau:ha
heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu ibo:ig ice:is ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik
ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko
kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mac:mk mah:mh mal:ml mao:mi
mar:mr may:ms mlg:mg mlt:mt mon:mn nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nno:nn nob:nb nor:no nya:ny
oci:oc oji:oj ori:or orm:om oss:os pan:pa per:fa pli:pi pol:pl por:pt pus:ps que:qu roh:rm rum:ro run:rn
rus:ru sag:sg san:sa sin:si slo:sk slv:sl sme:se smo:sm sna:sn snd:sd som:so sot:st spa:es srd:sc srp:sr
ssw:ss sun:su swa:sw swe:sv tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tib:bo tir:ti ton:to tsn:tn
tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh
yid:yi yor:yo zha:za zul:zu
"""
"""ISO 639-2/B codes with their ISO 639-1 codes."""

_FORMER = """
cam:km esp:eo eth:gez far:fo fri:fy gae:gd gag:gl gal:om gua:gn int:ia iri:ga kus:kos lan:oc lap:smi
max:gv mla:mg mol:ro sao:sm scc:sr scr:hr sho:sn snh:si sso:st swz:ss tag:tl taj:tg tar:tt tru:chk
tsw:tn
"""
"""Discontinued codes of the MARC Code List for Languages."""

_NO_LANGUAGE = frozenset(("", "mul", "und", "zxx", "mis", "|||", "xxx", "n/a"))


def _pairs(text: str) -> Mapping[str, str]:
    return dict(pair.split(":") for pair in text.split())


_TAGS = {**_pairs(_FORMER), **_pairs(_SHORT)}
_CODES = {tag: code for code, tag in _pairs(_SHORT).items()}


def tag_of(code: str) -> str | None:
    """Return the BCP 47 tag of a MARC code; None if the code does not name a single language.

    >>> tag_of("ger"), tag_of("scc"), tag_of("grc"), tag_of("mul")
    ('de', 'sr', 'grc', None)
    """
    code = code.strip().lower()
    if code in _NO_LANGUAGE or len(code) != 3 or not (code.isascii() and code.isalpha()):
        return None
    return _TAGS.get(code, code)


def code_of(tag: str) -> str | None:
    """Return the MARC code of a BCP 47 tag, without script and region; None if there is no code.

    >>> code_of("de-AT"), code_of("grc"), code_of("German")
    ('ger', 'grc', None)
    """
    language = tag.replace("_", "-").partition("-")[0].lower()
    if len(language) == 3 and language.isascii() and language.isalpha():
        return language
    return _CODES.get(language)
