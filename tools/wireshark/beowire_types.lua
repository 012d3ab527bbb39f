-- SPDX-License-Identifier: BSD-3-Clause
--
-- beowire_types.lua - for beowire.lua, which loads it from its own folder: headers, and types of
-- frames with their fields. To add a type: a row in `define` below. Nothing else needs to know it.

local DATA = 11 -- the type that has a header of its own
local SACK_FRAMES = 256
local BUNDLE_MESSAGES = 16

local refused = ProtoExpert.new("beowire.refused", "Connection refused", expert.group.RESPONSE_CODE,
    expert.severity.WARN)

-- ---- fields -------------------------------------------------------------------------------------

local LANES = { [0] = "none", [1] = "packet", [2] = "udp", [3] = "shm", [4] = "sim",
    [5] = "tso", [6] = "tipc", [8] = "verbs" }
local REASONS = {
    [1] = "no such connection",
    [3] = "no room for another peer",
    [4] = "a rule was broken",
    [5] = "another job",
    [6] = "one end wants seals, the other has none",
}

local STATUSES = { [0] = "carried out", "refused", "reserved: refused", "no such operation" }
local OPERATIONS = {
    [0] = "min", "max", "sum", "product", "logical or", "logical and", "bit or", "bit and",
    "logical xor", "bit xor", "read", "write", "swap if =", "swap if !=", "swap if <=", "swap if <",
    "swap if >=", "swap if >", "swap masked" }
local ELEMENTS = { [0] = "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float", "double" }

-- Kinds of numbers: how many bytes they have, and how they are shown.
local KINDS = {
    u8 = { 1, ProtoField.uint8, base.DEC },
    u16 = { 2, ProtoField.uint16, base.DEC },
    u32 = { 4, ProtoField.uint32, base.DEC },
    u64 = { 8, ProtoField.uint64, base.DEC },
    x8 = { 1, ProtoField.uint8, base.HEX },
    x16 = { 2, ProtoField.uint16, base.HEX },
    x32 = { 4, ProtoField.uint32, base.HEX },
    x64 = { 8, ProtoField.uint64, base.HEX },
}

local all_fields = {}

local function keep(field)
    all_fields[#all_fields + 1] = field
    return field
end

-- A number, read from the range and added to the tree. Up to 4 bytes as a Lua number, else UInt64.
local function add_number(tree, column, range)
    local item = tree:add_le(column.field, range)
    local value = range:len() == 8 and range:le_uint64() or range:le_uint()
    return value, item
end

-- Columns { name, label, kind, names = {...}, info = "text %s" } below a prefix get their fields.
local function make_columns(prefix, columns)
    local length = 0
    for _, column in ipairs(columns) do
        local kind = KINDS[column[3]]
        column.name, column.bytes, column.hex = column[1], kind[1], column[3]:sub(1, 1) == "x"
        column.field = keep(kind[2]("beowire." .. prefix .. column[1], column[2], kind[3],
            column.names))
        length = length + kind[1]
    end
    return length
end

-- Adds columns one after the other. Returns their values by name, and what the info column says.
local function add_columns(tree, range, columns)
    local values, items, info, at = {}, {}, {}, 0
    for _, column in ipairs(columns) do
        local value, item = add_number(tree, column, range(at, column.bytes))
        values[column.name], items[column.name] = value, item
        if column.info then
            local shown = column.hex and column.bytes == 8 and value:tohex():gsub("^0+(.)", "%1")
                or column.hex and string.format("%x", value)
                or tostring(value)
            if column.names then
                shown = column.names[value] or shown
            end
            info[#info + 1] = string.format(column.info, shown)
        end
        at = at + column.bytes
    end
    return values, items, table.concat(info, " ")
end

local HEADER = {
    { "version_words", "Version and header length", "x8" },
    { "type", "Type", "u8", names = {} },
    { "flags", "Flags", "x16" },
    { "destination", "Destination endpoint", "u16" },
    { "source", "Source endpoint", "u16" },
    { "key", "Key", "x32" },
    { "sequence", "Sequence", "u32" },
    { "acknowledgement", "Acknowledgement", "u32" },
    { "credit", "Credit", "u16" },
    { "payload_bytes", "Payload length", "u16" },
    { "checksum", "Checksum", "x32" },
}
local type_names = HEADER[2].names

-- ---- types --------------------------------------------------------------------------------------

local types = {}

-- define(number, NAME, columns of the operation header, {
--     payload = "none" (default), "may" or "must",
--     check = function(values): what is wrong, or nil,
--     more = function(tree, body, values, header, items): adds what columns cannot say; `body` is
--            the operation header and the payload; returns text for the info column, or nil, and
--            what is wrong, or nil
-- })
local function define(number, name, columns, options)
    local prefix = name:lower() .. "."
    types[number] = {
        name = name,
        columns = columns,
        bytes = make_columns(prefix, columns),
        payload = options and options.payload or "none",
        check = options and options.check,
        more = options and options.more,
    }
    -- What columns cannot say has a length of its own.
    types[number].bytes = types[number].bytes + (options and options.extra_bytes or 0)
    type_names[number] = name
    return types[number]
end

local function is_zero(value)
    return value == 0 or (type(value) ~= "number" and value:tonumber() == 0)
end

-- -- CONNECT and ACCEPT

local CONNECT = {
    { "incarnation", "Incarnation", "x64" },
    { "expected_incarnation", "Incarnation that is meant", "x64" },
    { "key", "Key to be used from now on", "x32", info = "key=0x%s" },
    { "echoed_key", "Key of the CONNECT", "x32" },
    { "features", "Features", "x32" },
    { "frame_bytes", "Longest frame", "u16", info = "frame=%s" },
    { "reserved", "Reserved", "x16" },
    { "job_key", "Job key", "x64" },
}
local NONCE_BYTES, PROOF_BYTES = 16, 16
local CONNECT_BYTES = 40 + NONCE_BYTES + PROOF_BYTES
local ADDRESS = {
    { "version", "Version", "u8" },
    { "rails", "Rails", "u8" },
    { "endpoint", "Endpoint", "u16" },
    { "ethertype", "EtherType", "x16" },
    { "tso_rails", "Rails that take what network cards cut", "x8" },
    { "reserved", "Reserved", "x8" },
    { "incarnation", "Incarnation", "x64" },
    { "host", "Host", "x64" },
    { "process", "Process", "u32" },
    { "more", "Reserved", "x32" },
}
make_columns("address.", ADDRESS)
local ADDRESS_BYTES, ADDRESS_HEAD_BYTES, RAIL_BYTES, RAILS = 128, 32, 24, 4

local f_selective = keep(ProtoField.bool("beowire.connect.features.selective",
    "Keeps frames that come early", 32, nil, 0x00000001))
local f_remote = keep(ProtoField.bool("beowire.connect.features.remote", "Remote memory", 32, nil,
    0x00000002))
local f_seal = keep(ProtoField.bool("beowire.connect.features.seal", "Seals", 32, nil, 0x00000004))
local f_seal_wanted = keep(ProtoField.bool("beowire.connect.features.seal_wanted",
    "Frames have to be sealed", 32, nil, 0x00000008))
local f_nonce = keep(ProtoField.bytes("beowire.connect.nonce", "Nonce"))
local f_proof = keep(ProtoField.bytes("beowire.connect.proof", "Proof"))
local f_address = keep(ProtoField.none("beowire.address", "Address of the sender"))
local f_rail = keep(ProtoField.none("beowire.address.rail", "Rail"))
local f_mac = keep(ProtoField.ether("beowire.address.mac", "MAC"))
local f_port = keep(ProtoField.uint16("beowire.address.port", "UDP port"))
local f_ipv4 = keep(ProtoField.ipv4("beowire.address.ipv4", "IPv4 address"))
local f_ipv6 = keep(ProtoField.ipv6("beowire.address.ipv6", "IPv6 address"))

local function add_rail(tree, range, number)
    local rail = tree:add(f_rail, range):append_text(" " .. number)
    rail:add(f_mac, range(0, 6))
    rail:add_le(f_port, range(6, 2))
    local head = range(8, 12):bytes():tohex(true)
    if head == "00000000000000000000ffff" then
        rail:add(f_ipv4, range(20, 4))
    else
        rail:add(f_ipv6, range(8, 16))
    end
end

local function add_address(tree, body, _, _, items)
    items.features:add_le(f_selective, body(24, 4))
    items.features:add_le(f_remote, body(24, 4))
    items.features:add_le(f_seal, body(24, 4))
    items.features:add_le(f_seal_wanted, body(24, 4))
    tree:add(f_nonce, body(CONNECT_BYTES - PROOF_BYTES - NONCE_BYTES, NONCE_BYTES))
    tree:add(f_proof, body(CONNECT_BYTES - PROOF_BYTES, PROOF_BYTES))
    local range = body(CONNECT_BYTES, ADDRESS_BYTES)
    local address = tree:add(f_address, range)
    local values = add_columns(address, range(0, ADDRESS_HEAD_BYTES), ADDRESS)
    for rail = 0, math.min(values.rails, RAILS) - 1 do
        add_rail(address, range(ADDRESS_HEAD_BYTES + rail * RAIL_BYTES, RAIL_BYTES), rail)
    end
    if values.version ~= 3 or values.rails > RAILS then
        return nil, "an address of version " .. values.version .. " with " .. values.rails .. " rails"
    end
    return nil, nil
end

local function check_connect(values)
    if values.key == 0 or is_zero(values.incarnation) then
        return "key and incarnation must not be 0"
    end
    return nil
end

define(1, "CONNECT", CONNECT, {
    extra_bytes = NONCE_BYTES + PROOF_BYTES + ADDRESS_BYTES,
    check = function(values, header)
        return header.key ~= 0 and "CONNECT has a key in its header" or check_connect(values)
    end,
    more = add_address,
})
-- The same body under the same names: what filters look for is "beowire.connect.key".
types[2] = {
    name = "ACCEPT",
    columns = CONNECT,
    bytes = CONNECT_BYTES + ADDRESS_BYTES,
    payload = "none",
    check = function(values, header)
        return header.key == 0 and "ACCEPT has no key in its header" or check_connect(values)
    end,
    more = add_address,
}
type_names[2] = "ACCEPT"

-- -- the connection

define(3, "RESET", {
    { "echoed_key", "Key of the refused frame", "x32", info = "key=0x%s" },
    { "reason", "Reason", "u32", names = REASONS, info = "(%s)" },
}, {
    more = function(tree, _, values)
        tree:add_proto_expert_info(refused, REASONS[values.reason] or "refused")
    end,
})
define(4, "CLOSE", {})
define(5, "ACK", {})
define(6, "PROBE", { { "number", "Number", "u32", info = "number=%s" } })

define(8, "CHALLENGE", { { "number", "Number", "x64", info = "number=%s" } }, {
    check = function(values)
        return is_zero(values.number) and "the number must not be 0" or nil
    end,
})
define(9, "RESPONSE", { { "number", "Number", "x64", info = "number=%s" } }, {
    check = function(values)
        return is_zero(values.number) and "the number must not be 0" or nil
    end,
})

-- -- SACK: which frames behind the acknowledgement are here

local f_received = keep(ProtoField.bytes("beowire.sack.received", "Received"))
local f_here = keep(ProtoField.string("beowire.sack.here", "Here"))
local f_missing = keep(ProtoField.string("beowire.sack.missing", "Missing"))

-- Sequences from `from` on, as "3, 5-9"; `is_in(i)`: is from + i one of them?
local function ranges_of(from, count, is_in)
    local found, first = {}, nil
    for i = 0, count do
        local inside = i < count and is_in(i)
        if inside and not first then
            first = i
        elseif not inside and first then
            local text = ("%.0f"):format((from + first) % 2 ^ 32)
            if i - 1 > first then
                text = text .. "-" .. ("%.0f"):format((from + i - 1) % 2 ^ 32)
            end
            found[#found + 1], first = text, nil
        end
    end
    return table.concat(found, ", ")
end

local function add_sack(tree, body, values, header)
    local known = (values.upto - header.acknowledgement) % 2 ^ 32
    local bits = body(8, SACK_FRAMES / 8)
    tree:add(f_received, bits)
    if known == 0 or known > SACK_FRAMES then
        return nil, "upto is not 1 to 256 after the acknowledgement"
    end
    local function is_here(i) -- acknowledgement + 1 + i
        return i >= 0 and i < SACK_FRAMES
            and math.floor(bits(math.floor(i / 8), 1):uint() / 2 ^ (i % 8)) % 2 == 1
    end
    local here = ranges_of(header.acknowledgement + 1, SACK_FRAMES, is_here)
    local missing = ranges_of(header.acknowledgement, known, function(i)
        return not is_here(i - 1)
    end)
    tree:add(f_here, bits, here):set_generated()
    tree:add(f_missing, bits, missing):set_generated()
    for i = known - 1, SACK_FRAMES - 1 do
        if is_here(i) then
            return nil, "frames are here of which nothing is known"
        end
    end
    return "missing=" .. missing, nil
end

define(7, "SACK", {
    { "upto", "Nothing is known from here on", "u32", info = "upto=%s" },
    { "probe", "Latest PROBE", "u32" },
}, { extra_bytes = SACK_FRAMES / 8, more = add_sack })

-- -- messages

-- New columns, since each type has fields of its own: those of the lists, one after the other.
local function joined(...)
    local columns = {}
    for _, list in ipairs({ ... }) do
        for _, column in ipairs(list) do
            columns[#columns + 1] =
                { column[1], column[2], column[3], names = column.names, info = column.info }
        end
    end
    return columns
end

local MESSAGE = {
    { "tag", "Tag", "x64", info = "tag=0x%s" },
    { "immediate", "Immediate", "x32" },
}
local PULLED = { -- how the data of a long message comes
    { "unasked_bytes", "Sent without being asked for", "u32" },
    { "segment_bytes", "Segment length", "u16" },
    { "lane_kind", "Over lane", "u8", names = LANES },
    { "lane_rail", "Rail", "u8" },
}

define(10, "PULL", {
    { "message", "Message", "x32", info = "message=0x%s" },
    { "lane_kind", "Over lane", "u8", names = LANES, info = "over %s" },
    { "lane_rail", "Rail", "u8", info = "%s" },
    { "more", "Whole blocks that are wanted after that one", "u16", info = "more=%s" },
    { "offset", "Offset of the first segment", "u64", info = "offset=%s" },
    { "wanted", "Segments that are wanted", "x64", info = "wanted=0x%s" },
}, {
    check = function(values)
        return is_zero(values.wanted) and "nothing is wanted" or nil
    end,
})
-- DATA has no row: it has another header, see add_data().
type_names[DATA] = "DATA"
define(16, "EAGER", joined(MESSAGE, {
    { "message_bytes", "Message length", "u32", info = "length=%s" },
    { "message", "Message", "x16" },
}), {
    payload = "may",
    check = function(values, header)
        return header.payload_bytes > values.message_bytes and "it carries more than its message"
            or nil
    end,
})
local FRAGMENT = {
    { "message", "Message", "x16", info = "message=0x%s" },
    { "reserved", "Reserved", "x16" },
    { "offset", "Offset", "u64", info = "offset=%s" },
}
define(17, "FRAGMENT", FRAGMENT, { payload = "must" })
local function check_segments(values)
    return values.segment_bytes == 0 and "segments of 0 bytes" or nil
end

define(18, "ANNOUNCE", joined(MESSAGE, {
    { "message_bytes", "Message length", "u64", info = "length=%s" },
    { "address", "Address in the sender's memory", "x64" },
    { "message", "Message", "x32", info = "message=0x%s" },
}, PULLED), { check = check_segments, payload = "may" })
define(19, "DONE", {
    { "message", "Message", "x32", info = "message=0x%s" },
    { "status", "Status", "u32", names = STATUSES },
})

-- -- BUNDLE: whole messages, one after the other

local f_bundled = keep(ProtoField.none("beowire.bundle.message", "Message"))
local f_bundled_data = keep(ProtoField.bytes("beowire.bundle.data", "Data"))
local BUNDLED = joined(MESSAGE, { { "bytes", "Length", "u16" } })
local BUNDLED_BYTES = make_columns("bundle.", BUNDLED)

local function add_bundle(tree, body)
    local at, count = 0, 0
    while at < body:len() do
        count = count + 1
        if count > BUNDLE_MESSAGES then
            return nil, "more than " .. BUNDLE_MESSAGES .. " messages"
        end
        if body:len() - at < BUNDLED_BYTES then
            return nil, "the last message is not whole"
        end
        local bytes = body(at + 12, 2):le_uint()
        if body:len() - at < BUNDLED_BYTES + bytes then
            return nil, "the last message is not whole"
        end
        local item = tree:add(f_bundled, body(at, BUNDLED_BYTES + bytes))
        local _, _, info = add_columns(item, body(at, BUNDLED_BYTES), BUNDLED)
        item:append_text(" " .. count .. ": " .. info .. " length=" .. bytes)
        if bytes > 0 then
            item:add(f_bundled_data, body(at + BUNDLED_BYTES, bytes))
        end
        at = at + BUNDLED_BYTES + bytes
    end
    return count .. " messages", nil
end

define(20, "BUNDLE", {}, { payload = "must", more = add_bundle })

-- -- remote memory

local PLACE = {
    { "key", "Key of the memory", "x64", info = "key=0x%s" },
    { "address", "Address in it", "x64", info = "address=0x%s" },
}

define(21, "PUT", joined(PLACE, {
    { "request", "Request", "x32", info = "request=0x%s" },
    { "immediate", "Immediate", "x32" },
    { "bytes", "Length of the put", "u32", info = "length=%s" },
    { "offset", "Offset", "u32", info = "offset=%s" },
    { "flags", "Flags", "x16" },
    { "reserved", "Reserved", "x16" },
}), {
    payload = "may",
    check = function(values, header)
        local left = values.bytes - values.offset - header.payload_bytes
        return left < 0 and "it carries more than its put"
            or header.payload_bytes == 0 and values.bytes > 0 and "no payload" or nil
    end,
})
define(22, "OFFER", joined(PLACE, {
    { "bytes", "Length of the put", "u64", info = "length=%s" },
    { "source_address", "Address in the initiator's memory", "x64" },
    { "message", "Message", "x32", info = "message=0x%s" },
    { "immediate", "Immediate", "x32" },
}, PULLED, {
    { "flags", "Flags", "x16" },
    { "reserved", "Reserved", "x16" },
}), {
    check = function(values)
        return is_zero(values.bytes) and "a long put of nothing" or check_segments(values)
    end,
})
define(23, "GET", joined(PLACE, {
    { "bytes", "Length", "u64", info = "length=%s" },
    { "request", "Request", "x32", info = "request=0x%s" },
    { "reserved", "Reserved", "x32" },
}))
define(24, "ATOMIC", joined(PLACE, {
    { "request", "Request", "x32", info = "request=0x%s" },
    { "count", "Elements", "u16", info = "%s x" },
    { "operation", "Operation", "u8", names = OPERATIONS, info = "%s" },
    { "element", "Type", "u8", names = ELEMENTS, info = "%s" },
    { "flags", "Flags", "x16" },
    { "reserved", "Reserved", "x16" },
}), { payload = "may" })

local f_result = keep(ProtoField.none("beowire.result.entry", "Result"))
local RESULT = {
    { "request", "Request", "x32", info = "request=0x%s" },
    { "status", "Status", "u32", names = STATUSES, info = "%s" },
}
local RESULT_BYTES = make_columns("result.", RESULT)

define(25, "RESULT", {}, {
    payload = "must",
    more = function(tree, body)
        if body:len() % RESULT_BYTES ~= 0 then
            return nil, "the last result is not whole"
        end
        for at = 0, body:len() - 1, RESULT_BYTES do
            local item = tree:add(f_result, body(at, RESULT_BYTES))
            local _, _, info = add_columns(item, body(at, RESULT_BYTES), RESULT)
            item:append_text(": " .. info)
        end
        return body:len() / RESULT_BYTES .. " results", nil
    end,
})
define(26, "REPLY", {
    { "request", "Request", "x32", info = "request=0x%s" },
    { "offset", "Offset", "u32", info = "offset=%s" },
}, { payload = "must" })
define(27, "GRANT", joined({
    { "address", "Address in the target's memory", "x64" },
    { "request", "Request", "x32", info = "request=0x%s" },
    { "message", "Message", "x32", info = "message=0x%s" },
}, PULLED), { check = check_segments })

-- ---- headers ------------------------------------------------------------------------------------

make_columns("", HEADER)
local DATA_OWN = {
    { "segment_low", "Segment, low", "u16" },
    { "segment_high", "Segment, high", "u16" },
    { "message", "Message", "x32", info = "message=0x%s" },
}
make_columns("data.", DATA_OWN)
local DATA_HEADER = {
    HEADER[1], HEADER[2], DATA_OWN[1], HEADER[4], DATA_OWN[2], HEADER[6], DATA_OWN[3],
}

-- What network cards cut has these in headers that look like those of IP and TCP, in network order:
-- { column, header, where in it }. First DATA:
local SEGMENTS_OWN = {
    { "segment_bytes", "Segment length", "u16" },
    { "offset", "Offset", "u64" },
}
make_columns("data.", SEGMENTS_OWN)
local SEGMENTS_HEADER = {
    { HEADER[6], "ip", 12 },
    { HEADER[4], "tcp", 2 },
    { DATA_OWN[3], "tcp", 8 },
    { SEGMENTS_OWN[1], "tcp", 14 },
}
-- Frames, or a message; the sequence is that of the first frame of what is cut.
local FRAMES_HEADER = {
    { HEADER[6], "ip", 12 },
    { HEADER[4], "tcp", 2 },
    { HEADER[7], "tcp", 8 },
    { SEGMENTS_OWN[1], "tcp", 14 },
}
-- What the head of a FRAGMENT would say, where it has none.
local FRAGMENT_HEADER = {
    { HEADER[6], "ip", 12 },
    { HEADER[4], "tcp", 2 },
    { FRAGMENT[1], "tcp", 18 },
}

return {
    refused = refused,
    fields = all_fields,
    keep = keep,
    add_columns = add_columns,
    header = HEADER,
    data_header = DATA_HEADER,
    segments_header = SEGMENTS_HEADER,
    frames_header = FRAMES_HEADER,
    fragment_header = FRAGMENT_HEADER,
    type_field = HEADER[2].field,
    sequence_field = HEADER[7].field,
    payload_bytes_field = HEADER[10].field,
    offset_field = SEGMENTS_OWN[2].field,
    fragment_offset_field = FRAGMENT[3].field,
    types = types,
}
