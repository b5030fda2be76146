"""`bookprint audit`, and the entries of commands that reach the database themselves."""

import json
import os
import pwd
import socket
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose
from tests.cli.command_line import Service, bookprint, in_a_process

COMMAND = {"kind": "command", "name": pwd.getpwuid(os.getuid()).pw_name, "key_id": None}


def entries(service: Service, *options: str) -> list[dict[str, object]]:
    done = bookprint("audit", "--json", "--url", service.url, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def book_id(service: Service) -> str:
    posted = httpx.post(f"{service.url}/v1/books", json={"text": prose(1914, 80)}, timeout=60)
    return str(posted.json()["id"])


def test_commands_are_the_user_on_this_host(service: Service, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(prose(1915, 80))
    assert in_a_process("ingest", tmp_path, **service.servers).returncode == 0
    key = bookprint("keys", "create", "--name", "k", "--scope", "read", **service.servers)
    [key_id] = [
        line.split("\t")[0]
        for line in bookprint("keys", "list", **service.servers).stdout.splitlines()
        if "\tk\t" in line
    ]
    for act in ("rotate", "revoke"):
        assert bookprint("keys", act, key_id, **service.servers).returncode == 0

    found = entries(service, "--limit", "4")
    assert [entry["action"] for entry in found] == [
        "key.revoked",
        "key.rotated",
        "key.created",
        "book.created",
    ]
    assert all(entry["actor"] == COMMAND | {"address": socket.gethostname()} for entry in found)
    assert [entry["action"] for entry in entries(service, "--object", key_id, "--action", "key.created")] == [
        "key.created"
    ]
    assert key.stdout.strip() not in json.dumps(found)


def test_entries_are_lines_when_piped(service: Service, book_id: str) -> None:
    done = bookprint("audit", "--limit", "1", "--url", service.url)
    head, line = (line.split("\t") for line in done.stdout.splitlines())
    cells = dict(zip(head, line, strict=True))

    assert (cells["actor"], cells["name"], cells["address"]) == ("anyone", "anyone", "127.0.0.1")
    assert (cells["action"], cells["object_id"], cells["other_id"]) == ("book.created", book_id, "")
    assert done.stderr == "1 entry; there are more.\n"
    at = cells["at"]
    assert entries(service, "--since", at, "--object", book_id) == entries(service, "--object", book_id)
    assert entries(service, "--until", at, "--object", book_id) == []


@pytest.mark.parametrize(
    ("option", "value", "status"),
    [("--since", "yesterday", 2), ("--action", "book.read", 2), ("--key-id", "harvester", 1)],
)
def test_wrong_options_are_named(service: Service, option: str, value: str, status: int) -> None:
    refused = bookprint("audit", option, value, "--url", service.url)

    assert refused.returncode == status
    assert option.removeprefix("--").replace("-", "_") in refused.stderr.replace("-", "_")
