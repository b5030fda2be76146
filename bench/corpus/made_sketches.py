"""The sketch stage with texts that it makes.

Each task makes the canonical text and the derivatives of some classes of `bench.data.whole_books`, and signs
each text as it is made. No text is written or sent.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa

from app.core.model import Metadata
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text, content_key
from app.corpus.sketches import cells_of
from app.corpus.tables import schema
from bench.data.whole_books import class_texts, long_works, stretches
from bench.harness.corpus import CorpusBook
from workers.batch.corpus import HEAVY_ROWS_PER_GROUP, Corpus
from workers.batch.stages.sketch import BOOKS_PER_SPLIT_BITS

_CLASSES_PER_SPLIT = 10


def write_made_sketches(corpus: Corpus, classes: int) -> None:
    """Write `sketches` of the first so many classes."""
    starts = range(0, classes, _CLASSES_PER_SPLIT)
    ends = [min(start + _CLASSES_PER_SPLIT, classes) for start in starts]
    tasks = pa.table({"split": range(len(starts)), "first": list(starts), "end": ends})
    sketches = schema("sketches")
    frame = corpus.spread("sketch", tasks, signed_classes, sketches)
    corpus.write("sketches", frame, sketches, rows_per_group=HEAVY_ROWS_PER_GROUP)


def signed_classes(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows of the classes of one split; `external_id` is the class, the text's number in it, the work."""
    books = _works()
    parts = stretches(books)
    number = task["split"] << BOOKS_PER_SPLIT_BITS
    for made in range(task["first"], task["end"]):
        part = parts[made % len(parts)]
        rows = []
        for version, text in enumerate(class_texts(books, part, made)):
            number += 1
            content = content_from_text(text)
            signatures = sketch(content)
            name = f"{made}-{version}-{part.work}"
            rows.append(
                {
                    "book": number,
                    "place": name,
                    "content_key": content_key(content),
                    **cells_of(Metadata(external_id=name), signatures, ()),
                }
            )
        yield pa.RecordBatch.from_pylist(rows, schema=schema("sketches"))


@cache
def _works() -> list[CorpusBook]:
    return long_works()
