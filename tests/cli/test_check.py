"""`bookprint check` and `export` against a running service."""

import csv
import json
from pathlib import Path

import httpx
import pytest

from tests.api.library import prose, scanned
from tests.cli.command_line import Service, bookprint
from tests.factories import pages_of
from tests.prescribed_server import Answer, prescribing

ISBN = "9780141439600"
TEXT = prose(960, 6_000)


@pytest.fixture(scope="module")
def book(service: Service) -> dict[str, str]:
    body = {
        "pages": pages_of(TEXT),
        "title": "Held here",
        "identifiers": [f"isbn:{ISBN}"],
        "authors": ["Ann Onym"],
        "collection": "holdings",
    }
    posted: dict[str, str] = httpx.post(f"{service.url}/v1/books", json=body, timeout=60).json()
    return posted


def answered(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_is_answered_row_by_row(service: Service, book: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "copy.txt").write_text(scanned(TEXT, 1, 0.03))
    rows = [
        ("Titel", "ISBN", "path", "identifier"),
        ("Held here", "", "", ""),
        ("", "0-14-143960-2", "", ""),
        ("", "0-14-143960-3", "", ""),
        ("", "", "copy.txt", ""),
        ("", "", "missing.txt", ""),
        ("", "", "", book["long_identifier"]),
        ("Nobody has this", "", "", ""),
    ]
    wanted = tmp_path / "wanted.csv"
    wanted.write_text("\n".join(";".join(row) for row in rows), encoding="utf-8-sig")
    out = tmp_path / "answers.csv"
    done = bookprint("check", str(wanted), "--column", "title=Titel", "--url", service.url, "--out", str(out))
    assert done.returncode == 1, done.stderr
    answers = answered(out)
    assert [(each["verdict"], each["by"]) for each in answers] == [
        *(("perhaps", "name"), ("have", "identifier"), ("perhaps", "identifier"), ("have", "text")),
        *(("", ""), ("have", "identifier"), ("no", "name")),
    ]
    assert {each["book_id"] for each in answers if each["verdict"] == "have"} == {book["id"]}
    assert "There is no file" in answers[4]["problem"]
    assert "3 have" in done.stdout


def test_lines_records_and_a_pasted_text(service: Service, book: dict[str, str], tmp_path: Path) -> None:
    lines = tmp_path / "list.jsonl"
    lines.write_text('{"isbn": "9780141439600"}\nbroken\n{"text": "short"}\n')
    done = bookprint("check", str(lines), "--url", service.url, "--json")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.get("verdict") for each in answers] == ["have", None, "no"]
    assert answers[1]["place"].endswith("line 2")

    record = tmp_path / "record.xml"
    record.write_text(
        '<record xmlns="http://www.loc.gov/MARC21/slim"><leader>00000nam a2200000 a 4500</leader>'
        f'<datafield tag="020" ind1=" " ind2=" "><subfield code="a">{ISBN}</subfield></datafield></record>'
    )
    done = bookprint("check", str(record), "--url", service.url)
    assert done.stdout.splitlines()[1].split("\t")[1] == "have", done.stderr

    done = bookprint("check", "-", "--url", service.url, given=scanned(TEXT, 2, 0.03).encode())
    assert done.stdout.splitlines()[1].split("\t")[1:3] == ["have", "text"], done.stderr
    done = bookprint("check", "-", "--url", service.url, given="façade".encode("latin-1"))
    assert (done.returncode, "not UTF-8 at byte 3" in done.stderr) == (2, True)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_holdings_go_to_a_partner_and_are_known_there(
    service: Service, book: dict[str, str], tmp_path: Path, ending: str
) -> None:
    table = tmp_path / f"holdings.{ending}"
    of_these = ("--collection", "holdings", "--url", service.url)
    done = bookprint("export", "--identifiers", "--out", str(table), *of_these)
    assert done.returncode == 0, done.stderr
    assert TEXT[:200].encode() not in table.read_bytes()
    checked = bookprint("check", str(table), "--url", service.url, "--json")
    answers = [json.loads(line) for line in checked.stdout.splitlines()]
    assert {each["verdict"] for each in answers} == {"have"}
    taken = bookprint("ingest", str(table), "--url", service.url)
    assert taken.returncode == 0, taken.stderr
    again = bookprint("ingest", str(table), "--url", service.url)
    assert "0 created" in again.stdout


def test_a_service_that_stops_answering_leaves_what_it_answered(tmp_path: Path) -> None:
    wanted, out = tmp_path / "list.jsonl", tmp_path / "answers.csv"
    wanted.write_text('{"title": "Nobody has this"}\n' * 250)
    line = json.dumps({"verdict": "no", "by": "name", "because": None, "items": []}).encode()
    with prescribing() as server:
        server.read = lambda body: {"rows": len(body.splitlines())}
        gone: Answer = (403, {}, {"title": "Forbidden", "detail": "The key was withdrawn."})
        answers = iter([(200, {}, b"\n".join([line] * 200)), gone])
        server.answer = lambda _: next(answers)
        done = bookprint("check", str(wanted), "--url", server.url, "--out", str(out))
    assert [body["rows"] for body in server.bodies] == [200, 50]
    assert done.returncode != 0
    assert "after 200 rows" in done.stderr
    assert "The key was withdrawn" in done.stderr
    assert len(answered(out)) == 200
