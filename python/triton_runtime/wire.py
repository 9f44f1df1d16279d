"""Frames between the server and this process. Everything is little-endian.

A frame is a u32 (bytes that follow) and a payload whose first byte is the kind. Texts are a u32 length and UTF-8.
Tensor: name, u8 datatype, u8 rank, i64 dims, u8 place, u64 bytes, then for INLINE the bytes themselves (padded so that
they start at a multiple of 16 in frames from the server), for SHARED a u64 offset in the sender's shared memory.
"""

import struct

# From the server, on the socket.
INIT, EXECUTE, FINALIZE = 1, 2, 3
# From the server, on the pipe.
CANCELLED, CALL_RESULT, BLS_RESPONSE, ACKNOWLEDGE, CHECK_READY, GO_ON = 20, 21, 22, 23, 24, 25
# To the server.
READY, FAILED, FINALIZED, COMPLETED = 101, 102, 103, 104
DONE, SEND, BLS, BLS_CANCEL, LOG, CALL, CHECKED, NOTIFY = 110, 111, 112, 113, 114, 115, 116, 117

# Where a tensor's bytes are.
INLINE, SHARED, BORROWED = 0, 1, 2

# What became of one request of a batch.
RESPONSE, OPEN, CLOSED, RESCHEDULED = 0, 1, 2, 3

ALIGNMENT = 16

U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
I64 = struct.Struct("<q")
F64 = struct.Struct("<d")


class Reader:
    """Reads the fields of one payload in their order."""

    __slots__ = ("data", "at")

    def __init__(self, data, at=0):
        self.data = data
        self.at = at

    def u8(self):
        value = self.data[self.at]
        self.at += 1
        return value

    def u16(self):
        (value,) = U16.unpack_from(self.data, self.at)
        self.at += 2
        return value

    def u32(self):
        (value,) = U32.unpack_from(self.data, self.at)
        self.at += 4
        return value

    def u64(self):
        (value,) = U64.unpack_from(self.data, self.at)
        self.at += 8
        return value

    def i64s(self, count):
        values = struct.unpack_from("<%dq" % count, self.data, self.at)
        self.at += 8 * count
        return values

    def bytes(self):
        size = self.u32()
        start = self.at
        self.at += size
        return bytes(self.data[start : self.at])

    def text(self):
        return self.bytes().decode("utf-8", "surrogateescape")


class Writer:
    """Collects the parts of one frame; large buffers are not copied until the socket takes them."""

    __slots__ = ("parts", "size")

    def __init__(self, kind):
        self.parts = [bytes((kind,))]
        self.size = 1

    def raw(self, data):
        self.parts.append(data)
        self.size += len(data)

    def u8(self, value):
        self.raw(U8.pack(value))

    def u16(self, value):
        self.raw(U16.pack(value))

    def u32(self, value):
        self.raw(U32.pack(value))

    def u64(self, value):
        self.raw(U64.pack(value))

    def i64(self, value):
        self.raw(I64.pack(value))

    def i64s(self, values):
        self.raw(struct.pack("<%dq" % len(values), *values))

    def bytes(self, data):
        self.u32(len(data))
        self.raw(data)

    def text(self, value):
        self.bytes(value.encode("utf-8", "surrogateescape"))
