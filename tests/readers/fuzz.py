"""Fuzzing of the readers: `python -m tests.readers.fuzz FOLDER --executions 200000`.

Each execution damages one of the files in the folder and reads it. Anything but a book or an `UnusableFile`
is a crash; reading that takes more processor time than the limit is a hang. Both are kept beside, to be
repeated.
"""

import argparse
import random
import signal
import sys
import time
import traceback
from collections import Counter
from multiprocessing import Pool
from pathlib import Path
from types import FrameType

from app.core.errors import UnusableFile
from app.readers.recognition import read_book
from app.readers.source import Source
from tests.readers.damage import DAMAGES

LARGEST = 200_000
"""Bytes of a file that is damaged; with larger ones most of the time would go into parsing them."""

SECONDS = 10
"""Seconds of processor time within which a file is read or refused."""


class Hang(BaseException):
    """Reading takes too long; no reader catches it."""


def _raise_hang(_: int, __: FrameType | None) -> None:
    raise Hang


def run(task: tuple[int, list[Path], int, Path]) -> Counter[str]:
    """Damage and read files for a number of executions; returns how many ended how."""
    seed, paths, executions, kept = task
    draw, outcomes = random.Random(seed), Counter[str]()
    contents = {path: path.read_bytes() for path in paths}
    signal.signal(signal.SIGPROF, _raise_hang)
    for number in range(executions):
        path = draw.choice(paths)
        data = draw.choice(DAMAGES)(contents[path], draw)
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            read_book(Source.of_bytes(data, path.name))
            outcome = "read"
        except UnusableFile as exc:
            outcome = type(exc).__name__
        except (Exception, Hang) as exc:
            outcome = f"CRASH {path}: {type(exc).__name__}: {str(exc)[:80]}"
            place = kept / f"{seed}-{number}-{path.name}"
            place.write_bytes(data)
            place.with_suffix(".traceback").write_text(traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        outcomes[outcome] += 1
    return outcomes


def main() -> int:
    """Fuzz in two processes; 1 where anything crashed or hung."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--executions", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("/tmp/bookprint-fuzz"))
    options = parser.parse_args()
    options.kept.mkdir(parents=True, exist_ok=True)
    paths = [
        path
        for path in sorted(options.folder.rglob("*"))
        if path.is_file() and 0 < path.stat().st_size <= LARGEST and path.suffix not in {".md", ".csv"}
    ]
    begun = time.monotonic()
    tasks = [
        (options.seed * 1_000_000 + part, paths, 1_000, options.kept)
        for part in range(-(-options.executions // 1_000))
    ]
    outcomes = Counter[str]()
    with Pool(2, maxtasksperchild=20) as pool:
        for done, part in enumerate(pool.imap_unordered(run, tasks), start=1):
            outcomes += part
            print(f"\r{done * 1_000:,} executions, {time.monotonic() - begun:,.0f} s", end="", flush=True)
    print()
    for outcome, count in outcomes.most_common():
        print(f"{count:>9,}  {outcome}")
    return int(any(outcome.startswith("CRASH") for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
