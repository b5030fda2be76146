"""Files that are no text of one book."""

import pytest

from bookprint_core.errors import NoText, SeveralBooks, UnsupportedFormat, UnusableFile
from bookprint_readers.recognition import refuse_what_is_no_book
from bookprint_readers.source import Source


def marc(title: bytes) -> bytes:
    field = b"00\x1fa" + title + b"\x1e"
    directory = b"245%04d00000\x1e" % len(field)
    base = 24 + len(directory)
    return b"%05dnam a22%05d a 4500" % (base + len(field) + 1, base) + directory + field + b"\x1d"


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"PAR1\x15\x04", SeveralBooks, "Parquet.*bookprint ingest"),
        (b'{"id": "a", "text": "b"}\n{"id": "c"}\n', SeveralBooks, "JSON.*books:bulk"),
        (b'\xef\xbb\xbf[\n {"a\\"b" : 1}]', SeveralBooks, "JSON"),
        (marc(b"Emma") + marc(b"Persuasion"), SeveralBooks, "MARC.*bookprint ingest"),
        (marc(b"Emma"), NoText, "MARC"),
        (b"\x89PNG\r\n\x1a\n", UnsupportedFormat, "picture"),
        (b"\xff\xd8\xff\xe0", UnsupportedFormat, "picture"),
        (b"\0\0\0\x0cjP  \r\n", UnsupportedFormat, "picture"),
        (b"AT&TFORM\0\0", UnsupportedFormat, "DjVu"),
        (b"Emma" + bytes(56) + b"BOOKMOBI", UnsupportedFormat, "EPUB"),
        (b"{\\rtf1 text}", UnsupportedFormat, "plain text"),
        (b"7z\xbc\xaf\x27\x1c", UnsupportedFormat, "zip or tar"),
        (b"ID3\x04\0", UnsupportedFormat, "sound"),
    ],
)
def test_the_error_says_what_the_file_is_and_what_to_do(
    data: bytes, error: type[UnusableFile], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        refuse_what_is_no_book(Source.of_bytes(data, "file"))
