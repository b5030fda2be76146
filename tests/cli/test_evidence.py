"""`bookprint relation` and `bookprint clusters`: what the API answers, for people and for other tools."""

import csv
import json
from pathlib import Path

import httpx

from tests.cli.command_line import Service, bookprint


def test_a_relation_is_printed_in_each_form_and_its_cluster_is_listed(
    service: Service, folder: Path, tmp_path: Path
) -> None:
    taken = bookprint("ingest", folder, "--url", service.url)  # three works, each with two copies
    assert taken.returncode == 0, taken.stderr
    service.relate()
    listed = bookprint("clusters", "--url", service.url, "--json")
    assert listed.returncode == 0, listed.stderr
    clusters = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(clusters) >= 3
    assert "not measured" not in listed.stderr
    assert {cluster["size"] for cluster in clusters} >= {3}
    table = tmp_path / "clusters.csv"
    assert bookprint("clusters", "--url", service.url, "--csv", table, "--limit", "2").returncode == 0
    rows = list(csv.DictReader(table.open(encoding="utf-8", newline="")))
    assert [row["id"] for row in rows] == [cluster["id"] for cluster in clusters[:2]]
    ids = [
        item["book_id"]
        for item in httpx.get(f"{service.url}{clusters[0]['links']['self']}", timeout=60).json()["items"]
    ][:2]
    printed = {
        form: bookprint("relation", *ids, "--url", service.url, "--format", form).stdout
        for form in ("json", "annotations", "csv")
    }
    relation = json.loads(printed["json"])
    annotations = json.loads(printed["annotations"])
    assert annotations["total"] == len(relation["page_map"]) > 0
    assert len(printed["csv"].splitlines()) == 1 + len(relation["runs"])
    wrong = bookprint("relation", ids[0], "no-such-book", "--url", service.url)
    assert wrong.returncode == 2
    assert "no-such-book" in wrong.stderr
