"""100 malformed files made of the real ones of BOOKPRINT_FORMATS, each read or refused within limits."""

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import FileTooLarge
from app.readers.source import Source
from tests.readers.damage import DAMAGES
from tests.readers.limits import outcome_within_limits
from tests.readers.made_files import zipped

FOLDER = Path(os.environ.get("BOOKPRINT_FORMATS", "/nonexistent"))
FILES = 100
SEED = 17
LARGEST = 1 << 20
"""Bytes of a file that is damaged; what is larger takes its time undamaged, too."""

NAMES = ("book.epub", "book.pdf", "book.txt", "book.zip", "book")


def nested(data: bytes, draw: random.Random) -> bytes:
    """The file in archives within archives."""
    for depth in range(draw.randint(1, 10)):
        data = zipped({f"{depth}.zip": data})
    return data


def outside(data: bytes, draw: random.Random) -> bytes:
    """The file in an archive under names that lead out of it."""
    return zipped({"../../evil.txt": data, "/tmp/bookprint-evil.txt": data, f"{draw.random()}/../../a": data})


def locked(data: bytes, _: random.Random) -> bytes:
    """An archive whose members claim to be encrypted; what is none is put into one."""
    archive = data if data.startswith(b"PK") else zipped({"1.txt": data})
    return archive.replace(b"PK\x01\x02", b"PK\x01\x02\x14\x00\x14\x00\x01\x00", 1)


def repeated(data: bytes, draw: random.Random) -> bytes:
    """An archive of many members with the same content."""
    return zipped({f"{n}.xml": data for n in range(draw.randint(2, 30))}) if len(data) < 100_000 else data[:9]


def emptied(_: bytes, draw: random.Random) -> bytes:
    """Nothing, or nothing but zeros."""
    return bytes(draw.choice((0, 1, 1 << 20)))


MORE: tuple[Callable[[bytes, random.Random], bytes], ...] = (nested, outside, locked, repeated, emptied)


@pytest.mark.slow
@pytest.mark.formats
@pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_FORMATS names no folder")
def test_malformed_files_are_read_or_refused() -> None:
    draw, outcomes, failed = random.Random(SEED), Counter[str](), []
    paths = [path for path in sorted(FOLDER.rglob("*.*")) if 0 < path.stat().st_size <= LARGEST]
    for number in range(FILES):
        path = draw.choice(paths)
        damage = draw.choice(DAMAGES if number % 3 else MORE)
        data = damage(path.read_bytes(), draw)
        outcome = outcome_within_limits(data, draw.choice(NAMES))
        outcomes[outcome] += 1
        if outcome not in {"read", "refused"}:
            failed.append(f"{number}: {path} {damage.__name__} {outcome}")
    assert not failed, outcomes
    assert not Path("/tmp/bookprint-evil.txt").exists()


@pytest.mark.slow
@pytest.mark.formats
@pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_FORMATS names no folder")
def test_a_file_of_holes_behind_a_real_start_is_refused(tmp_path: Path) -> None:
    for path in sorted(FOLDER.glob("*/*.*ml"))[:20]:
        sparse = tmp_path / path.name
        sparse.write_bytes(path.read_bytes()[:1000])
        os.truncate(sparse, 2 << 30)
        with pytest.raises(FileTooLarge):
            Source.of_file(sparse)
