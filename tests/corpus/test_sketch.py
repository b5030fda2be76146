"""The stages that read and sign books, and put what candidates are found by into blocks."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bookprint_core.errors import InvalidInput
from bookprint_core.signatures.page_minhash import to_records
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text, content_key
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.splits import corpus_input
from bookprint_corpus.stages import postings, sketch as sketch_stage
from bookprint_corpus.tables import schema
from tests.api.library import prose

pytestmark = pytest.mark.engine

TEXTS = [prose(seed) for seed in range(5)]


def lines(path: Path, texts: list[str]) -> Path:
    rows = ({"id": f"{path.stem}-{n}", "title": f"Book {n}", "text": text} for n, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_each_book_is_signed_as_the_service_signs_it(corpus: Corpus, tmp_path: Path) -> None:
    books = lines(tmp_path / "books.jsonl", TEXTS)
    sketch_stage.run(corpus, corpus_input([str(books)], {}))
    rows = storage.read(corpus.out, "sketches").sort_by("book").to_pylist()
    assert [row["external_id"] for row in rows] == [f"books-{n}" for n in range(5)]
    assert [row["book"] for row in rows] == [1, 2, 3, 4, 5]
    assert storage.read(corpus.out, "sketches").schema.names == schema("sketches").names
    for row, text in zip(rows, TEXTS, strict=True):
        content = content_from_text(text)
        expected = sketch(content)
        assert expected.fingerprint is not None
        assert expected.minhash is not None
        assert expected.sample is not None
        assert expected.pages is not None
        assert row["content_key"] == content_key(content)
        assert row["fingerprint"] == expected.fingerprint.bits
        assert row["minhash"] == expected.minhash.values.tobytes()
        assert (row["shingle_count"], row["sample_level"]) == (
            expected.minhash.shingle_count,
            expected.sample.level,
        )
        assert row["sample"] == expected.sample.hashes.tobytes()
        assert row["pages"] == to_records(expected.pages)


def test_what_cannot_be_read_is_refused_with_its_reason(corpus: Corpus, tmp_path: Path) -> None:
    books = lines(tmp_path / "a.jsonl", TEXTS[:1])
    with books.open("a") as stream:
        stream.write("{broken\n" + json.dumps({"text": TEXTS[1]}) + "\n")
        stream.write(json.dumps({"text": TEXTS[2], "title": "Emma\x1b[2J"}) + "\n")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 nothing")
    sketch_stage.run(corpus, corpus_input([str(books), str(tmp_path / "b.pdf")], {}))
    refused = storage.read(corpus.out, "refused").sort_by("place").to_pylist()
    assert [row["place"] for row in refused] == [
        *(f"{books}, line {number}" for number in (2, 4)),
        str(tmp_path / "b.pdf"),
    ]
    assert all(row["reason"] and row["problem"] for row in refused)
    # A refused book keeps its number, so that the numbers of others do not depend on it.
    assert sorted(storage.read(corpus.out, "sketches", ["book"]).column("book").to_pylist()) == [1, 3]


def test_row_groups_of_a_parquet_table_are_splits(corpus: Corpus, tmp_path: Path) -> None:
    table = pa.table({"barcode_src": [f"b{n}" for n in range(5)], "text_by_page_src": [[t] for t in TEXTS]})
    path = tmp_path / "part.parquet"
    pq.write_table(table, path, row_group_size=2)
    source = corpus_input([str(path)], {})
    assert [(split.first_group, split.end_group) for split in source.splits] == [(0, 3)]
    sketch_stage.run(corpus, source)
    rows = storage.read(corpus.out, "sketches").sort_by("book").to_pylist()
    assert [(row["external_id"], row["place"]) for row in rows] == [
        (f"b{n}", f"{path}, row {n + 1}") for n in range(5)
    ]


def test_the_key_of_the_input_changes_with_a_file(tmp_path: Path) -> None:
    books = lines(tmp_path / "books.jsonl", TEXTS[:1])
    before = corpus_input([str(books)], {}).key
    assert corpus_input([str(books)], {}).key == before
    assert corpus_input([str(books)], {"text": "body"}).key != before
    lines(tmp_path / "books.jsonl", TEXTS[:2])
    assert corpus_input([str(books)], {}).key != before


def test_an_input_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        corpus_input([str(tmp_path / "nothing")], {})
    with pytest.raises(InvalidInput, match="nothing to read"):
        corpus_input([str(tmp_path)], {})


def test_blocks_follow_each_other_and_are_no_larger_than_asked(corpus: Corpus, tmp_path: Path) -> None:
    paths = [str(lines(tmp_path / f"{n}.jsonl", TEXTS)) for n in range(3)]
    sketch_stage.run(corpus, corpus_input(paths, {}))
    books = storage.read(corpus.out, "sketches", ["book"]).column("book")
    assert postings.block_starts(books, 100) == [1]
    starts = postings.block_starts(books, 4)
    assert starts == sorted(books.to_pylist())[:1] + [sorted(books.to_pylist())[at] for at in (3, 7, 11)]
    postings.run(corpus)
    assert postings.block_count(corpus.out) == 1
    block = storage.read(corpus.out, f"{postings.FOLDER}/block=0")
    assert sorted(block.column("book").to_pylist()) == sorted(books.to_pylist())
    assert block.schema.names == list(postings.COLUMNS)


def test_signatures_of_another_recipe_are_refused(corpus: Corpus) -> None:
    row = {"book": 1, "fingerprint_recipe": "tf-simhash128-v1", "fingerprint": bytes(16)}
    storage.write(corpus.out, "sketches", pa.Table.from_pylist([row], schema=schema("sketches")))
    with pytest.raises(Exception, match="tf-simhash128-v1 cannot be compared"):
        postings.run(corpus)
