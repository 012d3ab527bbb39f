-- SPDX-License-Identifier: BSD-3-Clause
--
-- beowire.lua - Beowire's frames in Wireshark and tshark, over Ethernet and over UDP.
--
--     tshark -X lua_script:tools/wireshark/beowire.lua -r capture.pcapng
--     wireshark -X lua_script:tools/wireshark/beowire.lua
--
-- or copy it to ~/.local/lib/wireshark/plugins. docs/PROTOCOL.md is the reference. Filters:
--
--     beowire.type == 17                      FRAGMENT
--     beowire.eager.tag == 42
--     beowire.flags.retransmitted == 1
--     beowire.problem                         frames that a receiver would drop, and why
--     beowire.key == 0x1234abcd               one direction of one connection
--
-- Ethernet frames are known by their EtherType (0x88B5, or what the preferences say). UDP ports are
-- chosen anew by each endpoint, so datagrams are known by what is in them.
--
-- To add a type of frame: a row in `define` below. Nothing else needs to know it.

local beowire = Proto("beowire", "Beowire")

local VERSION = 2
local HEADER_BYTES = 28
local DATA, DATA_BYTES = 11, 16 -- the type that has a header of its own, and its length
local PADDED_BYTES = 46 -- Ethernet pads shorter payloads to this
local SEQUENCED = 16 -- types from here on
local SACK_FRAMES = 256
local BUNDLE_MESSAGES = 16

local problem = ProtoExpert.new("beowire.problem", "Frame that is dropped",
    expert.group.MALFORMED, expert.severity.ERROR)
local again = ProtoExpert.new("beowire.again", "Sent again", expert.group.SEQUENCE,
    expert.severity.NOTE)
local refused = ProtoExpert.new("beowire.refused", "Connection refused", expert.group.RESPONSE_CODE,
    expert.severity.WARN)
beowire.experts = { problem, again, refused }

beowire.prefs.ethertype = Pref.uint("EtherType", 0x88B5, "EtherType of Beowire's frames")

-- ---- fields -------------------------------------------------------------------------------------

local LANES = { [0] = "none", [1] = "packet", [2] = "udp", [3] = "shm", [4] = "sim" }
local REASONS = {
    [1] = "no such connection",
    [2] = "another incarnation was meant",
    [3] = "no room for another peer",
    [4] = "a rule was broken",
}

local STATUSES = { [0] = "carried out", "bad key", "out of bounds", "no such operation" }
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
    { "reserved", "Reserved", "x32" },
}
local type_names = HEADER[2].names

local f_ack_request = keep(ProtoField.bool("beowire.flags.ack_request", "Acknowledge at once", 16,
    nil, 0x0001))
local f_retransmitted = keep(ProtoField.bool("beowire.flags.retransmitted", "Retransmitted", 16,
    nil, 0x0004))
local f_unknown = keep(ProtoField.uint16("beowire.flags.unknown", "Not understood", base.HEX, nil,
    0xFF00))
local f_window = keep(ProtoField.uint16("beowire.window", "Frames that the other end may send"))
local f_length = keep(ProtoField.uint32("beowire.length", "Length without padding"))
local f_payload = keep(ProtoField.bytes("beowire.payload", "Payload"))
local f_padding = keep(ProtoField.bytes("beowire.padding", "Padding"))

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
}
local CONNECT_BYTES = 32
local ADDRESS = {
    { "version", "Version", "u8" },
    { "rails", "Rails", "u8" },
    { "endpoint", "Endpoint", "u16" },
    { "ethertype", "EtherType", "x16" },
    { "reserved", "Reserved", "x16" },
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
    local range = body(CONNECT_BYTES, ADDRESS_BYTES)
    local address = tree:add(f_address, range)
    local values = add_columns(address, range(0, ADDRESS_HEAD_BYTES), ADDRESS)
    for rail = 0, math.min(values.rails, RAILS) - 1 do
        add_rail(address, range(ADDRESS_HEAD_BYTES + rail * RAIL_BYTES, RAIL_BYTES), rail)
    end
    if values.version ~= 2 or values.rails > RAILS then
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
    extra_bytes = ADDRESS_BYTES,
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
            local text = tostring((from + first) % 2 ^ 32)
            if i - 1 > first then
                text = text .. "-" .. tostring((from + i - 1) % 2 ^ 32)
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

local MESSAGE = {
    { "tag", "Tag", "x64", info = "tag=0x%s" },
    { "immediate", "Immediate", "x32" },
}

local function message_columns(more)
    local columns = {}
    for _, column in ipairs(MESSAGE) do
        columns[#columns + 1] = { column[1], column[2], column[3], info = column.info }
    end
    for _, column in ipairs(more) do
        columns[#columns + 1] = column
    end
    return columns
end

define(10, "PULL", {
    { "message", "Message", "x32", info = "message=0x%s" },
    { "lane_kind", "Over lane", "u8", names = LANES, info = "over %s" },
    { "lane_rail", "Rail", "u8", info = "%s" },
    { "reserved", "Reserved", "x16" },
    { "offset", "Offset of the first segment", "u64", info = "offset=%s" },
    { "wanted", "Segments that are wanted", "x64", info = "wanted=0x%s" },
}, {
    check = function(values)
        return is_zero(values.wanted) and "nothing is wanted" or nil
    end,
})
-- DATA is not here: it has another header, see add_data().
type_names[DATA] = "DATA"
local f_segment = keep(ProtoField.uint32("beowire.data.segment", "Segment"))
local DATA_MESSAGE = { { "message", "Message", "x32", info = "message=0x%s" } }
make_columns("data.", DATA_MESSAGE)
define(16, "EAGER", message_columns({
    { "message_bytes", "Message length", "u32", info = "length=%s" },
    { "message", "Message", "x16" },
}), {
    payload = "may",
    check = function(values, header)
        return header.payload_bytes > values.message_bytes and "it carries more than its message"
            or nil
    end,
})
define(17, "FRAGMENT", {
    { "message", "Message", "x16", info = "message=0x%s" },
    { "reserved", "Reserved", "x16" },
    { "offset", "Offset", "u64", info = "offset=%s" },
}, { payload = "must" })
local function check_segments(values)
    return values.segment_bytes == 0 and "segments of 0 bytes" or nil
end

define(18, "ANNOUNCE", message_columns({
    { "message_bytes", "Message length", "u64", info = "length=%s" },
    { "address", "Address in the sender's memory", "x64" },
    { "message", "Message", "x32", info = "message=0x%s" },
    { "unasked_bytes", "Sent without being asked for", "u32" },
    { "segment_bytes", "Segment length", "u16" },
    { "lane_kind", "Over lane", "u8", names = LANES },
    { "lane_rail", "Rail", "u8" },
}), { check = check_segments })
define(19, "DONE", {
    { "message", "Message", "x32", info = "message=0x%s" },
    { "status", "Status", "u32", names = STATUSES },
})

-- -- BUNDLE: whole messages, one after the other

local f_bundled = keep(ProtoField.none("beowire.bundle.message", "Message"))
local f_bundled_data = keep(ProtoField.bytes("beowire.bundle.data", "Data"))
local BUNDLED = message_columns({ { "bytes", "Length", "u16" } })
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

local function place_columns(more)
    local columns = {
        { "key", "Key of the memory", "x64", info = "key=0x%s" },
        { "address", "Address in it", "x64", info = "address=0x%s" },
    }
    for _, column in ipairs(more) do
        columns[#columns + 1] = column
    end
    return columns
end

define(21, "PUT", place_columns({
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
define(22, "OFFER", place_columns({
    { "bytes", "Length of the put", "u64", info = "length=%s" },
    { "source_address", "Address in the initiator's memory", "x64" },
    { "message", "Message", "x32", info = "message=0x%s" },
    { "immediate", "Immediate", "x32" },
    { "unasked_bytes", "Sent without being asked for", "u32" },
    { "segment_bytes", "Segment length", "u16" },
    { "lane_kind", "Over lane", "u8", names = LANES },
    { "lane_rail", "Rail", "u8" },
    { "flags", "Flags", "x16" },
    { "reserved", "Reserved", "x16" },
}), {
    check = function(values)
        return is_zero(values.bytes) and "a long put of nothing" or check_segments(values)
    end,
})
define(23, "GET", place_columns({
    { "bytes", "Length", "u64", info = "length=%s" },
    { "request", "Request", "x32", info = "request=0x%s" },
    { "reserved", "Reserved", "x32" },
}))
define(24, "ATOMIC", place_columns({
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
define(27, "GRANT", {
    { "address", "Address in the target's memory", "x64" },
    { "request", "Request", "x32", info = "request=0x%s" },
    { "message", "Message", "x32", info = "message=0x%s" },
    { "unasked_bytes", "Sent without being asked for", "u32" },
    { "segment_bytes", "Segment length", "u16" },
    { "lane_kind", "Over lane", "u8", names = LANES },
    { "lane_rail", "Rail", "u8" },
}, { check = check_segments })

-- ---- a frame ------------------------------------------------------------------------------------

make_columns("", HEADER)
beowire.fields = all_fields

local HEADER_FIELDS = {}
for _, column in ipairs(HEADER) do
    HEADER_FIELDS[column.name] = column.field
end

local function begins_as(buffer, at, header_bytes)
    return buffer:len() - at >= header_bytes
        and buffer(at, 1):uint() == VERSION * 16 + header_bytes / 4
end

local function is_data(buffer, at)
    return begins_as(buffer, at, DATA_BYTES) and buffer(at + 1, 1):uint() == DATA
end

-- DATA does not say how long it is: it ends where its datagram ends, or, in a train of segmentation
-- offload, where another frame to the same endpoint with the same key begins.
local function data_length(buffer, at)
    local bytes = buffer:raw(at)
    local to, key = bytes:sub(5, 6), bytes:sub(9, 12)
    local found = bytes:find(key, DATA_BYTES + 9, true)

    while found do
        local next_at = at + found - 9
        local begins = is_data(buffer, next_at)
            or begins_as(buffer, next_at, HEADER_BYTES) and types[buffer(next_at + 1, 1):uint()]
        if begins and bytes:sub(found - 4, found - 3) == to then
            return next_at - at
        end
        found = bytes:find(key, found + 1, true)
    end
    return buffer:reported_len() - at
end

-- Length of the frame that begins at `at`, as it says, or nil if it does not say one that is known.
local function frame_length(buffer, at)
    if is_data(buffer, at) then
        return data_length(buffer, at)
    end
    if not begins_as(buffer, at, HEADER_BYTES) then
        return nil
    end
    local shape = types[buffer(at + 1, 1):uint()]
    return shape and HEADER_BYTES + shape.bytes + buffer(at + 22, 2):le_uint()
end

local function add_flags(item, range, flags)
    item:add_le(f_ack_request, range)
    item:add_le(f_retransmitted, range)
    item:add_le(f_unknown, range)
    if math.floor(flags / 4) % 2 == 1 then
        item:add_proto_expert_info(again)
    end
end

-- Adds a DATA frame of `length` bytes. What Ethernet has padded a short one with is shown as payload:
-- only who knows the message can tell.
local function add_data(buffer, at, length, tree)
    local root = tree:add(beowire, buffer(at, math.min(length, buffer:len() - at)))
    local function add(name, offset, bytes)
        root:add_le(HEADER_FIELDS[name], buffer(at + offset, bytes))
        return buffer(at + offset, bytes):le_uint()
    end

    add("version_words", 0, 1)
    add("type", 1, 1)
    local destination = add("destination", 4, 2)
    add("key", 8, 4)
    local segment = buffer(at + 2, 2):le_uint() + buffer(at + 6, 2):le_uint() * 0x10000
    root:add(f_segment, buffer(at + 2, 6), segment)
    local _, _, said = add_columns(root, buffer(at + 12, 4), DATA_MESSAGE)
    root:set_text("Beowire DATA to " .. destination)
    root:add(f_length, length):set_generated()
    local info = string.format("DATA > %d %s segment=%d", destination, said, segment)
    local there = math.min(length, buffer:len() - at) - DATA_BYTES
    if there > 0 then
        root:add(f_payload, buffer(at + DATA_BYTES, there))
    elseif length == DATA_BYTES then
        root:add_proto_expert_info(problem, "no payload")
    end
    return length, there < length - DATA_BYTES and info .. " (cut by the capture)" or info
end

-- Adds the frame at `at`; `left` bytes are there, or were before the capture was cut.
-- Returns how long it is (without padding), and what the info column says of it.
local function add_frame(buffer, at, left, tree)
    if is_data(buffer, at) then
        return add_data(buffer, at, data_length(buffer, at), tree)
    end
    local root = tree:add(beowire, buffer(at, math.min(left, buffer:len() - at)))
    local function bad(text)
        root:add_proto_expert_info(problem, text)
    end

    if buffer:len() - at < HEADER_BYTES then
        if left < HEADER_BYTES then
            bad("shorter than a header")
        end
        return left, "(no whole header)"
    end
    local header, items = add_columns(root, buffer(at, HEADER_BYTES), HEADER)
    add_flags(items.flags, buffer(at + 2, 2), header.flags)
    local shape = types[header.type]
    local version = math.floor(header.version_words / 16)
    if header.version_words ~= VERSION * 16 + HEADER_BYTES / 4 then
        bad("version " .. version .. ", or a header of another length")
        return left, "of version " .. version
    end
    if not shape then
        bad("type " .. header.type .. " is not known, or has another header")
        return left, "type " .. header.type
    end
    if header.flags >= 0x100 then
        bad("a flag that is not understood")
    end
    local length = HEADER_BYTES + shape.bytes + header.payload_bytes
    root:set_text("Beowire " .. shape.name .. ", " .. header.source .. " to " .. header.destination)
    root:set_len(math.min(length, left, buffer:len() - at))
    root:add(f_length, length):set_generated()
    root:add(f_window, buffer(at + 20, 2), (header.credit - header.acknowledgement) % 0x10000)
        :set_generated()

    local info = { shape.name, header.source .. " > " .. header.destination }
    if header.type >= SEQUENCED then
        info[#info + 1] = "seq=" .. header.sequence
    end
    if header.type > 3 then
        info[#info + 1] = "ack=" .. header.acknowledgement
    end
    if length > left then
        bad("shorter than it says: " .. left .. " bytes of " .. length)
        return left, table.concat(info, " ")
    end
    if shape.payload == "none" and header.payload_bytes > 0 then
        bad("a payload where none belongs")
    elseif shape.payload == "must" and header.payload_bytes == 0 then
        bad("no payload")
    end
    if buffer:len() - at < length then
        return length, table.concat(info, " ") .. " (cut by the capture)"
    end

    local body_bytes = length - HEADER_BYTES
    if body_bytes > 0 then
        local body = buffer(at + HEADER_BYTES, body_bytes)
        local values, value_items, said = add_columns(root, body, shape.columns)
        info[#info + 1] = said ~= "" and said or nil
        local wrong = shape.check and shape.check(values, header)
        if wrong then
            bad(wrong)
        end
        if header.payload_bytes > 0 then
            root:add(f_payload, buffer(at + length - header.payload_bytes, header.payload_bytes))
        end
        if shape.more then
            local more_said, more_wrong = shape.more(root, body, values, header, value_items)
            info[#info + 1] = more_said
            if more_wrong then
                bad(more_wrong)
            end
        end
    end
    if math.floor(header.flags / 4) % 2 == 1 then
        info[#info + 1] = "[again]"
    end
    return length, table.concat(info, " ")
end

local function dissect(buffer, pinfo, tree)
    pinfo.cols.protocol = "Beowire"
    local total = buffer:reported_len()
    local length, info = add_frame(buffer, 0, total, tree)
    local frames, at = 1, length

    -- Where the card or the kernel segments, a capture shows the whole train as one datagram.
    while at < total and frame_length(buffer, at) and total > PADDED_BYTES do
        length = add_frame(buffer, at, total - at, tree)
        frames, at = frames + 1, at + length
    end
    if at < math.min(total, buffer:len()) then
        local item = tree:add(f_padding, buffer(at))
        if total > PADDED_BYTES then
            item:add_proto_expert_info(problem, "longer than it says")
        end
    end
    pinfo.cols.info = frames > 1 and string.format("%s (first of %d frames)", info, frames) or info
    return buffer:len()
end

function beowire.dissector(buffer, pinfo, tree)
    return dissect(buffer, pinfo, tree)
end

-- ---- where frames are found ---------------------------------------------------------------------

-- Can these be the numbers of a frame to somebody? No message has 2^24 segments.
local function has_numbers(buffer, at)
    local number = buffer(at + 1, 1):uint()
    local has_key = buffer(at + 8, 4):le_uint() ~= 0

    if buffer(at + 4, 2):le_uint() == 0 or has_key == (number == 1 or number == 3) then
        return false
    end
    if number == DATA then
        return buffer(at + 7, 1):uint() == 0
    end
    return buffer(at + 3, 1):uint() == 0 and buffer(at + 6, 2):le_uint() ~= 0
end

-- Is this datagram a frame, or several? Strict, because any UDP traffic comes here.
local function is_beowire(buffer)
    local total, at = buffer:reported_len(), 0
    while at < total do
        if at >= buffer:len() then
            return at > 0 -- cut by the capture
        end
        local length = frame_length(buffer, at)
        if not length or at + length > total or not has_numbers(buffer, at) then
            return false
        end
        at = at + length
    end
    return at > 0
end

beowire:register_heuristic("udp", function(buffer, pinfo, tree)
    if not is_beowire(buffer) then
        return false
    end
    pinfo.conversation = beowire -- whatever else these two say is ours, too
    dissect(buffer, pinfo, tree)
    return true
end)

local ethertypes = DissectorTable.get("ethertype")
local registered = beowire.prefs.ethertype
ethertypes:add(registered, beowire)

function beowire.prefs_changed()
    if registered ~= beowire.prefs.ethertype then
        ethertypes:remove(registered, beowire)
        registered = beowire.prefs.ethertype
        ethertypes:add(registered, beowire)
    end
end
