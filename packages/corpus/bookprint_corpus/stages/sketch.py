"""The first stage: every book of the input is read and signed.

A damaged file may crash or hang its reader. Each task therefore reads in child processes, which are restarted
if necessary, and refuses only that book. Each task writes its own refusals, because they are few.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from bookprint_core.errors import Refusal
from bookprint_core.metadata import checked_metadata
from bookprint_core.model import NewBook, NewContent, Submission
from bookprint_core.signatures.sketch import sketch
from bookprint_core.signatures.table_codec import cells_of
from bookprint_corpus import storage
from bookprint_corpus.corpus import HEAVY_ROWS_PER_GROUP, Corpus
from bookprint_corpus.splits import CorpusInput, Split
from bookprint_corpus.tables import schema
from bookprint_readers.processes import Ask, ReadingProcesses
from bookprint_readers.reading import key_of, refusal_of, results_of
from bookprint_readers.unread import Unread

BOOKS_PER_SPLIT_BITS = 32
"""Bits of a book's number that count the books of its split. Higher bits contain the split's number."""

_ROWS_AT_ONCE = 128

_Row = dict[str, Any]


def run(corpus: Corpus, source: CorpusInput) -> None:
    """Write `sketches` and `refused`."""
    storage.delete(corpus.out, "refused")
    sketches = schema("sketches")
    # With several processes, even a single split, such as one long file, uses every core of this machine.
    processes = max(1, (corpus.engine.tasks_at_once or 1) // len(source.splits))
    work = partial(signed_split, processes=processes)
    frame = corpus.spread("sketch", source.tasks(), work, sketches, starts_processes=True)
    corpus.write("sketches", frame, sketches, rows_per_group=HEAVY_ROWS_PER_GROUP)
    if not storage.files(corpus.out, "refused"):
        storage.write(corpus.out, "refused", schema("refused").empty_table())


def signed_split(out: str, task: _Row, processes: int = 1) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `sketches` for one split, read in several processes. Write its rows of `refused`."""
    split = Split(**task)
    rows: list[_Row] = []
    refused: list[_Row] = []
    with ReadingProcesses(processes, signed, (NewBook, Refusal)) as reading:
        for number, (book, result) in enumerate(results_of(reading, split.books()), 1):
            if isinstance(result, Refusal):
                refused.append({"place": book.place, "reason": result.reason, "problem": result.problem})
                continue
            place = {"book": split.number << BOOKS_PER_SPLIT_BITS | number, "place": book.place}
            content = result.content
            cells = cells_of(result.metadata, content.sketch, content.page_labels)
            rows.append(place | cells | {"content_key": content.key})
            if len(rows) == _ROWS_AT_ONCE:
                yield pa.RecordBatch.from_pylist(rows, schema=schema("sketches"))
                rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema("sketches"))
    if refused:
        table = pa.Table.from_pylist(refused, schema=schema("refused"))
        storage.write(out, "refused", table, f"split-{split.number}")


def signed(book: Unread, ask: Ask) -> NewBook | Refusal:
    """Read and sign a book in a reading process."""
    try:
        return _signed(book.read())
    except Exception as exc:
        return refusal_of(exc)


def _signed(submission: Submission) -> NewBook:
    key, content = key_of(submission), submission.content
    signatures = submission.sketch if content is None else sketch(content)
    assert signatures is not None  # without signatures, `key_of` raises an error
    labels = submission.page_labels
    signed_content = NewContent(key, signatures, None, page_labels=labels)
    return NewBook(checked_metadata(submission.metadata), signed_content)
