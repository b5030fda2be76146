"""Books as similar as asked, found by their MinHash bands in the index and compared by their MinHash."""

from dataclasses import replace

import numpy as np
import pytest
from datasketch import MinHashLSH

from app.services.index.questions import Alike
from app.services.lookups import Answer
from app.settings import optimal_bands
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import open_client
from app.stores.redis.epoch import IndexState
from bookprint_core.errors import IndexRebuilding
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.model import Book, MinHashSignature, Submission
from bookprint_core.recipe import DEFAULT_MINHASH
from bookprint_core.signatures.minhash import jaccard
from tests.factories import ACTOR, BANDS, a_sketch, similar_values
from tests.index_buckets import let_redis_fail
from tests.open_services import OpenServices
from tests.redis_cluster import on_cluster_too

ALL = 1000


async def a_family(services: OpenServices, n: int) -> tuple[MinHashSignature, dict[Book, MinHashSignature]]:
    """A signature, and posted books of which every third is a stranger and the others are similar to it."""
    rng = np.random.default_rng(7)
    query = MinHashSignature(DEFAULT_MINHASH, rng.integers(0, 1 << 32, 128, dtype=np.uint32), 1000)
    posted = {}
    for number in range(n):
        values = similar_values(rng, query.values, rng.uniform(0.3, 1) if number % 3 else 0, 1)[0]
        minhash = replace(query, values=values)
        sketch = replace(a_sketch(rng), minhash=minhash, sample=None if number % 2 else a_sketch(rng).sample)
        posted[(await services.ingest.post(Submission(sketch=sketch), actor=ACTOR)).book] = minhash
    return query, posted


def expected(query: MinHashSignature, posted: dict[Book, MinHashSignature], least: float) -> list[Book]:
    """By brute force: those with a band in common and enough equal values, the most similar first."""
    found = {
        book: jaccard(query, other)
        for book, other in posted.items()
        if BANDS.in_common(query.values, other.values[None])[0] and jaccard(query, other) >= least
    }
    return sorted(found, key=lambda book: (-found[book], book.entry_id))


def ids(answer: Answer) -> list[object]:
    assert answer.total == len(answer.matches)
    assert answer.exact is False
    return [match.book.book_id for match in answer.matches]


async def ask(services: OpenServices, query: MinHashSignature, least: float) -> Answer:
    sketch = replace(a_sketch(np.random.default_rng(1)), minhash=query, sample=None)
    return await services.lookup.look_up(sketch.to_entry(0), Alike(least), None, ALL)


@on_cluster_too
async def test_it_is_answered_like_brute_force_by_added_and_by_built_records(services: OpenServices) -> None:
    query, posted = await a_family(services, 60)
    for _ in range(2):
        for least in (0.3, 0.5, 0.7, 0.9, 1.0):
            answer = await ask(services, query, least)
            assert ids(answer) == [book.id for book in expected(query, posted, least)]
            assert answer.recall == BANDS.chance(least)
        assert await services.is_clean()
        await services.upkeep.rebuild()
    gone, *others = expected(query, posted, 0.5)
    assert len(others) > 5
    stored = await services.lookup.near_duplicates(gone.id, Alike(0.5), None, ALL)
    assert ids(stored) == [book.id for book in expected(posted.pop(gone), posted, 0.5)]
    await services.ingest.delete(gone.id, None, actor=ACTOR)
    assert ids(await ask(services, query, 0.5)) == [book.id for book in others]
    assert await services.is_clean()


async def test_pending_books_are_found_by_the_same_rule(
    services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        let_redis_fail(patch)
        query, posted = await a_family(services, 40)
    pending = [ids(await ask(services, query, least)) for least in (0.3, 0.6)]
    assert pending == [[book.id for book in expected(query, posted, least)] for least in (0.3, 0.6)]
    await services.upkeep.catch_up()
    assert [ids(await ask(services, query, least)) for least in (0.3, 0.6)] == pending


async def test_a_book_without_minhash_finds_none(services: OpenServices) -> None:
    await a_family(services, 3)
    sketch = replace(a_sketch(np.random.default_rng(1)), minhash=None, sample=None)
    stored = (await services.ingest.post(Submission(sketch=sketch), actor=ACTOR)).book
    assert ids(await services.lookup.near_duplicates(stored.id, Alike(0.3), None, ALL)) == []
    assert ids(await services.lookup.look_up(sketch.to_entry(0), Alike(0.3), None, ALL)) == []


async def test_an_index_of_other_bands_is_not_read(services: OpenServices, index_url: str) -> None:
    query, posted = await a_family(services, 12)
    entry = a_sketch(np.random.default_rng(1)).to_entry(999)
    async with open_client(index_url) as client:
        others = BandIndex(client, MinHashBands(14, 9))
        assert await others.epochs.state() is IndexState.LOST
        with pytest.raises(IndexRebuilding):
            await others.insert([entry])
        await others.epochs.begin("other")
        await others.delete_all()
        assert await others.epochs.finish("other")
        with pytest.raises(IndexRebuilding):
            await ask(services, query, 0.5)
        with pytest.raises(IndexRebuilding):
            await services.index.insert([entry])
    await services.upkeep.catch_up()
    assert ids(await ask(services, query, 0.5)) == [book.id for book in expected(query, posted, 0.5)]
    assert await services.is_clean()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.9])
def test_the_bands_are_those_of_datasketch(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    lsh = MinHashLSH(threshold=threshold, num_perm=128)
    optimal_bands.cache_clear()
    assert optimal_bands(threshold) == (lsh.b, lsh.r)
    optimal_bands.cache_clear()
    monkeypatch.setenv("BOOKPRINT_BANDS", f"{threshold} 8 16")
    assert optimal_bands(threshold) == (8, 16)
    optimal_bands.cache_clear()
