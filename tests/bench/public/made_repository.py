"""A git repository with made books, as those of the public benchmark lie in a mirror."""

import os
import subprocess
from hashlib import sha256
from pathlib import Path

from bench.public.manifest import PublicBook

OWNER_NAME = "someone/books"


def made_repository(folder: Path, files: dict[str, bytes]) -> str:
    """Commit the files to a new repository; the commit."""
    folder.mkdir(parents=True)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message=Books")
    return _git(folder, "rev-parse", "HEAD").strip()


def a_public_book(commit: str, path: str, data: bytes, language: str = "en") -> PublicBook:
    """The row of the manifest for a file of the repository."""
    name = path.rpartition("/")[2].partition(".")[0]
    found = sha256(data).hexdigest()
    return PublicBook(f"made/{name}", OWNER_NAME, commit, path, found, language, "Anon", name, "", name)


def _git(folder: Path, *arguments: str) -> str:
    author = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-C", folder, *arguments], env=os.environ | author, capture_output=True, text=True, check=True
    )
    return done.stdout
