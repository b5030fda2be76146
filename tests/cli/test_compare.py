"""`bookprint compare`: no service, a verdict, and an exit status."""

import json
from pathlib import Path

import pytest

from tests.api.library import prose, scanned
from tests.cli.command_line import bookprint

ISBN = "9780141439600"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("books")
    text = prose(1, 6_000)
    texts = {"first": text, "copy": scanned(text, 1, 0.02), "stranger": prose(2, 6_000), "short": "one word"}
    for name, each in texts.items():
        (folder / f"{name}.txt").write_text(each, encoding="utf-8")
    return {name: folder / f"{name}.txt" for name in texts}


def test_copies_are_the_same_and_strangers_are_not(files: dict[str, Path]) -> None:
    copies = bookprint("compare", files["first"], files["copy"])
    assert (copies.returncode, copies.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in copies.stdout.splitlines())
    assert lines["verdict"] == "same"
    assert "stranger as near       less than 1 in a million\n" in copies.stdout
    assert lines["ISBN"] == "absent"
    assert "128 bits" in lines["distance"]
    told = json.loads(bookprint("compare", files["first"], files["copy"], "--json").stdout)
    assert told["stranger_chance"] == 1e-6
    strangers = bookprint("compare", files["first"], files["stranger"], "--json")
    assert strangers.returncode == 1
    answer = json.loads(strangers.stdout)
    assert answer["verdict"] == "different"
    assert answer["stranger_chance"] > 0.001


def test_page_of_two_files_is_written(files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "pair.html"
    compared = bookprint("compare", files["first"], files["copy"], "--html", out)
    assert (compared.returncode, compared.stderr) == (0, "")
    assert "<bdi>first.txt</bdi>" in out.read_text(encoding="utf-8")
    signed = tmp_path / "copy.json"
    signed.write_text(bookprint("sign", files["copy"]).stdout, encoding="utf-8")
    refused = bookprint("compare", files["first"], signed, "--html", out)
    assert refused.returncode == 2
    assert "--html shows the texts of two files." in refused.stderr
    unwritable = bookprint("compare", files["first"], files["copy"], "--html", tmp_path / "no" / "pair.html")
    assert unwritable.returncode == 2
    assert "cannot be read or written" in unwritable.stderr


@pytest.mark.parametrize("wrong", ["neither", "bp1:0", "bp2:0", "{short}", f"bp1:{'0' * 32}.{ISBN}"])
def test_what_cannot_be_compared_is_told_by_status_2(files: dict[str, Path], wrong: str) -> None:
    done = bookprint("compare", files["first"], wrong.format(short=files["short"]))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
