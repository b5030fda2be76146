"""`bookprint keys`, and `serve` at an address that others reach."""

import os
import pwd
import re
from pathlib import Path

import pytest

from app.cli.listening import auth_at
from app.settings import Settings
from tests.cli.command_line import bookprint, in_a_process, serving

EVERYWHERE = ("--host", "0.0.0.0", "--workers", "1")


def test_beyond_loopback_nothing_starts_without_a_key(tmp_path: Path) -> None:
    refused = in_a_process("serve", *EVERYWHERE, "--data-dir", tmp_path / "data")

    assert refused.returncode == 1
    assert f"bookprint keys create --name admin --scope admin --data-dir {tmp_path / 'data'}" in " ".join(
        refused.stderr.split()
    )
    assert not (tmp_path / "data").exists()


def test_a_named_database_is_asked_before_anything_starts(
    database_url: str, bare_database_url: str, tmp_path: Path
) -> None:
    for url in (database_url, bare_database_url):
        plain = url.replace("+psycopg", "")
        refused = in_a_process("serve", *EVERYWHERE, "--data-dir", tmp_path / "data", DATABASE_URL=plain)
        assert refused.returncode == 1
        assert "keys create" in refused.stderr
        assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_keys_from_their_making_to_their_end(tmp_path: Path) -> None:
    folder = ("--data-dir", tmp_path / "data")
    made = bookprint("keys", "create", "--name", "first", "--scope", "admin", *folder)
    assert made.returncode == 0, made.stderr
    admin = made.stdout.strip()
    assert re.fullmatch(r"bp_[\w-]{43}", admin)
    book = tmp_path / "book.txt"
    book.write_text("Some words of a book that nobody has written so far. " * 40)

    with serving(tmp_path / "data", *EVERYWHERE) as service:
        terms = ("--expires", "2999-01-31", "--requests-per-minute", "60", "--lookups-per-minute", "2")
        terms += ("--collection", " Harbour Library ")
        read = bookprint("keys", "create", "--name", "r", "--scope", "read", *terms, *folder).stdout.strip()
        url = ("--url", service.url)
        posted = bookprint("ingest", book, *url, BOOKPRINT_KEY=admin)
        assert posted.returncode == 0, posted.stderr
        assert bookprint("lookup", book, *url, "--key", read).returncode == 0
        refused = bookprint("lookup", book, *url)
        assert refused.returncode == 1
        assert "keys create" in refused.stderr

        _, *rows = bookprint("keys", "list", *folder).stdout.splitlines()
        cells = [row.split("\t") for row in rows]
        assert [row[1:4] for row in cells] == [["first", "admin", "valid"], ["r", "read", "valid"]]
        assert cells[1][5:] == ["2999-01-31T00:00Z", "60 requests/min, 2 lookups/min", "Harbour Library"]
        rotated = bookprint("keys", "rotate", cells[1][0], *folder).stdout.strip()
        assert rotated not in {"", read}
        assert bookprint("keys", "revoke", cells[0][0], *folder).returncode == 0
        assert "revoked" in bookprint("keys", "list", *folder).stdout
        assert bookprint("keys", "revoke", "00000000-0000-0000-0000-000000000000", *folder).returncode == 1
        keys = [admin, read, rotated]
        assert [key for key in keys if key in "".join(service.lines)] == []


def test_off_means_off_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert auth_at("0.0.0.0", Settings(BOOKPRINT_AUTH="off")) == "off"
    assert "every book" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("uid", "shell", "said"),
    [(54_321, "/bin/bash", True), (54_321, "/usr/sbin/nologin", False), (999, "/bin/sh", False)],
)
def test_where_others_log_in_it_says_that_they_need_no_key(
    uid: int, shell: str, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    me = pwd.struct_passwd(("me", "x", os.getuid(), 1, "", "/", "/bin/bash"))
    other = pwd.struct_passwd(("other", "x", uid, 1, "", "/", shell))
    monkeypatch.setattr(pwd, "getpwall", lambda: [me, other])

    for auth, host, told in (("auto", "127.0.0.1", said), ("auto", "0.0.0.0", False), ("keys", "::1", False)):
        auth_at(host, Settings(BOOKPRINT_AUTH=auth))
        assert ("every user of this machine" in " ".join(capsys.readouterr().err.split())) == told
