"""Tables of a corpus written by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from bookprint_core.matching.verification import MatchVerdict
from bookprint_corpus import storage
from bookprint_corpus.tables import schema


def write_books(out: Path, *words: int, **cells: list[Any]) -> None:
    """Books 1, 2, … with so many words and as many characters, in the reverse order."""
    rows = [
        {"book": place + 1, "place": f"shelf/{place}.txt", "content_key": b"%d" % place}
        | {"word_count": count, "character_count": count}
        | {name: values[place] for name, values in cells.items()}
        for place, count in enumerate(words)
    ]
    write(out, "books", rows[::-1])


def write_relations(
    out: Path,
    *relations: tuple[int, int, str, str | None, float],
    verdicts: Mapping[tuple[int, int], MatchVerdict] = MappingProxyType({}),
) -> None:
    """Relations by the two books, kind, direction and similarity of pages; near-duplicates by default."""
    rows = [
        {
            "left": left,
            "right": right,
            "kind": kind,
            "direction": direction,
            "signals": json.dumps({"page_similarity": similarity}),
            "verdict": verdicts.get((left, right), "near_duplicate"),
        }
        for left, right, kind, direction, similarity in relations
    ]
    write(out, "relations", rows)


def write(out: Path, table: str, rows: list[dict[str, Any]]) -> None:
    storage.write(str(out), table, pa.Table.from_pylist(rows, schema=schema(table)))
