"""`python -m bench fetch OUT`: the texts of the public benchmark, from their repositories.

Every file is checked against the SHA-256 in the manifest. Absent, different and unreadable files are named;
the others are fetched.
"""

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from bench.public.book_texts import NoBook, book_text
from bench.public.manifest import PublicBook, public_books
from bench.public.repositories import Mirror, NoRepository, Server, file_at

SERVER = "BOOKPRINT_REPOSITORIES"
"""Environment variable with the server of the repositories."""

MISSING = "missing.csv"


def main(arguments: Sequence[str], books: Sequence[PublicBook] | None = None) -> int:
    """Fetch the books, by default all of the manifest; return 1 if any is missing."""
    parser = argparse.ArgumentParser(prog="python -m bench fetch", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the texts")
    parser.add_argument("sets", nargs="*", metavar="SET", help="sets of books; default all")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--mirror", type=Path, metavar="FOLDER", help="folder of git repositories, OWNER+NAME")
    place.add_argument(
        "--server",
        metavar="URL",
        default=os.environ.get(SERVER),
        help=f"what stands before OWNER/NAME in the URL of a repository; default ${SERVER}",
    )
    options = parser.parse_args(arguments)
    every = public_books() if books is None else books
    sets = sorted({book.set for book in every})
    if unknown := sorted(set(options.sets) - set(sets)):
        parser.error(f"no set is called {', '.join(unknown)}; there are {', '.join(sets)}")
    if options.mirror is None and not options.server:
        parser.error("say where the repositories are: --mirror FOLDER, --server URL")
    source = (
        Mirror(options.mirror) if options.mirror else Server(options.server, options.out / "repositories")
    )
    chosen = [book for book in every if not options.sets or book.set in options.sets]
    return _report(list(fetch(chosen, source, options.out)), len(chosen), options.out)


def fetch(
    books: Sequence[PublicBook], source: Mirror | Server, out: Path
) -> Iterator[tuple[PublicBook, str]]:
    """Write the text of each book below `out`; yield each missing book and the reason."""
    place = attrgetter("repository", "commit")
    for (repository, commit), group in groupby(sorted(books, key=place), key=place):
        wanted = list(group)
        for book in wanted:
            book.text_file(out).unlink(missing_ok=True)
        print(f"{repository}: {len(wanted):,} books ...", flush=True)
        try:
            folder = source.git_folder(repository, commit)
        except NoRepository as error:
            print(error, flush=True)
            yield from ((book, "repository absent") for book in wanted)
            continue
        for book in wanted:
            if problem := _write(book, file_at(folder, commit, book.path), out):
                print(f"{book.repository} {book.path}: {problem}", flush=True)
                yield book, problem


def _write(book: PublicBook, data: bytes | None, out: Path) -> str | None:
    """Write the text of a file; return the fault, or None."""
    if data is None:
        return "absent"
    if (found := sha256(data).hexdigest()) != book.sha256:
        return f"differs, SHA-256 {found}"
    try:
        text = book_text(data, book.repository, Path(book.path).name)
    except NoBook as error:
        return f"cannot be read: {error}"
    target = book.text_file(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode())
    return None


def _report(missing: Sequence[tuple[PublicBook, str]], wanted: int, out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    with (out / MISSING).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "repository", "path", "problem"])
        rows.writerows([book.id, book.repository, book.path, problem] for book, problem in missing)
    print(f"{wanted - len(missing):,} of {wanted:,} books are in {out}.", flush=True)
    if missing:
        print(f"{len(missing):,} are missing; {out / MISSING} says why.", flush=True)
    return 1 if missing else 0
