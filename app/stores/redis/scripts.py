"""The Lua scripts of the band index.

A bucket of up to 16 KB is searched before a record is added. It is written as a whole, because APPEND doubles
the memory of a string. Only the end of a larger bucket is searched, so the work of a write stays bounded.

Scripts that change buckets of a partition receive the key of its epoch as the last key, and the expected
epoch as the last argument. They change nothing and return the present epoch if its building or size is not
the expected one.
"""

from dataclasses import dataclass, field
from hashlib import sha1

from bookprint_core.index.records import POSTING_CAP
from bookprint_core.index.tables import POSTINGS


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, called by the SHA-1 of its text."""

    body: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.body.encode(), usedforsecurity=False).hexdigest())


_AT_EPOCH = """
local epoch = table.remove(KEYS)
local held = redis.call('GET', epoch)
if held ~= ARGV[#ARGV] then return held end
"""

_RECORDS = """
local width = #ARGV[1] / #KEYS
local function record_of(i) return string.sub(ARGV[1], (i - 1) * width + 1, i * width) end
local function find(bucket, record)
  local at = string.find(bucket, record, 1, true)
  while at and (at - 1) % #record ~= 0 do at = string.find(bucket, record, at + 1, true) end
  return at
end
"""

_NO_CAP = """
local cap = nil
local function is_full() return false end
"""

_CAP = f"""
local cap = {POSTING_CAP * POSTINGS.width}
local function is_full(i, bucket)
  local ids = 2 ^ string.byte(ARGV[2], i)
  local word = struct.unpack('<I4', record_of(i))
  local first = word - word % ids
  local mark = struct.pack('<I4', first)
  if find(bucket, mark) then return true end
  local count = 0
  for at = 1, #bucket, {POSTINGS.width} do
    local other = struct.unpack('<I4', bucket, at)
    if other >= first and other < first + ids then count = count + 1 end
  end
  if count >= {POSTING_CAP} then redis.call('APPEND', KEYS[i], mark) end
  return count >= {POSTING_CAP}
end
"""

_MEND = """
local function mend(i)
  local key, record = KEYS[i], record_of(i)
  local size = redis.call('STRLEN', key)
  if size == 0 then
    redis.call('SET', key, record)
  elseif size < 16384 then
    local bucket = redis.call('GET', key)
    if not find(bucket, record) then redis.call('SET', key, bucket .. record) end
  else
    local searched = math.max(0, size - #record * 8192)
    if find(redis.call('GETRANGE', key, searched, -1), record) then return end
    if cap and size >= cap and is_full(i, redis.call('GET', key)) then return end
    redis.call('APPEND', key, record)
  end
end
"""

_MEND_EACH = "for i = 1, #KEYS do mend(i) end\nreturn 1\n"

ADD_SEGMENTS = Script(_RECORDS + _NO_CAP + _MEND + _MEND_EACH)
"""Add the i-th record of ARGV[1] to the segment KEYS[i], for every i, unless the segment contains it."""

ADD_RECORDS = Script(_AT_EPOCH + _RECORDS + _NO_CAP + _MEND + _MEND_EACH)
"""Add records to buckets of a partition, as `ADD_SEGMENTS` does to segments."""

MEND_POSTINGS = Script(_AT_EPOCH + _RECORDS + _CAP + _MEND + _MEND_EACH)
"""Add postings as `ADD_RECORDS` does, unless their hash is full; byte i of ARGV[2]: bits of an entry id."""

ADD_POSTINGS = Script(
    _AT_EPOCH
    + _RECORDS
    + _CAP
    + _MEND
    + """
local is_there = false
for i, key in ipairs(KEYS) do
  local bucket = redis.call('STRLEN', key) < cap and (redis.call('GET', key) or '')
  if bucket then
    is_there = find(bucket, record_of(i))
    break
  end
end
for i, key in ipairs(KEYS) do
  if is_there then
    mend(i)
  else
    local size = redis.call('APPEND', key, record_of(i))
    if size > cap then
      redis.call('SET', key, redis.call('GETRANGE', key, 0, -1 - width))
      mend(i)
    else
      redis.call('BITOP', 'OR', key, key)
    end
  end
end
return 1
"""
)
"""Add the postings of one new entry as `MEND_POSTINGS` does. The first bucket of usual size shows whether
they are stored: scripts are not interrupted, so all postings are stored or none. BITOP copies a string
without the memory that APPEND added; reading and writing each bucket here takes twice as long."""

_REMOVE = """
for i, key in ipairs(KEYS) do
  local record, bucket = record_of(i), redis.call('GET', key)
  local at = bucket and find(bucket, record)
  if at and #bucket == #record then
    redis.call('DEL', key)
  elseif at then
    redis.call('SET', key, string.sub(bucket, 1, at - 1) .. string.sub(bucket, at + #record))
  end
end
return 1
"""

REMOVE_SEGMENTS = Script(_RECORDS + _REMOVE)
"""Remove the i-th record of ARGV[1] from the segment KEYS[i], for every i; delete empty segments."""

REMOVE_RECORDS = Script(_AT_EPOCH + _RECORDS + _REMOVE)
"""Remove records from buckets of a partition, as `REMOVE_SEGMENTS` does from segments."""

GROW = Script(
    _AT_EPOCH
    + """
local width, byte, mask = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local size, read = tonumber(string.match(held, '%d+$')), 0
for i = 1, #KEYS, 2 do
  local bucket = redis.call('GET', KEYS[i]) or ''
  local stay, move = {}, {}
  for at = 1, #bucket, width do
    local bits = string.byte(bucket, at + byte)
    if bits and math.floor(bits / mask) % 2 == 1 then
      move[#move + 1] = string.sub(bucket, at, at + byte - 1)
      move[#move + 1] = string.char(bits - mask)
      move[#move + 1] = string.sub(bucket, at + byte + 1, at + width - 1)
    else
      stay[#stay + 1] = string.sub(bucket, at, at + width - 1)
    end
  end
  redis.call('DEL', KEYS[i + 1])
  if #move > 0 then
    redis.call('SET', KEYS[i + 1], table.concat(move))
    if #stay > 0 then redis.call('SET', KEYS[i], table.concat(stay)) else redis.call('DEL', KEYS[i]) end
  end
  size, read = size + 1, read + #bucket
  if read > 8192 then break end
end
local epoch_now = string.gsub(held, '%d+$', size)
redis.call('SET', epoch, epoch_now)
return epoch_now
"""
)
"""Divide the buckets KEYS[1], KEYS[3], … into themselves and KEYS[2], KEYS[4], …, by one bit of their
records: byte ARGV[2], mask ARGV[3]. Stop after some thousand records. Return the epoch with the new size."""

_RUN_ID = "local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')\n"

READ_RUN_ID = Script(_RUN_ID + "return run")
"""Return the run id of the server that serves KEYS[1]."""

OPEN_EPOCH = Script(
    _RUN_ID
    + """
local size = string.match(redis.call('GET', KEYS[1]) or '', ' (%d+)$') or ARGV[2]
return redis.call('SET', KEYS[1], 'building:' .. run .. ':' .. ARGV[1] .. ' ' .. size)
"""
)
"""Mark the begin of building ARGV[1] with the server's run id; no epoch is valid until its end. A partition
of unknown size gets ARGV[2] buckets."""

RESIZE = Script(
    "return redis.call('SET', KEYS[1], string.match(redis.call('GET', KEYS[1]), '^%S+ ') .. ARGV[1])"
)
"""Set the number of buckets of an empty partition to ARGV[1]."""

FINISH_EPOCH = Script(
    _RUN_ID
    + """
local epoch = run .. ':' .. ARGV[1]
local held, size = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+)(.*)$')
if held == 'building:' .. epoch then redis.call('SET', KEYS[1], epoch .. size) end
return (held == 'building:' .. epoch or held == epoch) and 1 or 0
"""
)
"""Make building ARGV[1] the epoch, also if called again. Return 0 if a flush, a restart or another building
has intervened."""

SCRIPTS = (
    *(ADD_SEGMENTS, ADD_RECORDS, ADD_POSTINGS, MEND_POSTINGS, REMOVE_SEGMENTS, REMOVE_RECORDS, GROW),
    *(READ_RUN_ID, OPEN_EPOCH, RESIZE, FINISH_EPOCH),
)
