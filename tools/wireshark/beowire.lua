-- SPDX-License-Identifier: BSD-3-Clause
--
-- beowire.lua - Beowire's frames in Wireshark and tshark: over Ethernet, over UDP, and as what
-- looks like TCP.
--
--     tshark -X lua_script:tools/wireshark/beowire.lua -r capture.pcapng
--     wireshark -X lua_script:tools/wireshark/beowire.lua
--
-- or copy it to ~/.local/lib/wireshark/plugins, with beowire_types.lua. docs/PROTOCOL.md is the
-- reference. Filters:
--
--     beowire.type == 17                      FRAGMENT
--     beowire.eager.tag == 42
--     beowire.flags.retransmitted == 1
--     beowire.problem                         frames that a receiver would drop, and why
--     beowire.key == 0x1234abcd               one direction of one connection
--     beowire.flags.checked == 0              frames without a checksum
--     beowire.seal.counter == 17              the 17th frame that its sender sealed
--     beowire.type > 3 && !beowire.seal       frames that are not sealed, and could be
--
-- Checksums are compared if that is asked for: -o beowire.checksums:TRUE.
--
-- Ethernet frames are known by their EtherType (0x88B5, or what the preferences say). UDP ports are
-- chosen anew by each endpoint, so datagrams are known by what is in them. What network cards cut
-- looks like TCP to a group that says its EtherType; preferences make no difference to that. Some
-- of it is shown by a post-dissector. The columns are right then, but in Wireshark 4.4 the fields
-- with their text (`_ws.col.info`) were filled before that: filter by `beowire`, not by these.
--
-- What types of frames there are is in beowire_types.lua.

local beowire = Proto("beowire", "Beowire")

local VERSION = 3
local HEADER_BYTES = 28
local DATA, DATA_BYTES = 11, 16 -- the type that has a header of its own, and its length
local SEAL_BYTES = 24 -- behind either header, which then is longer by that
local CHECKSUM_AT, CHECKSUM_BYTES = 24, 4 -- in the header; of DATA behind it, likewise
local EAGER, FRAGMENT = 16, 17
local PADDED_BYTES = 46 -- Ethernet pads shorter payloads to this
local CONNECT, ACCEPT, RESET, CHALLENGE = 1, 2, 3, 8
local SEQUENCED = 16 -- types from here on
local EVENED_BYTES = 32 -- zeros may make a sequenced frame as long as the next one of its train
local CUT = " (cut by the capture)"

-- From the folder of this file, wherever that is. Version 4.4 does not say so (`__DIR__`) of a plugin.
local folder = __DIR__ or debug.getinfo(1, "S").source:match("^@(.*)[/\\]")
local named = dofile(folder .. "/beowire_types.lua")
local keep, add_columns, types = named.keep, named.add_columns, named.types

local problem = ProtoExpert.new("beowire.problem", "Frame that is dropped",
    expert.group.MALFORMED, expert.severity.ERROR)
local again = ProtoExpert.new("beowire.again", "Sent again", expert.group.SEQUENCE,
    expert.severity.NOTE)
beowire.experts = { problem, again, named.refused }

beowire.prefs.checksums = Pref.bool("Compare checksums", false,
    "Finds frames that were damaged; takes a third of a millisecond for each")
beowire.prefs.ethertype = Pref.uint("EtherType", 0x88B5, "EtherType of Beowire's frames")

-- ---- a frame ------------------------------------------------------------------------------------

local f_ack_request = keep(ProtoField.bool("beowire.flags.ack_request", "Acknowledge at once", 16,
    nil, 0x0001))
local f_retransmitted = keep(ProtoField.bool("beowire.flags.retransmitted", "Retransmitted", 16,
    nil, 0x0004))
local f_leaving = keep(ProtoField.bool("beowire.flags.leaving", "Receives no more messages", 16,
    nil, 0x0008))
local f_checked = keep(ProtoField.bool("beowire.flags.checked", "Has a checksum", 16, nil, 0x0100))
local f_unknown = keep(ProtoField.uint16("beowire.flags.unknown", "Not understood", base.HEX, nil,
    0xFE00))
local f_window = keep(ProtoField.uint16("beowire.window", "Frames that the other end may send"))
local f_length = keep(ProtoField.uint32("beowire.length", "Length without padding"))
local f_payload = keep(ProtoField.bytes("beowire.payload", "Payload"))
local f_padding = keep(ProtoField.bytes("beowire.padding", "Padding"))
local f_segment = keep(ProtoField.uint32("beowire.data.segment", "Segment"))
local f_data_checksum = keep(ProtoField.uint32("beowire.data.checksum", "Checksum", base.HEX))
local f_seal = keep(ProtoField.none("beowire.seal", "Seal"))
local f_seal_counter = keep(ProtoField.uint64("beowire.seal.counter", "Counter"))
local f_seal_secret = keep(ProtoField.uint8("beowire.seal.secret", "By whose secret", base.DEC,
    { [0] = "the receiver's", "the sender's" }))
local f_seal_tag = keep(ProtoField.bytes("beowire.seal.tag", "Tag"))
beowire.fields = named.fields

-- Is it of a type that has no seal: part of what makes a connection, or sent by who has none?
local function is_never_sealed(number)
    return number == CONNECT or number == ACCEPT or number == RESET
end

-- CRC-32C (RFC 3720) of the pieces of a frame, byte by byte.
local bits = bit32 or bit -- luacheck: ignore
local crc_of_byte = {}
for byte = 0, 255 do
    local crc = byte
    for _ = 1, 8 do
        local shifted = bits.rshift(crc, 1)
        crc = bits.band(crc, 1) == 1 and bits.bxor(shifted, 0x82F63B78) or shifted
    end
    crc_of_byte[byte] = crc
end

local function crc32c(...)
    local crc = 0xFFFFFFFF
    for _, piece in ipairs({ ... }) do
        for at = 1, #piece do
            local low = bits.band(bits.bxor(crc, piece:byte(at)), 0xFF)
            crc = bits.bxor(bits.rshift(crc, 8), crc_of_byte[low])
        end
    end
    return bits.bxor(crc, 0xFFFFFFFF) % 2 ^ 32
end

-- Is this the checksum of the `length` bytes from `at` on, in which it stands `field` bytes behind
-- their beginning? As far as the user wants to know.
local function is_checksum(buffer, at, length, field)
    return not beowire.prefs.checksums or buffer(at + field, CHECKSUM_BYTES):le_uint()
        == crc32c(buffer:raw(at, field),
            buffer:raw(at + field + CHECKSUM_BYTES, length - field - CHECKSUM_BYTES))
end

local DAMAGED = "it was damaged: its checksum is that of another"

-- Length of the header that begins at `at`, without its seal, and of that: 24 or 0, or of DATA's
-- checksum, 4; or nil if there is none that is known.
local function header_bytes(buffer, at)
    local left = buffer:len() - at
    if left < DATA_BYTES then
        return nil
    end
    local words, number = buffer(at, 1):uint() - VERSION * 16, buffer(at + 1, 1):uint()
    local bytes = number == DATA and DATA_BYTES or types[number] and HEADER_BYTES
    local seal_bytes = bytes and 4 * words - bytes
    local has_checksum = number == DATA and seal_bytes == CHECKSUM_BYTES
    if not bytes or left < bytes or seal_bytes ~= 0 and not has_checksum
        and (seal_bytes ~= SEAL_BYTES or is_never_sealed(number)) then
        return nil
    end
    return bytes, seal_bytes
end

-- DATA does not say how long it is: it ends where its datagram ends, or, in a train of segmentation
-- offload, where another frame to the same endpoint with the same key begins.
local function data_length(buffer, at)
    local bytes = buffer:raw(at)
    local key, found = bytes:sub(9, 12), DATA_BYTES + 8
    repeat
        found = bytes:find(key, found + 1, true)
        if found and bytes:sub(found - 4, found - 3) == bytes:sub(5, 6)
            and header_bytes(buffer, at + found - 9) then
            return found - 9
        end
    until not found
    return buffer:reported_len() - at
end

-- Adds the seal at `at`, as far as it was captured. Returns what the info column says of it.
local function add_seal(buffer, at, root)
    local there = buffer:len() - at
    if there < 8 then
        return ""
    end
    local low, high = buffer(at, 4):le_uint(), buffer(at + 4, 4):le_uint()
    local counter = UInt64.new(low, high % 2 ^ 31)
    local seal = root:add(f_seal, buffer(at, math.min(SEAL_BYTES, there)))
    seal:add(f_seal_counter, buffer(at, 8), counter)
    seal:add(f_seal_secret, buffer(at + 7, 1), math.floor(high / 2 ^ 31))
    if there >= SEAL_BYTES then
        seal:add(f_seal_tag, buffer(at + 8, SEAL_BYTES - 8))
    end
    seal:append_text(" " .. tostring(counter))
    return " seal=" .. tostring(counter)
end

-- Length of the frame that begins at `at`, or nil if it does not say one that is known.
local function frame_length(buffer, at)
    local header, seal_bytes = header_bytes(buffer, at)
    if header == DATA_BYTES then
        return data_length(buffer, at)
    end
    return header and header + seal_bytes + types[buffer(at + 1, 1):uint()].bytes + buffer(at + 22, 2):le_uint()
end

local function add_flags(item, range, flags)
    item:add_le(f_ack_request, range)
    item:add_le(f_retransmitted, range)
    item:add_le(f_leaving, range)
    item:add_le(f_checked, range)
    item:add_le(f_unknown, range)
    if math.floor(flags / 4) % 2 == 1 then
        item:add_proto_expert_info(again)
    end
end

-- Adds a DATA frame. What Ethernet has padded a short one with is shown as payload: only who knows
-- the message can tell.
local function add_data(buffer, at, tree)
    local length = data_length(buffer, at)
    local there = math.min(length, buffer:len() - at)
    local root = tree:add(beowire, buffer(at, there))
    local _, seal_bytes = header_bytes(buffer, at)
    local header, _, said = add_columns(root, buffer(at, DATA_BYTES), named.data_header)
    local segment = header.segment_low + header.segment_high * 0x10000
    root:add(f_segment, buffer(at + 2, 6), segment):set_generated()
    root:add(f_length, length):set_generated()
    root:set_text("Beowire DATA to " .. header.destination)
    local has_checksum = seal_bytes == CHECKSUM_BYTES
    local seal = seal_bytes == SEAL_BYTES and add_seal(buffer, at + DATA_BYTES, root) or ""
    local head_bytes = DATA_BYTES + seal_bytes
    if has_checksum and there >= head_bytes then
        root:add_le(f_data_checksum, buffer(at + DATA_BYTES, CHECKSUM_BYTES))
    end
    if has_checksum and there == length and length > head_bytes
        and not is_checksum(buffer, at, length, DATA_BYTES) then
        root:add_proto_expert_info(problem, DAMAGED)
    end
    if length < head_bytes then
        root:add_proto_expert_info(problem, "shorter than its header")
    elseif length == head_bytes then
        root:add_proto_expert_info(problem, "no payload")
    elseif there > head_bytes then
        root:add(f_payload, buffer(at + head_bytes, there - head_bytes))
    end
    return length, string.format("DATA > %d %s segment=%d%s%s", header.destination, said, segment,
        seal, there < length and CUT or "")
end

-- Adds the frame at `at`; `left` bytes are there, or were before the capture was cut.
-- Returns how long it is (without padding), and what the info column says of it.
local function add_frame(buffer, at, left, tree)
    if header_bytes(buffer, at) == DATA_BYTES then
        return add_data(buffer, at, tree)
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
    local header, items = add_columns(root, buffer(at, HEADER_BYTES), named.header)
    add_flags(items.flags, buffer(at + 2, 2), header.flags)
    local shape = types[header.type]
    local version = math.floor(header.version_words / 16)
    local seal_bytes = 4 * (header.version_words - VERSION * 16) - HEADER_BYTES
    if seal_bytes ~= 0 and seal_bytes ~= SEAL_BYTES then
        bad("version " .. version .. ", or a header of another length")
        return left, "of version " .. version
    end
    if not shape then
        bad("type " .. header.type .. " is not known, or has another header")
        return left, "type " .. header.type
    end
    if seal_bytes > 0 and is_never_sealed(header.type) then
        bad(shape.name .. " has a seal, which it must not")
        return left, shape.name
    end
    if header.flags >= 0x200 then
        bad("a flag that is not understood")
    end
    local head_bytes = HEADER_BYTES + seal_bytes
    local length = head_bytes + shape.bytes + header.payload_bytes
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
    local seal = seal_bytes > 0 and add_seal(buffer, at + HEADER_BYTES, root) or ""
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
        return length, table.concat(info, " ") .. seal .. CUT
    end
    if math.floor(header.flags / 0x100) % 2 == 1 and not is_checksum(buffer, at, length, CHECKSUM_AT)
    then
        bad(DAMAGED)
    end

    local body_bytes = length - head_bytes
    if body_bytes > 0 then
        local body = buffer(at + head_bytes, body_bytes)
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
        seal = seal .. " [again]"
    end
    return length, table.concat(info, " ") .. seal
end

-- How many bytes may be behind the frame at `first`.
local function evened_bytes(buffer, first)
    if buffer:len() - first < HEADER_BYTES then
        return 0
    end
    local kind = buffer(first + 1, 1):uint()
    if kind == CONNECT or kind == ACCEPT or kind == CHALLENGE then
        return math.huge -- it tries out what length arrives
    end
    return kind >= SEQUENCED and EVENED_BYTES or 0
end

-- How many zeros behind the frame at `first`, which ends at `at`, make it as long as the next one.
local function zeros_after(buffer, first, at)
    local zeros, most = 0, evened_bytes(buffer, first)

    while zeros < most and at + zeros < buffer:len() and buffer(at + zeros, 1):uint() == 0 do
        zeros = zeros + 1
    end
    return zeros
end

-- Adds what is behind the last frame, which is that at `first`, from `at` on; `total` bytes were
-- there.
local function add_padding(buffer, first, at, total, tree)
    if at < math.min(total, buffer:len()) then
        local item = tree:add(f_padding, buffer(at))
        if total > PADDED_BYTES and total - at > evened_bytes(buffer, first) then
            item:add_proto_expert_info(problem, "longer than it says")
        end
    end
end

local function with_count(info, frames)
    return frames > 1 and string.format("%s (first of %d frames)", info, frames) or info
end

local function dissect(buffer, pinfo, tree)
    pinfo.cols.protocol = "Beowire"
    local total = buffer:reported_len()
    local length, info = add_frame(buffer, 0, total, tree)
    local frames, first, at = 1, 0, length
    local zeros = zeros_after(buffer, first, at)

    -- Where the card or the kernel segments, a capture shows the whole train as one datagram.
    while at + zeros < total and frame_length(buffer, at + zeros) and total > PADDED_BYTES do
        if zeros > 0 then
            tree:add(f_padding, buffer(at, zeros))
        end
        first = at + zeros
        length = add_frame(buffer, first, total - first, tree)
        frames, at = frames + 1, first + length
        zeros = zeros_after(buffer, first, at)
    end
    add_padding(buffer, first, at, total, tree)
    pinfo.cols.info = with_count(info, frames)
    return buffer:len()
end

-- ---- what network cards cut ---------------------------------------------------------------------

local SEGMENTS_GROUP = 0xEFC00000 -- 239.192.0.0; the low 16 bits are the EtherType, then the kind
local KIND = 0x10000
local CUT_DATA, CUT_FRAMES, CUT_MESSAGE = 0, 1, 2
local IP_BYTES, IP_VERSION_WORDS = 20, 0x45
local TCP_BYTES, TCP_WORDS = 20, 0x50
local ACK_AND_PERHAPS_PUSH = { [0x10] = true, [0x18] = true }
local MESSAGE_HEAD_BYTES = HEADER_BYTES + types[EAGER].bytes -- what is cut of a message begins so

-- What Wireshark has shown before us.
local shown_ip, shown_tcp = Field.new("ip"), Field.new("tcp")
local shown_payload, shown_beowire = Field.new("tcp.payload"), Field.new("beowire")

-- Bytes of the last field of a kind, the innermost where something is tunnelled; or nil.
local function shown_bytes(...)
    local last = select("#", ...)
    return last > 0 and select(last, ...).range or nil
end

-- The headers of this packet if they are Beowire's, and what is cut: { ip = bytes, tcp = bytes,
-- kind = number }; or nil.
local function segments_headers()
    local ip, tcp = shown_bytes(shown_ip()), shown_bytes(shown_tcp())
    if not ip or not tcp or ip:len() < IP_BYTES or tcp:len() < TCP_BYTES then
        return nil
    end
    local kind = (ip(16, 4):uint() - SEGMENTS_GROUP - tcp(0, 2):uint()) / KIND
    if kind ~= CUT_DATA and kind ~= CUT_FRAMES and kind ~= CUT_MESSAGE then
        return nil
    end
    return { ip = ip, tcp = tcp, kind = kind }
end

-- What is wrong with segments, or nil.
local function segments_problem(headers, segment_bytes, offset, bytes)
    if headers.ip(0, 1):uint() ~= IP_VERSION_WORDS or headers.tcp(12, 1):uint() ~= TCP_WORDS
        or not ACK_AND_PERHAPS_PUSH[headers.tcp(13, 1):uint()] then
        return "headers that Beowire does not write"
    elseif bytes <= 0 then
        return "no payload"
    elseif segment_bytes == 0 then
        return "segments of 0 bytes"
    elseif offset % segment_bytes ~= 0 then
        return "the offset is not a multiple of the segment length"
    elseif headers.kind == CUT_FRAMES and headers.tcp(18, 2):uint() ~= 0 then
        return "an urgent pointer where none belongs"
    elseif headers.kind == CUT_MESSAGE and segment_bytes <= MESSAGE_HEAD_BYTES then
        return "segments that have no room for more than the head of EAGER"
    end
    return offset / segment_bytes >= 2 ^ 32 and "more segments than there can be" or nil
end

-- Adds numbers that are in the headers. Returns their values by name.
local function add_from_headers(root, headers, rows)
    local values = {}
    for _, row in ipairs(rows) do
        local column, header, at = row[1], row[2], row[3]
        local range = headers[header](at, column.bytes)
        values[column.name] = range:uint()
        root:add(column.field, range)
    end
    return values
end

-- Adds the number of each segment: there are several if the card has not cut them yet, or the
-- kernel has joined them. Returns the first, and how many there are.
local function add_segments(root, headers, payload, values, offset, bytes)
    local first = math.floor(offset / values.segment_bytes)
    local count = math.ceil(bytes / values.segment_bytes)
    for i = 0, count - 1 do
        local at, range = i * values.segment_bytes, headers.tcp(4, 4)
        if payload and at < payload:len() then
            range = payload(at, math.min(values.segment_bytes, payload:len() - at))
        end
        root:add(f_segment, range, first + i):set_generated()
    end
    return first, count
end

-- Adds segments of a message. Returns what the info column says of them.
local function add_cut_data(headers, payload, tree)
    local root = tree:add(beowire, payload or headers.tcp)
    root:add(named.type_field, headers.ip(16, 4), DATA):set_generated()
    local values = add_from_headers(root, headers, named.segments_header)
    local low, high = headers.tcp(4, 4), headers.tcp(18, 2)
    local offset = high:uint() * 2 ^ 32 + low:uint()
    root:add(named.offset_field, low, UInt64.new(low:uint(), high:uint())):set_generated()
    local length = headers.ip(2, 2):uint()
    local bytes = length - IP_BYTES - TCP_BYTES
    root:add(f_length, headers.ip(2, 2), length)
    root:set_text("Beowire DATA to " .. values.destination)

    local info = string.format("DATA > %d message=0x%x", values.destination, values.message)
    local wrong = segments_problem(headers, values.segment_bytes, offset, bytes)
    if wrong then
        root:add_proto_expert_info(problem, wrong)
        return info
    end
    local first, count = add_segments(root, headers, payload, values, offset, bytes)
    if payload then
        root:add(f_payload, payload)
    end
    info = with_count(string.format("%s segment=%.0f length=%d", info, first, bytes), count)
    return info .. ((not payload or payload:len() < bytes) and CUT or "")
end

-- Adds headers of frames of which nothing else can be shown, `wrong` or cut by the capture.
-- Returns what the info column says of them.
local function add_only_headers(headers, name, wrong, tree)
    local root = tree:add(beowire, headers.tcp)
    local values = add_from_headers(root, headers, named.frames_header)
    root:add(f_length, headers.ip(2, 2))
    root:set_text("Beowire " .. name .. " to " .. values.destination)
    if wrong then
        root:add_proto_expert_info(problem, wrong)
    end
    return string.format("%s > %d seq=%d", name, values.destination, values.sequence)
end

-- Adds the FRAGMENT that is segment `index` of a message. It has no head: what that would say
-- follows from where the segment is. `range` is what was captured of it, or nil.
-- Returns what the info column says of it.
local function add_fragment(headers, index, segment_bytes, bytes, range, tree)
    local root = tree:add(beowire, range or headers.tcp)
    local sequence = (headers.tcp(8, 4):uint() + index) % 2 ^ 32
    local offset = UInt64(index * segment_bytes - MESSAGE_HEAD_BYTES)
    root:add(named.type_field, headers.ip(16, 4), FRAGMENT):set_generated()
    local values = add_from_headers(root, headers, named.fragment_header)
    root:add(named.sequence_field, headers.tcp(8, 4), sequence):set_generated()
    root:add(named.fragment_offset_field, headers.tcp(4, 4), offset):set_generated()
    root:add(named.payload_bytes_field, headers.ip(2, 2), bytes):set_generated()
    root:set_text("Beowire FRAGMENT to " .. values.destination)
    if range then
        root:add(f_payload, range)
    end
    return string.format("FRAGMENT > %d seq=%.0f message=0x%x offset=%s length=%d",
        values.destination, sequence, values.message, tostring(offset), bytes)
end

-- Adds frames, or a message's EAGER and FRAGMENTs: one of each segment, as far as there is anything
-- to be shown of it. Returns what the info column says of them.
local function add_cut_frames(headers, payload, tree)
    local segment_bytes, first_offset = headers.tcp(14, 2):uint(), headers.tcp(4, 4):uint()
    local total = headers.ip(2, 2):uint() - IP_BYTES - TCP_BYTES
    local captured = payload and payload:len() or 0
    local wrong = segments_problem(headers, segment_bytes, first_offset, total)
    if wrong then
        return add_only_headers(headers, "frames", wrong, tree)
    end

    local first = first_offset / segment_bytes
    local count = math.ceil(total / segment_bytes)
    local info
    for i = 0, count - 1 do
        local at, said = i * segment_bytes, nil
        local bytes = math.min(segment_bytes, total - at)
        local range = at < captured and payload(at, math.min(bytes, captured - at)) or nil
        if headers.kind == CUT_MESSAGE and first + i > 0 then
            said = add_fragment(headers, first + i, segment_bytes, bytes, range, tree)
        elseif range then
            local buffer, length = range:tvb(), nil
            length, said = add_frame(buffer, 0, bytes, tree)
            add_padding(buffer, 0, length, bytes, tree)
        elseif i == 0 then
            said = add_only_headers(headers,
                headers.kind == CUT_MESSAGE and "EAGER" or "frames", nil, tree)
        end
        info = info or said
    end
    info = with_count(info, count)
    return info .. (captured < total and not info:find(CUT, 1, true) and CUT or "")
end

-- Shows such a packet, unless it has been. Returns false if this is none.
local function dissect_segments(pinfo, tree)
    local headers = segments_headers()
    if headers and not shown_beowire() then
        local add = headers.kind == CUT_DATA and add_cut_data or add_cut_frames
        pinfo.cols.protocol = "Beowire"
        pinfo.cols.info:clear_fence() -- what TCP thinks of its sequence numbers
        pinfo.cols.info = add(headers, shown_bytes(shown_payload()), tree)
        pinfo.conversation = beowire -- so that nobody claims their ports
    end
    return headers ~= nil
end

function beowire.dissector(buffer, pinfo, tree)
    return dissect_segments(pinfo, tree) and buffer:len() or dissect(buffer, pinfo, tree)
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
        at = at + length + zeros_after(buffer, at, at + length)
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

beowire:register_heuristic("tcp", function(_, pinfo, tree)
    return dissect_segments(pinfo, tree)
end)

-- What TCP keeps to itself, because it takes it for something that comes again or too early, or
-- gives to somebody who has the port ("-o tcp.try_heuristic_first:TRUE": it asks us before those).
local segments = Proto("beowire_segments", "Beowire that looks like TCP")

function segments.dissector(buffer, pinfo, tree)
    return dissect_segments(pinfo, tree) and buffer:len() or 0
end

register_postdissector(segments)

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
