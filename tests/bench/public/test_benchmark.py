"""The public benchmark on a made set: what is counted where, and the same page when it is repeated."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.harness.checkout import ROOT
from bench.public import benchmark, fetch
from bench.public.manifest import BOOKS, PAIRS, Label, PublicBook, digest, public_books
from tests.bench.public.made_repository import OWNER_NAME, a_public_book, made_repository
from tests.research.made_books import a_text

TEXT, OTHER = a_text(1), a_text(2)
FILES = {
    "one.txt": TEXT,
    "copy.txt": TEXT.replace(" ab", " ba"),
    "part.txt": " ".join(TEXT.split()[:2_000]),
    "stranger.txt": OTHER,
    "unlabelled-copy.txt": OTHER,
    "other-language.txt": TEXT,
}
KNOWN = {
    frozenset(("made/one", "made/copy")): Label("same_work", "provenance"),
    frozenset(("made/one", "made/part")): Label("contains", "shingles"),
    frozenset(("made/copy", "made/part")): Label("unclear", "shingles"),
    frozenset(("made/one", "made/stranger")): Label("paratext", "shingles"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[PublicBook]]:
    """A folder with the fetched books, and their manifest, which has one book more."""
    folder = tmp_path_factory.mktemp("made")
    data = {path: text.encode() for path, text in FILES.items()}
    commit = made_repository(folder / OWNER_NAME, data)
    books = [
        a_public_book(commit, path, data[path], "fr" if path.startswith("other-language") else "en")
        for path in FILES
    ]
    fetch.main([str(folder / "out"), "--mirror", str(folder)], books)
    return folder / "out", [*books, a_public_book(commit, "gone.txt", b"")]


def cells(page: str, name: str) -> list[str]:
    """The cells of a method's row."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def measured(made: tuple[Path, Sequence[PublicBook]], page: Path) -> str:
    out, books = made
    assert benchmark.main([str(out), "--document", str(page), "--processes", "1"], books, KNOWN) == 0
    return page.read_text(encoding="utf-8")


def test_page_counts_pairs_by_label_and_is_the_same_again(
    made: tuple[Path, list[PublicBook]], tmp_path: Path
) -> None:
    page = measured(made, tmp_path / "one.md")
    assert page == measured(made, tmp_path / "two.md")
    assert "6 of the 7 in the manifest" in page
    assert "compared: 10 pairs" in page
    # found, false; same work by collectors and source notes, contains by them; same work, contains, overlaps;
    # strangers, paratext, serial
    assert cells(page, "all pairs")[2:4] + cells(page, "all pairs")[6:15] == [*"27", *"100010610"]
    lookup = cells(page, benchmark.LOOKUP)
    assert lookup[2:] == [
        *("2", "1", "66.7%", "100.0%"),
        *("1", "0", "0", "0", "1", "0"),
        *("1", "0", "0"),
        "decisions [38](decisions/0038-letter-samples.md) and [49](decisions/0049-places.md)",
    ]
    assert "lookup calls copies: 1\n" in page
    assert "| made/stranger | Anon: stranger | made/unlabelled-copy | Anon: unlabelled-copy |" in page
    relation, identical = cells(page, benchmark.RELATION), cells(page, "Institutional Books")
    assert relation[2:4] == ["2", "1"]
    assert int(relation[1].replace(",", "")) > int(lookup[1].replace(",", ""))
    assert identical[1:4] == ["8", "0", "1"]


def test_pairs_of_another_method_are_scored(
    made: tuple[Path, list[PublicBook]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, books = made
    found = tmp_path / "mine.csv"
    found.write_text("a,b\nmade/copy,made/one\nmade/stranger,made/one\nmade/copy,made/other-language\n")
    assert benchmark.main([str(out), "--found", str(found)], books, KNOWN) == 0
    assert cells(capsys.readouterr().out, "mine.csv")[2:6] == ["1", "1", "50.0%", "50.0%"]


def test_page_of_the_project_is_of_this_manifest() -> None:
    page = (ROOT / "docs" / "why" / "benchmark.md").read_text(encoding="utf-8")
    count = f"{len(public_books()):,}"
    assert f"{count} of the {count} in the manifest" in page
    assert f"`{BOOKS.name}` `{digest(BOOKS)}`, `{PAIRS.name}` `{digest(PAIRS)}`" in page, "run the benchmark"
