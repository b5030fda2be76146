"""The Lua scripts of the band index.

Those that take many keys treat each by itself, so on a cluster they can be called once per slot.
"""

from dataclasses import dataclass, field
from hashlib import sha1


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, called by the SHA-1 of its text."""

    body: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.body.encode(), usedforsecurity=False).hexdigest())


ADD_RECORDS = Script(
    """
for i, key in ipairs(KEYS) do
  local record, bucket, at = ARGV[i], redis.call('GET', key), nil
  if bucket then
    at = string.find(bucket, record, 1, true)
    while at and (at - 1) % #record ~= 0 do at = string.find(bucket, record, at + 1, true) end
  end
  if not at then redis.call('APPEND', key, record) end
end
"""
)
"""Append the record ARGV[i] to the bucket KEYS[i], for every i, unless it is there."""

REMOVE_RECORDS = Script(
    """
for i, key in ipairs(KEYS) do
  local record, bucket = ARGV[i], redis.call('GET', key)
  local at = bucket and string.find(bucket, record, 1, true)
  while at and (at - 1) % #record ~= 0 do at = string.find(bucket, record, at + 1, true) end
  if at and #bucket == #record then
    redis.call('DEL', key)
  elseif at then
    redis.call('SET', key, string.sub(bucket, 1, at - 1) .. string.sub(bucket, at + #record))
  end
end
"""
)
"""Take the record ARGV[i] out of the bucket KEYS[i], for every i, where it is there; an empty bucket goes."""

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

SCRIPTS = (ADD_RECORDS, REMOVE_RECORDS, READ_EPOCH, OPEN_EPOCH, FINISH_EPOCH)
