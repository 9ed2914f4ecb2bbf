-- Ringleader's frames for Wireshark and tshark: what lies where, and decrypted where the key is known.
--
-- Install: copy this file to the folder of personal Lua plugins (Help, About, Folders), or
--   tshark -X lua_script:ringleader.lua -o ringleader.key:00112233445566778899aabbccddeeff -r capture.pcapng
-- The key is the one of `ringleader key new`: Preferences, Protocols, Ringleader. Networks without protection need none;
-- frames under AES-128-CCM are shown with their heads only.

@TABLES@

-- Numbers of 32 bits, with whatever this Lua has for them: a library, or operators since 5.3.
local band, bor, bxor, bnot, lshift, rshift
if bit32 then
  band, bor, bxor, bnot, lshift, rshift = bit32.band, bit32.bor, bit32.bxor, bit32.bnot, bit32.lshift, bit32.rshift
else
  local native = load([[
    local M = 0xffffffff
    return function(a, b) return a & b end, function(a, b) return a | b end, function(a, b) return a ~ b end,
      function(a) return ~a & M end, function(a, n) return (a << n) & M end, function(a, n) return (a & M) >> n end
  ]])
  band, bor, bxor, bnot, lshift, rshift = native()
end

-- Ascon-AEAD128 (NIST SP 800-232). A word of 64 bits is two of 32, at 2i - 1 the low one and at 2i the high one.
local function rotated(low, high, by)
  if by >= 32 then
    low, high, by = high, low, by - 32
  end
  if by == 0 then
    return low, high
  end
  return bor(rshift(low, by), lshift(high, 32 - by)), bor(rshift(high, by), lshift(low, 32 - by))
end

local ROTATIONS = { { 19, 28 }, { 61, 39 }, { 1, 6 }, { 10, 17 }, { 7, 41 } }

local function permute(s, rounds)
  for round = 12 - rounds, 11 do
    s[5] = bxor(s[5], bor(lshift(15 - round, 4), round))
    for half = 1, 2 do
      local x0, x1, x2, x3, x4 = s[half], s[half + 2], s[half + 4], s[half + 6], s[half + 8]
      x0, x4, x2 = bxor(x0, x4), bxor(x4, x3), bxor(x2, x1)
      local t0, t1, t2 = band(bnot(x0), x1), band(bnot(x1), x2), band(bnot(x2), x3)
      local t3, t4 = band(bnot(x3), x4), band(bnot(x4), x0)
      x0, x1, x2, x3, x4 = bxor(x0, t1), bxor(x1, t2), bxor(x2, t3), bxor(x3, t4), bxor(x4, t0)
      s[half], s[half + 2], s[half + 4], s[half + 6], s[half + 8] = bxor(x0, x4), bxor(x1, x0), bnot(x2), bxor(x3, x2), x4
    end
    for word, by in ipairs(ROTATIONS) do
      local low, high = s[2 * word - 1], s[2 * word]
      local a, b = rotated(low, high, by[1])
      local c, d = rotated(low, high, by[2])
      s[2 * word - 1], s[2 * word] = bxor(low, bxor(a, c)), bxor(high, bxor(b, d))
    end
  end
end

-- The four bytes of a text from this one on, with a one behind its end.
local function word(text, from)
  local value = 0
  for place = 0, 3 do
    local byte = text:byte(from + place) or (from + place == #text + 1 and 1 or 0)
    value = value + byte * 256 ^ place
  end
  return math.floor(value)
end

local function begin(key, nonce, associated)
  local s = { 0x808c0001, 0x00001000 }
  for at = 1, 13, 4 do
    s[#s + 1] = word(key, at)
  end
  for at = 1, 13, 4 do
    s[#s + 1] = word(nonce, at)
  end
  permute(s, 12)
  for at = 1, 4 do
    s[6 + at] = bxor(s[6 + at], word(key, 4 * at - 3))
  end
  for from = 1, #associated + 1, 16 do
    local last = from + 16 > #associated + 1
    local block = last and associated:sub(from) or associated:sub(from, from + 15)
    for at = 1, last and math.floor(#block / 4) + 1 or 4 do
      s[at] = bxor(s[at], word(block, 4 * at - 3))
    end
    permute(s, 8)
  end
  s[10] = bxor(s[10], 0x80000000)
  return s
end

local function bytes_of(value, count)
  local text = ""
  for _ = 1, count do
    text = text .. string.char(value % 256)
    value = math.floor(value / 256)
  end
  return text
end

local function finish(s, key)
  for at = 1, 4 do
    s[4 + at] = bxor(s[4 + at], word(key, 4 * at - 3))
  end
  permute(s, 12)
  return bytes_of(bxor(s[7], word(key, 1)), 4)
end

-- The body and the first four bytes of its tag; encrypted or decrypted is a matter of which text goes into the state.
local function crypt(key, nonce, associated, text, is_encrypted)
  local s = begin(key, nonce, associated)
  local out = ""
  for from = 1, #text + 1, 16 do
    local last = from + 16 > #text + 1
    local block = text:sub(from, from + 15)
    local other = ""
    for at = 1, 4 do
      local count = math.max(0, math.min(4, #block - 4 * at + 4))
      for place = 0, count - 1 do
        local stream = math.floor(s[at] / 256 ^ place) % 256
        other = other .. string.char(bxor(stream, block:byte(4 * at - 3 + place)))
      end
    end
    local plain = is_encrypted and other or block
    for at = 1, last and math.floor(#plain / 4) + 1 or 4 do
      s[at] = bxor(s[at], word(plain, 4 * at - 3))
    end
    if not last then
      permute(s, 8)
    end
    out = out .. other
  end
  return out, finish(s, key)
end

-- The checksum of networks without protection.
local function crc32(text)
  local sum = 0xffffffff
  for at = 1, #text do
    sum = bxor(sum, text:byte(at))
    for _ = 1, 8 do
      sum = bxor(rshift(sum, 1), band(sum, 1) == 1 and 0xedb88320 or 0)
    end
  end
  return bytes_of(bnot(sum), 4)
end

local proto = Proto("ringleader", "Ringleader")
proto.prefs.key = Pref.string("Network key", "", "32 hexadecimal digits, as in the file of `ringleader key new`")

-- Wireshark's fields, by their keys here.
local fields = {}

local function declare(units)
  for _, unit in ipairs(units) do
    for _, field in ipairs(unit.fields) do
      local make = ({ ProtoField.uint8, ProtoField.uint16, ProtoField.uint32, ProtoField.uint32 })[unit.bytes]
      local base = field.shown == "hex" and base.HEX or base.DEC
      fields[field.key] = make("ringleader." .. field.key, field.title, base, field.names, field.mask)
    end
  end
end

declare(HEADER)
declare(ACK)
for _, body in pairs(BODIES) do
  for _, group in ipairs(body.groups) do
    declare(group.to_all)
    declare(group.units)
  end
end
fields.contents = ProtoField.bytes("ringleader.contents", "Contents")
fields.tag = ProtoField.bytes("ringleader.tag", "Tag")
fields.sealed = ProtoField.bytes("ringleader.sealed", "Encrypted body")
fields.counter = ProtoField.uint32("ringleader.counter", "Frame number", base.HEX)
fields.opened = ProtoField.bool("ringleader.opened", "Opened")
local listed = {}
for _, field in pairs(fields) do
  listed[#listed + 1] = field
end
proto.fields = listed

local forged = ProtoExpert.new("ringleader.forged", "The tag is wrong: forged, or another key", expert.group.SECURITY, expert.severity.WARN)
local strange = ProtoExpert.new("ringleader.strange", "The body is not what its kind says", expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { forged, strange }

local function key()
  local digits = proto.prefs.key:gsub("[%s:]", "")
  if not digits:match("^%x+$") or #digits ~= 32 then
    return nil
  end
  return (digits:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

-- Shows units from this offset on; the values by key, and where it ends. Fails where the bytes do not suffice.
local function show_units(tree, tvb, at, units, values)
  for _, unit in ipairs(units) do
    local range = tvb(at, unit.bytes)
    local number = range:le_uint()
    for _, field in ipairs(unit.fields) do
      tree:add_le(fields[field.key], range)
      values[field.key] = math.floor(band(number, field.mask) / field.unit)
    end
    at = at + unit.bytes
  end
  return at
end

local function show_body(tree, tvb, body, to_all)
  local at, values, length = 0, {}, tvb:len()
  for _, group in ipairs(body.groups) do
    local left = 1
    if group.count == "if any" then
      left = at < length and 1 or 0
    elseif group.count == "rest" then
      left = math.huge
    elseif group.count ~= "once" then
      left = values[group.count]
    end
    if group.when and not group.when.values[values[group.when.key]] then
      left = 0
    end
    while left > 0 and not (group.count == "rest" and at >= length) do
      local from, branch = at, tree
      if group.title ~= "" then
        branch = tree:add(proto, tvb(at), group.title)
      end
      if to_all then
        at = show_units(branch, tvb, at, group.to_all, values)
      end
      at = show_units(branch, tvb, at, group.units, values)
      if group.contents then
        local count = values[group.contents]
        if count > 0 then
          branch:add(fields.contents, tvb(at, count))
        end
        at = at + count
      end
      if group.title ~= "" then
        branch:set_len(at - from)
      end
      left = left - 1
    end
  end
  if at ~= length then
    error("bytes are left over")
  end
  return values
end

-- Whether this is a frame of ours: its version is ours, its kind is known, and it is long enough.
local function is_ours(tvb)
  if tvb:len() < HEADER_OWN + TAG_BYTES then
    return false
  end
  local first = tvb(0, 1):uint()
  return math.floor(first / 16) == VERSION and BODIES[first % 4] ~= nil
end

local sequence, pan = Field.new("wpan.seq_no"), Field.new("wpan.dst_pan")
local destination, source = Field.new("wpan.dst16"), Field.new("wpan.src16")

local function dissect(tvb, pinfo, root)
  if not is_ours(tvb) then
    return false
  end
  local numbers = {}
  for name, field in pairs({ sequence = sequence, pan = pan, to = destination, from = source }) do
    local info = field()
    if not info then
      return false
    end
    numbers[name] = info.value
  end
  pinfo.cols.protocol = "Ringleader"
  local tree = root:add(proto, tvb())
  local values = {}
  show_units(tree, tvb, 0, HEADER, values)
  tree:add(fields.counter, values.counter_high * 256 + numbers.sequence):set_generated()
  local body = BODIES[values.kind]
  local length = tvb:len() - HEADER_OWN - TAG_BYTES
  local tag = tvb:raw(HEADER_OWN + length, TAG_BYTES)
  local sealed = length > 0 and tvb:raw(HEADER_OWN, length) or ""
  local associated = bytes_of(numbers.sequence, 1) .. bytes_of(numbers.pan, 2) .. bytes_of(numbers.to, 2)
    .. bytes_of(numbers.from, 2) .. tvb:raw(0, HEADER_OWN)
  local nonce = bytes_of(numbers.from, 2) .. bytes_of(numbers.to, 2) .. bytes_of(values.epoch, 2)
    .. bytes_of(numbers.sequence, 1) .. bytes_of(values.counter_high, 2) .. "\0\0" .. bytes_of(values.device, 2) .. ("\0"):rep(3)
  local plain
  local network_key = key()
  if crc32(nonce .. associated .. sealed) == tag then
    plain = sealed
  elseif network_key then
    local opened, right = crypt(network_key, nonce, associated, sealed, true)
    plain = right == tag and opened or nil
  end
  pinfo.cols.info = string.format("%s %d -> %s", body.name, numbers.from, numbers.to == 0xffff and "all" or numbers.to)
  tree:append_text(", " .. body.name)
  tree:add(fields.opened, plain ~= nil):set_generated()
  if plain then
    if #plain > 0 then
      local shown = ByteArray.new(plain, true):tvb("Decrypted")
      local ok, said = pcall(show_body, tree, shown, body, numbers.to == 0xffff)
      if not ok then
        tree:add_proto_expert_info(strange)
      elseif said.leader then
        pinfo.cols.info:append(string.format(", leader %d", said.leader))
      elseif said.messages then
        pinfo.cols.info:append(string.format(", %d messages, %d acknowledgements", said.messages, said.acks))
      end
    end
  else
    if length > 0 then
      tree:add(fields.sealed, tvb(HEADER_OWN, length))
    end
    if network_key then
      tree:add_proto_expert_info(forged)
    end
  end
  tree:add(fields.tag, tvb(HEADER_OWN + length, TAG_BYTES))
  return true
end

proto:register_heuristic("wpan", dissect)

-- Acknowledgements carry more than the standard's, which Wireshark has no place for: shown once the rest is done.
local answers = Proto("ringleader_ack", "Ringleader acknowledgement")
local control = Field.new("wpan.fcf")

function answers.dissector(tvb, pinfo, root)
  local info = control()
  if not info or info.value ~= 2 then
    return
  end
  -- With the checksum or without.
  local length = tvb:len() - info.offset
  if length ~= ACK_BYTES and length ~= ACK_BYTES + 2 then
    return
  end
  pinfo.cols.protocol = "Ringleader"
  local tree = root:add(answers, tvb(info.offset, ACK_BYTES))
  local values = {}
  show_units(tree, tvb, info.offset + 2, ACK, values)
  pinfo.cols.info = string.format("ACK of frame ..%02x, status %d", values.answered, values.status)
end

register_postdissector(answers)
