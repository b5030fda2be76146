"""The band index against brute force, and its behaviour when Redis loses its memory."""

from dataclasses import replace

import numpy as np
import pytest

from app.services.index.questions import Nearest, Verified, Within, find
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import RedisClient
from app.stores.redis.epoch import IndexState
from app.stores.redis.keys import epochs_of
from bookprint_core.errors import IndexRebuilding, RecipeMismatch, Unavailable
from bookprint_core.index import fingerprints as planning
from bookprint_core.index.records import POSTING_CAP, Hits
from bookprint_core.index.tables import BAND_BUCKETS, POSTINGS, BucketKeys, Records
from bookprint_core.matching.search import Proposed, plan_candidates, proposed
from bookprint_core.matching.verification import evidence_of_each, is_accepted
from bookprint_core.model import Entry, Fingerprint
from bookprint_core.recipe import DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import fracminhash, shared_hashes
from tests.factories import an_entry, flipped
from tests.index_buckets import buckets_of, placed
from tests.redis_cluster import Operator, on_cluster_too

DISTANCES = (0, 1, 3, 7, 8, 10, 15, 16, 20, 23, 24, 28, 40, 64, 128)


def family(rng: np.random.Generator, size: int) -> list[Entry]:
    """Entries of which every tenth is random and the others lie up to 60 bits from the one before."""
    entries = []
    for entry_id in range(1, size + 1):
        bits = None
        if entries and entry_id % 10:
            flips = rng.choice(128, int(rng.integers(0, 60)), replace=False)
            bits = flipped(entries[-1].fingerprint.bits, *flips.tolist())
        entries.append(an_entry(rng, entry_id, bits))
    return entries


def brute_force(entries: list[Entry], bits: bytes, d: int) -> list[tuple[int, int]]:
    query = int.from_bytes(bits, "big")
    distances = {
        entry.entry_id: (int.from_bytes(entry.fingerprint.bits, "big") ^ query).bit_count()
        for entry in entries
    }
    return sorted((distance, entry_id) for entry_id, distance in distances.items() if distance <= d)


async def within(index: BandIndex, fingerprint: Fingerprint, d: int) -> Hits:
    return (await find(index, Entry(0, fingerprint, None), Within(d), 0)).hits


async def nearest(index: BandIndex, fingerprint: Fingerprint, k: int) -> Hits:
    return (await find(index, Entry(0, fingerprint, None), Nearest(k), 0)).hits


async def near_duplicates(index: BandIndex, query: Entry) -> Hits:
    return (await find(index, query, Verified(), 0)).hits


async def related(index: BandIndex, query: Entry) -> Proposed:
    plan = plan_candidates(query, index.flat_index.latest)
    return proposed(query, plan, await index.read(plan))


def pairs(hits: Hits) -> list[tuple[int, int]]:
    return list(zip(hits.distances.tolist(), hits.entry_ids.tolist(), strict=True))


@pytest.fixture(params=["probed", "scanned", "planned"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways to answer exact questions: by the bands, from the flat index, or as the planner says."""
    cost = {"probed": 10**9, "scanned": 0.0, "planned": planning.ROW_NANOSECONDS}
    monkeypatch.setattr(planning, "ROW_NANOSECONDS", cost[request.param])
    return str(request.param)


@pytest.mark.parametrize(
    ("index_url", "size"),
    [("server", 150), pytest.param("cluster", 30, marks=pytest.mark.slow)],
    indirect=["index_url"],
)
async def test_every_distance_is_answered_like_brute_force(index: BandIndex, size: int, way: str) -> None:
    rng = np.random.default_rng(size)
    entries = family(rng, size)
    for start in range(0, size, 100):
        await index.insert(entries[start : start + 100])
    for query in entries[:: size // 6]:
        for d in DISTANCES:
            hits = await within(index, query.fingerprint, d)
            assert pairs(hits) == brute_force(entries, query.fingerprint.bits, d)


async def test_the_nearest_are_the_first_of_all(index: BandIndex) -> None:
    entries = family(np.random.default_rng(9), 300)
    await index.insert(entries)
    for query in entries[::90]:
        expected = brute_force(entries, query.fingerprint.bits, 128)
        for k in (1, 7, 299, 300, 500):
            assert pairs(await nearest(index, query.fingerprint, k)) == expected[:k]


@on_cluster_too
async def test_adding_twice_is_adding_once(index: BandIndex, redis_client: RedisClient) -> None:
    entry = an_entry(np.random.default_rng(1), 7)
    await index.insert([entry])
    before = await buckets_of(redis_client)
    await index.insert([entry, entry])
    assert await buckets_of(redis_client) == before
    bands, [postings] = index.records([entry])
    records = await placed(index, bands, postings)
    assert all(data in before[key] for key, data in records)
    assert len(before) == len({key for key, _ in records}) + 1


async def test_a_record_that_only_appears_across_two_others_is_still_added(
    index: BandIndex, redis_client: RedisClient
) -> None:
    bits = bytes(16)
    straddled = [
        Entry(entry_id, Fingerprint("gap-simhash128-v1", bits), None) for entry_id in (1 << 16, 0, 256)
    ]
    for entry in straddled:
        await index.insert([entry])
    hits = await within(index, straddled[0].fingerprint, 0)
    assert sorted(hits.entry_ids.tolist()) == sorted(entry.entry_id for entry in straddled)
    assert sum(map(len, (await buckets_of(redis_client)).values())) == 3 * (8 * 12 + 30)


@on_cluster_too
async def test_removing_leaves_nothing_of_an_entry_and_everything_of_the_others(
    index: BandIndex, redis_client: RedisClient
) -> None:
    rng = np.random.default_rng(2)
    gone = an_entry(rng, 1)
    stays = an_entry(rng, 2, gone.fingerprint.bits)
    await index.insert([stays])
    alone = await buckets_of(redis_client)
    await index.insert([gone])
    await index.delete([gone])
    await index.delete([gone])
    assert await buckets_of(redis_client) == alone
    await index.delete([stays])
    assert await buckets_of(redis_client) == {}


async def test_crowded_buckets_take_every_entry_once(index: BandIndex, redis_client: RedisClient) -> None:
    rng = np.random.default_rng(12)
    bits = rng.bytes(16)
    entries = [Entry(i, Fingerprint("gap-simhash128-v1", bits), None) for i in range(1, 1501)]
    for start in range(0, 1500, 250):
        await index.insert(entries[start : start + 250])
        await index.insert(entries[start + 240 : start + 250])
    hits = await within(index, entries[0].fingerprint, 0)
    assert hits.entry_ids.tolist() == list(range(1, 1501))
    assert {len(data) for key, data in (await buckets_of(redis_client)).items() if ":f" not in key} == {
        1500 * 12
    }


async def test_a_full_hash_takes_no_more_postings_and_its_bucket_takes_others(
    index: BandIndex, redis_client: RedisClient
) -> None:
    rng = np.random.default_rng(13)
    first = an_entry(rng, 1)
    copies = [replace(first, entry_id=entry_id) for entry_id in range(2, 5)]
    [full] = index.records([first])[1]
    # Others of its hash fill a bucket, of another hash one short of it, and other hashes beside its own.
    keys = [key for key, _ in await placed(index, full)]
    alone = [place for place, key in enumerate(keys) if keys.count(key) == 1]
    fillings = [(POSTING_CAP, 0), (POSTING_CAP - 1, 0), (POSTING_CAP, 1 << 20)]
    before = {}
    for place, (count, other_hash) in zip(alone, fillings, strict=False):
        key = full.chosen(slice(place, place + 1))
        others = BucketKeys(
            POSTINGS, key.keys.partitions.repeat(count), (key.keys.values ^ other_hash).repeat(count)
        )
        records = Records(others, np.arange(count, dtype=np.uint64) % np.uint64(8000) + np.uint64(9))
        before[(await placed(index, key))[0][0]] = b"".join(data for _, data in await placed(index, records))
    await redis_client.write(before)
    for _ in range(2):
        await index.insert([first, *copies])
        await index.insert([first, *copies], missing=True, guarded=False)
    buckets = await buckets_of(redis_client)
    marks = dict(await placed(index, replace(full, entry_ids=full.entry_ids * 0)))
    added = [await placed(index, records) for records in index.records([first, *copies])[1]]
    for (key, data), kept in zip(before.items(), (0, 1, 4), strict=True):
        records = b"".join(dict(each)[key] for each in added[:kept])
        assert buckets[key] == data + records + (b"" if kept == 4 else marks[key])
    assert (await near_duplicates(index, first)).size == 4


async def test_what_is_lost_of_an_entry_is_restored_and_the_rest_left(
    index: BandIndex, redis_client: RedisClient
) -> None:
    entries = [an_entry(np.random.default_rng(16), i) for i in range(1, 4)]
    await index.insert(entries)
    before = await buckets_of(redis_client)
    [(key, _), *_] = await placed(index, *index.records(entries[:1])[1])
    await redis_client.run([("DEL", key)])
    await index.insert(entries, missing=True, guarded=False)
    assert await buckets_of(redis_client) == before


async def test_posting_buckets_have_no_spare_room(index: BandIndex, redis: Operator) -> None:
    entry = an_entry(np.random.default_rng(17), 1)
    for number in range(1, 151):
        await index.insert([Entry(number, None, entry.minhash, entry.sample)])
    [(key, _), *_] = await placed(index, *index.records([entry])[1])
    assert await redis.memory_usage(key) <= 150 * POSTINGS.width * 1.15 + 100


@on_cluster_too
async def test_books_are_found_by_shared_text_without_fingerprints(index: BandIndex) -> None:
    rng = np.random.default_rng(3)
    first, second, third = (an_entry(rng, entry_id) for entry_id in (1, 2, 3))
    shared = np.sort(np.concatenate([first.sample.hashes[:80], second.sample.hashes[80:]]))
    second = replace(second, sample=replace(second.sample, hashes=shared))
    await index.insert([first, second, third])
    assert (await near_duplicates(index, first)).entry_ids.tolist() == [1, 2]
    query = Entry(0, None, first.minhash, first.sample)
    assert (await near_duplicates(index, query)).entry_ids.tolist() == [1, 2]
    assert (await near_duplicates(index, Entry(0, None, None))).size == 0


@pytest.mark.parametrize("every", [40, 3], ids=["few", "many"])
async def test_books_without_samples_are_found_as_the_rule_says(index: BandIndex, every: int) -> None:
    rng = np.random.default_rng(21)
    entries = [
        replace(entry, sample=None) if entry.entry_id % every == 0 else entry for entry in family(rng, 400)
    ]
    await index.insert(entries)
    farther = 0
    for query in [*entries[every - 1 :: every][:6], *entries[every::every][:6]]:
        pairs_of_it = list(zip(entries, evidence_of_each(query, entries), strict=True))
        expected = {other.entry_id for other, each in pairs_of_it if is_accepted(each)}
        assert {*(await near_duplicates(index, query)).entry_ids.tolist()} == expected
        farther += sum(each.distance > 15 for other, each in pairs_of_it if other.entry_id in expected)
    assert farther


@on_cluster_too
async def test_a_small_part_that_two_books_share_is_proposed_by_their_samples(index: BandIndex) -> None:
    rng = np.random.default_rng(14)
    recipe = sample_recipe(DEFAULT_SAMPLE)
    story = rng.integers(0, 2**64, 10_000, dtype=np.uint64)

    def entry(entry_id: int, *parts: np.ndarray) -> Entry:
        hashes = np.concatenate([rng.integers(0, 2**64, 90_000, dtype=np.uint64), *parts])
        made = an_entry(rng, entry_id)
        return Entry(entry_id, made.fingerprint, made.minhash, fracminhash(hashes, recipe))

    collection, other, unrelated = entry(1, story), entry(2, story), entry(3)
    await index.insert([collection, other, unrelated])
    entry_ids = await related(index, other)
    assert entry_ids.entry_ids.tolist() == [1, 2]
    assert entry_ids.candidates.shared.tolist()[0] == shared_hashes(other.sample, collection.sample) >= 3
    assert entry_ids.near.tolist() == [False, True]
    assert (await related(index, Entry(0, None, None))).entry_ids.size == 0


@on_cluster_too
async def test_another_process_sees_what_is_added_and_removed_at_once(
    index: BandIndex, other: BandIndex
) -> None:
    entries = family(np.random.default_rng(5), 40)
    bits = entries[0].fingerprint
    assert (await within(other, bits, 128)).size == 0
    for entry in entries:
        await index.insert([entry])
        assert entry.entry_id in (await within(other, bits, 128)).entry_ids
    for entry in entries[:10]:
        await index.delete([entry])
        assert entry.entry_id not in (await within(other, bits, 128)).entry_ids
    assert pairs(await within(other, bits, 128)) == brute_force(entries[10:], bits.bits, 128)


@on_cluster_too
async def test_a_process_that_slept_through_a_trimmed_stream_reads_the_flat_index_anew(
    index: BandIndex, other: BandIndex, redis: Operator
) -> None:
    entries = family(np.random.default_rng(6), 60)
    await index.insert(entries[:20])
    assert (await within(other, entries[0].fingerprint, 128)).size == 20
    await index.insert(entries[20:40])
    await index.delete(entries[:10])
    [stream] = [key async for key in redis.scan_iter(match="*changes")]
    await redis.xtrim(stream, maxlen=0)
    await index.insert(entries[40:])
    hits = await within(other, entries[0].fingerprint, 128)
    assert pairs(hits) == brute_force(entries[10:], entries[0].fingerprint.bits, 128)


@on_cluster_too
async def test_a_process_follows_the_index_through_a_rebuilding(
    index: BandIndex, other: BandIndex, redis: Operator
) -> None:
    entries = family(np.random.default_rng(7), 40)
    await index.insert(entries)
    assert (await within(other, entries[0].fingerprint, 128)).size == 40
    await redis.flushdb()
    await index.epochs.begin("again")
    await index.insert(entries[:30], missing=True, guarded=False)
    with pytest.raises(IndexRebuilding):
        await within(other, entries[0].fingerprint, 128)
    assert await index.epochs.finish("again")
    assert (await within(other, entries[0].fingerprint, 128)).size == 30


@on_cluster_too
async def test_a_flush_is_noticed_and_nothing_is_answered_from_it(index: BandIndex, redis: Operator) -> None:
    entry = an_entry(np.random.default_rng(4), 1)
    await index.insert([entry])
    await redis.flushdb()
    assert await index.epochs.state() is IndexState.LOST
    for d in (7, 15, 64):
        with pytest.raises(IndexRebuilding):
            await within(index, entry.fingerprint, d)
    with pytest.raises(IndexRebuilding):
        await index.insert([entry])


@on_cluster_too
async def test_an_insert_asks_for_all_epochs(index: BandIndex, redis: Operator) -> None:
    entry = an_entry(np.random.default_rng(4), 1)
    await index.insert([entry])
    for key in (index.flat_index.epoch, epochs_of(BAND_BUCKETS)[7], epochs_of(POSTINGS)[3]):
        mark = await redis.get(key)
        await redis.delete(key)
        with pytest.raises(IndexRebuilding):
            await index.insert([entry])
        await redis.set(key, mark)


async def test_a_flush_during_reconciliation_keeps_the_index_out_of_service(
    index: BandIndex, redis: Operator
) -> None:
    await index.epochs.begin("a")
    assert await index.epochs.state() is IndexState.LOST
    await redis.flushdb()
    assert not await index.epochs.finish("a")
    assert await index.epochs.state() is IndexState.LOST


@on_cluster_too
async def test_a_server_that_has_lost_the_scripts_is_taught_them_again(
    index: BandIndex, redis: Operator
) -> None:
    await redis.script_flush()
    entry = an_entry(np.random.default_rng(6), 1)
    await index.insert([entry])
    hits = await within(index, entry.fingerprint, 0)
    assert hits.entry_ids.tolist() == [1]


async def test_fingerprints_of_another_recipe_are_refused(index: BandIndex) -> None:
    with pytest.raises(RecipeMismatch):
        await within(index, Fingerprint("tf-simhash128-v1", bytes(16)), 3)


@on_cluster_too
async def test_a_server_that_is_out_of_memory_is_unavailable(index: BandIndex, redis: Operator) -> None:
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable, match="refuses"):
            await index.insert([an_entry(np.random.default_rng(8), 1)])
    finally:
        await redis.config_set("maxmemory", "0")
