"""Files of git repositories at one commit, from a folder or a server of repositories."""

import os
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from pathlib import Path

_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
"""Settings that stop git from asking for a password and from fetching missing objects elsewhere."""

_EPUB = ("content.opf", "text")
"""Files read from a folder: the package document of an EPUB and its texts."""


class NoRepository(Exception):
    """A repository or its commit is not available; the message names it and the reason."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A folder with repositories OWNER/NAME as OWNER+NAME or OWNER/NAME, bare or with a work tree."""

    folder: Path

    def git_folder(self, repository: str, commit: str) -> Path:
        """Return the git directory of a repository; raises NoRepository if it lacks the commit."""
        places = (repository.replace("/", "+"), repository, f"{repository}.git")
        for place, inner in product(places, ("", ".git", "repo", "repo/.git")):
            folder = self.folder / place / inner
            if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
                if not _has(folder, commit):
                    raise NoRepository(f"{repository}: the mirror lacks the commit {commit}.")
                return folder
        raise NoRepository(f"{repository}: not in the mirror.")


@dataclass(frozen=True, slots=True)
class Server:
    """A server with repositories at URL/OWNER/NAME, and the folder of fetched repositories."""

    url: str
    kept: Path

    def git_folder(self, repository: str, commit: str) -> Path:
        """Return a git directory with only this commit, fetched if missing; raises NoRepository."""
        folder = self.kept / repository.replace("/", "+")
        folder.mkdir(parents=True, exist_ok=True)
        _git(folder, "init", "--quiet", "--bare")
        if not _has(folder, commit):
            url = f"{self.url.rstrip('/')}/{repository}"
            fetched = _git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "--", url, commit)
            if fetched.returncode:
                why = fetched.stderr.decode(errors="replace").strip()
                raise NoRepository(f"{repository}: {commit} could not be fetched. {why}")
        return folder


def file_at(folder: Path, commit: str, path: str) -> bytes | None:
    """Return the file at a path of a commit; None if it is missing, lost or damaged.

    For a folder, return a reproducible archive of the EPUB in it.
    """
    inside = [f"{path}/{part}" for part in _EPUB]
    names = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", *inside).stdout.decode()
    if not names:
        return _blob(folder, commit, path)
    archive = BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as files:
        for name in names.rstrip("\0").split("\0"):
            if (data := _blob(folder, commit, name)) is None:
                return None
            entry = tarfile.TarInfo(name.removeprefix(f"{path}/"))
            entry.size = len(data)
            files.addfile(entry, BytesIO(data))
    return archive.getvalue()


def _has(folder: Path, commit: str) -> bool:
    return not _git(folder, "cat-file", "-e", f"{commit}^{{commit}}").returncode


def _blob(folder: Path, commit: str, path: str) -> bytes | None:
    found = _git(folder, "cat-file", "blob", f"{commit}:{path}")
    return None if found.returncode else found.stdout


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command, environment = ["git", f"--git-dir={folder}", *arguments], os.environ | _ENVIRONMENT
    return subprocess.run(command, capture_output=True, check=False, env=environment)
