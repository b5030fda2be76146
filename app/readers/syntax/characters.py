"""Control characters and halves of surrogate pairs, taken out of what a reader found."""

from collections.abc import Sequence
from dataclasses import replace

from app.readers.extraction import Extraction

_CONTROLS = bytes(byte for byte in (*range(32), 127) if chr(byte) not in "\t\n\f\r")
"""They have the same bytes in UTF-8, where these are part of no other character."""


def with_characters_only(extraction: Extraction) -> Extraction:
    """The same book without control characters, with U+FFFD for half a surrogate pair, and warnings of it."""
    pages, controls, halves = [], 0, 0
    for page in extraction.pages:
        try:
            data = page.encode()
        except UnicodeEncodeError:
            page = page.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            data = page.encode()
            halves += 1
        text = data.translate(None, _CONTROLS)
        controls += len(data) - len(text)
        pages.append(page if text == data else text.decode())
    warnings: Sequence[str] = [
        *extraction.warnings,
        *([f"{controls:,} control characters were left out."] if controls else []),
        *([f"U+FFFD stands for half surrogate pairs; pages with them: {halves:,}."] if halves else []),
    ]
    return replace(extraction, pages=pages, warnings=warnings) if controls or halves else extraction
