"""Files made to do harm, or damaged on their way: each is read or refused within bounds."""

import gzip
import io
import random
import resource
import tarfile
import time
from itertools import product
from pathlib import Path

import pytest

from bookprint_core.errors import BrokenFile, EncryptedFile, FileTooLarge, UnusableFile
from bookprint_readers import source
from bookprint_readers.package import FREE_EXPANSION, expanded, open_package
from bookprint_readers.recognition import read_book
from bookprint_readers.source import MOST_BYTES, Source
from tests.readers.damage import DAMAGES
from tests.readers.limits import SECONDS
from tests.readers.made_files import MADE_FILES, zipped


def read(data: bytes, name: str = "file") -> str:
    """The text, or the kind of refusal; fails where it takes too much processor time."""
    begun = time.process_time()
    try:
        result, reason = "\n".join(read_book(Source.of_bytes(data, name)).pages), "."
    except UnusableFile as exc:
        result, reason = type(exc).__name__, str(exc)
    assert reason.endswith("."), "a refusal is a sentence"
    assert time.process_time() - begun < SECONDS
    return result


@pytest.mark.parametrize("name", MADE_FILES)
def test_the_made_files_are_read(name: str) -> None:
    assert "word" in read(MADE_FILES[name], name)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 20), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", MADE_FILES)
def test_damaged_files_are_read_or_refused(name: str, seeds: range) -> None:
    for damage, seed in product(DAMAGES, seeds):
        read(damage(MADE_FILES[name], random.Random(seed)), name)


@pytest.mark.parametrize("other", ["file.epub", "file.pdf", "file.txt"])
@pytest.mark.parametrize("name", MADE_FILES)
def test_a_wrong_name_changes_nothing(name: str, other: str) -> None:
    assert read(MADE_FILES[name], other) == read(MADE_FILES[name], name)


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\x00\xff" * 500, b"<", b"PK\x03\x04", b"%PDF-1.7", b"\x1f\x8b"]
)
def test_scraps_are_refused(data: bytes) -> None:
    assert read(data) in {"UnsupportedFormat", "BrokenFile", "NoText"}


def test_deep_nesting_is_no_crash() -> None:
    for opening, closing in (
        (b"<alto>", b"</alto>"),
        (b"<html><div>", b""),
        (b"<TEI>", b"</TEI>"),
        (b"<b>", b""),
    ):
        read(opening * 100_000 + b"word" + closing * 100_000)


def test_what_a_zip_expands_to_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1 << 20)
    page = b"word " * 10_000
    assert "word" in read(zipped({f"{number}.txt": page for number in range(20)}))
    assert read(zipped({f"{number}.txt": page for number in range(21)})) == "FileTooLarge"


def test_what_gzip_expands_to_is_bounded() -> None:
    part = gzip.compress(bytes(1 << 24))
    bomb = part * (MOST_BYTES // (1 << 24) + 1)
    with pytest.raises(FileTooLarge, match="Send it uncompressed"):
        expanded(Source.of_bytes(bomb, "bomb.gz"))
    assert expanded(Source.of_bytes(part * (FREE_EXPANSION >> 24), "even.gz")).size == FREE_EXPANSION


def test_archives_in_archives_are_not_opened_for_ever() -> None:
    data = zipped({"1.txt": b"word"})
    for _ in range(30):
        data = zipped({"inner.zip": data})
    assert read(data) in {"UnsupportedFormat", "BrokenFile", "NoText", "SeveralBooks"}


def test_paths_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    before = sorted(tmp_path.parent.rglob("*"))
    names = ["../../evil.txt", "/tmp/evil.txt", "a/../../b.txt", "C:\\evil.txt"]
    read(zipped(dict.fromkeys(names, b"word")))
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        link = tarfile.TarInfo("1.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"word"))
    assert "root:" not in read(tar.getvalue())
    assert sorted(tmp_path.parent.rglob("*")) == before
    assert not Path("/tmp/evil.txt").exists()


def test_a_zip_with_a_password_says_so() -> None:
    data = bytearray(zipped({"1.txt": b"word"}))
    data[6] |= 1  # in the member's header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    with pytest.raises(EncryptedFile):
        open_package(Source.of_bytes(bytes(data), "locked.zip"))


def test_a_directory_that_promises_too_much_is_damage() -> None:
    data = zipped({"1.txt": b"word " * 1000})
    with pytest.raises(BrokenFile):
        open_package(Source.of_bytes(data[: len(data) // 2], "half.zip"))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileTooLarge):
        Source.of_file(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # KiB
