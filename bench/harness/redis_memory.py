"""The memory of Redis, by kind of key."""

import re
from collections import defaultdict
from typing import Any

import redis

_SAMPLED_KEYS = 64  # one key of so many is weighed
_FEW_KEYS = 20_000  # of kinds with fewer, every key


def empty_redis(client: "redis.Redis") -> None:
    """Delete every key and wait until its memory is free: Valkey would free it later, by itself."""
    client.config_set("lazyfree-lazy-user-flush", "no")
    client.flushall()


def used(client: "redis.Redis") -> int:
    """Bytes that Redis has allocated."""
    return int(client.info("memory")["used_memory"])


def weighed(client: "redis.Redis", books: int) -> dict[str, Any]:
    """Bytes for each book: all, resident, and by kind of key (MEMORY USAGE)."""
    keys: dict[str, list[bytes]] = defaultdict(list)
    for key in client.scan_iter(count=5000):
        keys[_kind(key.decode())].append(key)
    families = {}
    for kind, names in sorted(keys.items()):
        sample = names[:: _SAMPLED_KEYS if len(names) > _FEW_KEYS else 1]
        pipeline = client.pipeline(transaction=False)
        for key in sample:
            pipeline.memory_usage(key, samples=0)
        weight = sum(size or 0 for size in pipeline.execute()) * len(names) / len(sample)
        families[kind] = {"keys": len(names), "bytes_per_book": round(weight / books, 1)}
    info = client.info("memory")
    return {
        "bytes_per_book": round(info["used_memory"] / books, 1),
        "resident_bytes_per_book": round(info["used_memory_rss"] / books, 1),
        "families": families,
    }


def _kind(key: str) -> str:
    """The words of a key, numbers left out."""
    words = [word for word in re.sub(r":\d*{|}", ":", key).split(":") if word and not word.isdigit()]
    return ":".join(words)
