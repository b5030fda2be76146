"""Pairs of every label: how many the samples accept and lookups name, and signatures that are kept."""

from pathlib import Path

from bench.quality.strangers import KEPT, UNLABELLED, Books, judged
from tests.research.made_books import a_text

PREFACE = a_text(9, 1_500)
TEXTS = {
    "one.txt": a_text(1),
    "copy.txt": a_text(1),
    "part.txt": a_text(1, 2_000),
    "play.txt": f"{PREFACE} {a_text(2)}",
    "other-play.txt": f"{PREFACE} {a_text(3)}",
    "other-language.txt": a_text(1),
}
KNOWN = {
    frozenset(("one.txt", "copy.txt")): "same_work",
    frozenset(("play.txt", "other-play.txt")): "paratext",
    frozenset(("one.txt", "absent.txt")): "same_work",
}


def test_pairs_are_counted_by_label_again_without_their_texts(tmp_path: Path) -> None:
    for file, text in TEXTS.items():
        (tmp_path / "texts" / file).parent.mkdir(exist_ok=True)
        (tmp_path / "texts" / file).write_text(text)
    languages = {file: "fr" if file == "other-language.txt" else "en" for file in (*TEXTS, "absent.txt")}
    books = Books("Made", tmp_path, languages, KNOWN, are_files=False)
    table = judged(books)
    assert table.caption.startswith("Made: 6 of 7 books")
    assert list(map(list, table.rows)) == [
        [UNLABELLED[0], None, 2, 2],
        [UNLABELLED[1], None, 0, 0],
        ["paratext", 1, 1, 0],
        ["same_work", 1, 1, 1],
        ["all", 10, 4, 3],
    ]
    assert (tmp_path / KEPT).exists()
    (tmp_path / "texts" / "play.txt").unlink()
    assert judged(books) == table
