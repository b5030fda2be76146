"""Real books through the whole service: each labelled copy finds the other, other works stay apart."""

import csv
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from app.services.index.questions import Verified
from app.wiring import Services
from bookprint_readers import jsonl
from tests.factories import ACTOR

RELATED = ("same_work", "contains", "overlaps")
NEGATIVES = ("series", "different", "translation")


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_copies_of_a_work_find_each_other_and_other_works_do_not(
    services: Services, corpus: Path
) -> None:
    ids: dict[str, UUID] = {}
    for line in jsonl.lines(corpus / "books.jsonl.gz"):
        assert isinstance(line.data, bytes)
        book = jsonl.submission(line.data)
        stored = await services.ingest.post(book, actor=ACTOR)
        assert stored.created
        assert stored.book.indexed
        ids[str(book.metadata.external_id)] = stored.book.id
    assert len(ids) == 394

    answers: dict[UUID, set[UUID]] = {}
    for book_id in ids.values():
        answer = await services.lookup.near_duplicates(book_id, Verified(), None, 1000)
        answers[book_id] = {match.book.book_id for match in answer.matches}

    with (corpus / "real_pairs.csv").open(encoding="utf-8", newline="") as rows:
        pairs = [(row["relation"], ids[row["a"]], ids[row["b"]]) for row in csv.DictReader(rows)]
    total = Counter(relation for relation, _, _ in pairs)
    mutual = Counter(relation for relation, a, b in pairs if b in answers[a] and a in answers[b])
    true, false = (sum(mutual[relation] for relation in kind) for kind in (RELATED, NEGATIVES))
    assert true >= 0.97 * sum(total[relation] for relation in RELATED)
    assert true >= 0.98 * (true + false)
