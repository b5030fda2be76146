"""The Lua scripts of the band index. Each touches one key, so they also run on Redis Cluster."""

from dataclasses import dataclass, field
from hashlib import sha1


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, called by the SHA-1 of its text."""

    body: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.body.encode(), usedforsecurity=False).hexdigest())


ADD_RECORD = Script(
    """
local bucket = redis.call('GET', KEYS[1])
if bucket then
  local record, at = ARGV[1], 1
  while true do
    at = string.find(bucket, record, at, true)
    if not at then break end
    if (at - 1) % #record == 0 then return 0 end
    at = at + 1
  end
end
redis.call('APPEND', KEYS[1], ARGV[1])
return 1
"""
)
"""Append the record ARGV[1] to the bucket unless it is there; answers 1 if it was new."""

REMOVE_RECORDS = Script(
    """
local bucket = redis.call('GET', KEYS[1])
if not bucket then return 0 end
local width, gone, kept, from = tonumber(ARGV[1]), {}, {}, 1
for i = 2, #ARGV do gone[ARGV[i]] = true end
for at = 1, #bucket, width do
  if gone[string.sub(bucket, at, at + width - 1)] then
    if at > from then kept[#kept + 1] = string.sub(bucket, from, at - 1) end
    from = at + width
  end
end
if from == 1 then return 0 end
kept[#kept + 1] = string.sub(bucket, from)
local rest = table.concat(kept)
if rest == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], rest) end
return 1
"""
)
"""Drop the records ARGV[2…], each ARGV[1] bytes wide, from the bucket; answers 1 if the bucket changed."""

READ_EPOCH = Script(
    """
local epoch = redis.call('GET', KEYS[1])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if epoch and string.sub(epoch, 1, #run) == run then return epoch end
return false
"""
)
"""The epoch, or nothing where it is missing or was made in another life of the server."""

OPEN_EPOCH = Script(
    """
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
redis.call('SET', KEYS[1], 'building:' .. run .. ':' .. ARGV[1])
return 1
"""
)
"""Say that reconciliation ARGV[1] has begun in this life of the server; there is no epoch until it ends."""

FINISH_EPOCH = Script(
    """
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('GET', KEYS[1]) ~= 'building:' .. run .. ':' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], run .. ':' .. ARGV[1])
return 1
"""
)
"""Make reconciliation ARGV[1] the epoch; answers 0 if a flush, a restart or another one came between."""

SCRIPTS = (ADD_RECORD, REMOVE_RECORDS, READ_EPOCH, OPEN_EPOCH, FINISH_EPOCH)
