"""What `.ci/image` runs in the container: two books are posted and related, and rights are looked at."""

import importlib.util
import os
import random
import tempfile
import time
from pathlib import Path

from bookprint_client import Client, Refused, calls

CODE = Path("/opt/bookprint")
DATA = CODE / "data"

URL = "http://127.0.0.2:8000"
"""Where a service that listens at every address answers; the health check asks at another one."""

_MOST_TRIES = 120


def serves_books() -> None:
    """Post a made book and a copy with one word in a hundred misread; each must find the other."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abdefgilmnoprstu", k=chance.randint(2, 9))) for _ in range(3000)]
    copy = [word if place % 100 else "miſread" for place, word in enumerate(words)]
    with Client(URL, key=os.environ["BOOKPRINT_ADMIN_KEY"]) as client:
        one, other = (
            client.send(calls.post_book({"text": " ".join(text), "title": title}))["id"]
            for title, text in (("One", words), ("Other", copy))
        )
        found = {each["id"] for each in client.items(calls.look_up({"text": " ".join(words)}))}
        assert found == {one, other}, found
        # books that come before the new index is complete are related once it is
        tries = 0
        while (
            not (relations := list(client.items(calls.list_relations(one, wait=60)))) and tries < _MOST_TRIES
        ):
            tries += 1
            time.sleep(1)
        [relation] = relations
        assert (relation["book_id"], relation["kind"]) == (other, "SAME_TEXT"), relation


def asks_for_a_key() -> None:
    """Ask without one."""
    status = 200
    with Client(URL) as stranger:
        try:
            stranger.send(calls.read_library())
        except Refused as refused:
            status = refused.http_status
    assert status == 401, status


def has_no_rights_to_spare() -> None:
    """Look for code that the service could change, tools that it does not need, and uploads in memory."""
    own = [
        path
        for path in CODE.rglob("*")
        if DATA not in (path, *path.parents)
        if not path.is_symlink() and (path.stat().st_uid != 0 or path.stat().st_mode & 0o022)
    ]
    assert os.getuid() != 0
    assert not own, own[:3]
    assert not [name for name in ("pip", "setuptools", "hatchling") if importlib.util.find_spec(name)]
    assert tempfile.gettempdir() == str(DATA), tempfile.gettempdir()


has_no_rights_to_spare()
asks_for_a_key()
serves_books()
