"""How texts are kept: compressed, beside the book, so that a later recipe can be computed from them."""

import zstandard

CODEC = "zstd"
"""Name of the compression that new texts get; stored with each text."""


def compress(text: str) -> bytes:
    """The text as it is stored."""
    return zstandard.ZstdCompressor(level=1).compress(text.encode())


def decompress(data: bytes, codec: str) -> str:
    """The text back from how it is stored."""
    if codec != CODEC:
        raise ValueError(f"A text was stored with the unknown codec {codec!r}; this version knows {CODEC!r}.")
    return zstandard.ZstdDecompressor().decompress(data).decode()
