"""The Lua scripts of the band index.

Those that take many keys also do right where they are called once for each key, as on a cluster. A bucket of
up to 16 KB is searched before it is added to. It is written as a whole, because APPEND doubles the room that
a string takes. Of a larger one only the end is searched, so the work of a write stays bounded.
"""

from dataclasses import dataclass, field
from hashlib import sha1

from bookprint_core.index.records import POSTING_BYTES, POSTING_CAP


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, called by the SHA-1 of its text."""

    body: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.body.encode(), usedforsecurity=False).hexdigest())


_RECORDS = """
local width = #ARGV[1] / #KEYS
local function record_of(i) return string.sub(ARGV[1], (i - 1) * width + 1, i * width) end
local function find(bucket, record)
  local at = string.find(bucket, record, 1, true)
  while at and (at - 1) % #record ~= 0 do at = string.find(bucket, record, at + 1, true) end
  return at
end
"""

_MEND = """
local function mend(key, record)
  local size = redis.call('STRLEN', key)
  if size == 0 then
    redis.call('SET', key, record)
  elseif size < 16384 then
    local bucket = redis.call('GET', key)
    if not find(bucket, record) and (not cap or size < cap) then redis.call('SET', key, bucket .. record) end
  elseif not cap or size < cap then
    local searched = math.max(0, size - #record * 8192)
    if not find(redis.call('GETRANGE', key, searched, -1), record) then redis.call('APPEND', key, record) end
  end
end
"""

_UNBOUNDED = "local cap = nil\n"
_CAPPED = f"local cap = {POSTING_CAP * POSTING_BYTES}\n"

_MEND_EACH = "for i, key in ipairs(KEYS) do mend(key, record_of(i)) end\n"

ADD_RECORDS = Script(_RECORDS + _UNBOUNDED + _MEND + _MEND_EACH)
"""Put the i-th record of ARGV[1] into the bucket KEYS[i], for every i, unless it is there."""

MEND_POSTINGS = Script(_RECORDS + _CAPPED + _MEND + _MEND_EACH)
"""The same for buckets with a bound on their records."""

ADD_POSTINGS = Script(
    _RECORDS
    + _CAPPED
    + _MEND
    + """
local is_there, seen_full = false, false
for i, key in ipairs(KEYS) do
  if redis.call('STRLEN', key) < cap then
    local bucket = redis.call('GET', key)
    is_there = bucket and find(bucket, record_of(i))
    break
  end
  seen_full = true
end
for i, key in ipairs(KEYS) do
  if is_there then
    mend(key, record_of(i))
  elseif not seen_full or redis.call('STRLEN', key) < cap then
    if redis.call('APPEND', key, record_of(i)) <= cap then
      redis.call('BITOP', 'OR', key, key)
    else
      redis.call('SET', key, redis.call('GETRANGE', key, 0, cap - 1))
    end
  end
end
"""
)
"""The same for postings of one new entry: the first bucket with room tells whether they are there. No script
is interrupted, and postings are always written in their order. BITOP copies a string without the room that
APPEND added; to read each bucket here and write it anew takes twice as long."""

REMOVE_RECORDS = Script(
    _RECORDS
    + """
for i, key in ipairs(KEYS) do
  local record, bucket = record_of(i), redis.call('GET', key)
  local at = bucket and find(bucket, record)
  if at and #bucket == #record then
    redis.call('DEL', key)
  elseif at then
    redis.call('SET', key, string.sub(bucket, 1, at - 1) .. string.sub(bucket, at + #record))
  end
end
"""
)
"""Take the i-th record of ARGV[1] out of the bucket KEYS[i], for every i; an empty bucket goes."""

_RUN_ID = "local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')\n"

READ_RUN_ID = Script(_RUN_ID + "return run")
"""The id of this life of the server that serves KEYS[1]."""

OPEN_EPOCH = Script(_RUN_ID + "return redis.call('SET', KEYS[1], 'building:' .. run .. ':' .. ARGV[1])")
"""Say that building ARGV[1] has begun in this life of the server; there is no epoch until it ends."""

FINISH_EPOCH = Script(
    _RUN_ID
    + """
local epoch = run .. ':' .. ARGV[1]
local held = redis.call('GET', KEYS[1])
if held == 'building:' .. epoch then redis.call('SET', KEYS[1], epoch) end
return (held == 'building:' .. epoch or held == epoch) and 1 or 0
"""
)
"""Make building ARGV[1] the epoch, once or again; answers 0 if a flush, a restart or another building came
between."""

SCRIPTS = (
    *(ADD_RECORDS, ADD_POSTINGS, MEND_POSTINGS, REMOVE_RECORDS),
    *(READ_RUN_ID, OPEN_EPOCH, FINISH_EPOCH),
)
