"""What the command asks for before it computes anything, and what it writes of books in no table."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_core.errors import InvalidInput
from bookprint_corpus import pipeline
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.dedupe.command import Choice, dedupe, input_tables, require_apart
from bookprint_corpus.splits import corpus_input
from tests.corpus.dedupe.hand_made import write, write_books, write_relations

pytestmark = pytest.mark.engine


def quiet(line: str) -> None:
    """Hear nothing."""


@pytest.fixture(autouse=True)
def computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are there already."""
    monkeypatch.setattr(pipeline, "run", lambda corpus, source, tell: None)


def test_books_that_are_no_rows_of_tables_are_listed(corpus: Corpus, tmp_path: Path) -> None:
    table, lines = tmp_path / "a, row 1.parquet", tmp_path / "b.jsonl"
    pq.write_table(pa.table({"text": ["one", "two"]}), table)
    lines.write_text('{"text": "three"}\n{"text": "four"}\n')
    places = [f"{table}, row 1", f"{table}, row 2", f"{lines}, line 1", f"{lines}, line 2"]
    write_books(Path(corpus.out), 1, 1, 1, 1, place=places)
    write_relations(
        Path(corpus.out), (1, 3, "SAME_TEXT", None, 1.0), (2, 4, "DIFFERENT_PAGINATION", None, 1.0)
    )
    write(Path(corpus.out), "refused", [{"place": str(tmp_path / "c.pdf"), "reason": "Damaged."}])
    source = corpus_input([str(table), str(lines)], {})
    result = dedupe(corpus, source, Choice("same-text", "best", mark=False), quiet)
    assert (result.books, result.left_out, result.problems) == (4, 2, [])
    out = Path(corpus.out) / "dedupe"
    assert pq.read_table(out / "tables" / table.name).column("text").to_pylist() == ["one", "two"]
    assert (out / "keep.txt").read_text().splitlines() == [str(tmp_path / "c.pdf")]
    result = dedupe(corpus, source, Choice("same-pagination", "first", mark=False), quiet)
    assert (out / "keep.txt").read_text().splitlines() == [*places[2:], str(tmp_path / "c.pdf")]


def test_marking_needs_tables_with_ids(corpus: Corpus, tmp_path: Path) -> None:
    choice = Choice("same-text", "best", mark=True)
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"text": "three"}\n')
    with pytest.raises(InvalidInput, match="the input contains none"):
        dedupe(corpus, corpus_input([str(lines)], {}), choice, quiet)
    table = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["one"], "shelfmark": ["s"]}), table)
    source = corpus_input([str(table)], {})
    with pytest.raises(InvalidInput, match=r"a\.parquet has no column with ids"):
        dedupe(corpus, source, choice, quiet)
    [named] = input_tables(corpus_input([str(table)], {"id": "shelfmark"}))
    assert named.has_ids
    [other] = input_tables(corpus_input([str(table)], {"id": "barcode"}))
    assert not other.has_ids


def test_tables_keep_their_places_below_the_folder_that_all_lie_in(tmp_path: Path) -> None:
    for name in ("x/a.parquet", "x/y/a.parquet"):
        (tmp_path / name).parent.mkdir()
        pq.write_table(pa.table({"text": ["one"]}), tmp_path / name)
    tables = input_tables(corpus_input([str(tmp_path)], {}))
    assert [table.name for table in tables] == ["a.parquet", "y/a.parquet"]


def test_output_within_the_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is within"):
        require_apart([str(tmp_path)], str(tmp_path / "out"))
    require_apart([str(tmp_path / "in")], str(tmp_path / "out"))
    require_apart([str(tmp_path)], "s3://bucket/out")
