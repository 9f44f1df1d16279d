"""Frames between the server and this process. Everything is little-endian.

A frame is a u32 (bytes that follow) and a payload whose first byte is the kind. Texts are a u32 length and UTF-8.
Tensor: name, u8 datatype, u8 rank, i64 dims, u8 place, u64 bytes, then for INLINE the bytes themselves (padded so that
they start at a multiple of 16 in frames from the server), for SHARED a u64 offset in the sender's shared memory.
Whoever has read a SHARED tensor, or needs its region no more, says so by naming the region's offset: a list of u32 (how
many) and u64 offsets, in EXECUTE and ACKNOWLEDGE for regions of this process, in DONE, SEND, BLS and RELEASED for those of
the server.
Parameters of this process: u16 how many, then name, u8 type and value of each.
"""

import struct

# From the server, on the socket.
INIT, EXECUTE, FINALIZE = 1, 2, 3
# From the server, on the pipe.
CANCELLED, CALL_RESULT, BLS_RESPONSE, ACKNOWLEDGE, CHECK_READY, GO_ON = 20, 21, 22, 23, 24, 25
# To the server.
READY, FAILED, FINALIZED, COMPLETED = 101, 102, 103, 104
DONE, SEND, BLS, BLS_CANCEL, LOG, CALL, CHECKED, NOTIFY, RELEASED = 110, 111, 112, 113, 114, 115, 116, 117, 118

# Types of parameters.
INTEGER, STRING, BOOLEAN, DOUBLE, UNSIGNED = 0, 1, 2, 3, 4

# Where a tensor's bytes are.
INLINE, SHARED, BORROWED = 0, 1, 2

# What became of one request of a batch.
RESPONSE, OPEN, CLOSED, RESCHEDULED = 0, 1, 2, 3

ALIGNMENT = 16

# Longest frame in bytes before the server has named its setting, max-frame-bytes.
LONGEST_FRAME = 1 << 30

U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
I64 = struct.Struct("<q")
F64 = struct.Struct("<d")


class FrameError(Exception):
    """Bytes that are not the frame that they should be."""


class Reader:
    """Reads the fields of one payload in their order. Raises FrameError beyond its end."""

    __slots__ = ("data", "at")

    def __init__(self, data, at=0):
        self.data = data
        self.at = at

    def unpack(self, layout):
        """The values of a Struct."""
        try:
            values = layout.unpack_from(self.data, self.at)
        except struct.error:
            raise self._short(layout.size) from None
        self.at += layout.size
        return values

    def u8(self):
        try:
            value = self.data[self.at]
        except IndexError:
            raise self._short(1) from None
        self.at += 1
        return value

    def u16(self):
        return self.unpack(U16)[0]

    def u32(self):
        return self.unpack(U32)[0]

    def u64(self):
        return self.unpack(U64)[0]

    def i64s(self, count):
        return self.unpack(_dims(count))

    def u64s(self):
        """A list of u64 behind its length."""
        count = self.u32()
        if count == 0:
            return ()
        if count * 8 > len(self.data) - self.at:
            raise self._short(count * 8)
        return self.unpack(struct.Struct("<%dQ" % count))

    def skip(self, size):
        """Passes over bytes; returns where they start."""
        start = self.at
        if size > len(self.data) - start:
            raise self._short(size)
        self.at = start + size
        return start

    def bytes(self):
        start = self.skip(self.u32())
        return bytes(self.data[start : self.at])

    def text(self):
        return self.bytes().decode("utf-8", "surrogateescape")

    def _short(self, size):
        return FrameError(
            "a field of %d bytes at position %d goes beyond the end of a frame of %d bytes" % (size, self.at, len(self.data))
        )


_DIMS = [struct.Struct("<%dq" % rank) for rank in range(9)]


def _dims(rank):
    return _DIMS[rank] if rank < 9 else struct.Struct("<%dq" % rank)


class Writer:
    """Collects the parts of one frame; large buffers are not copied until the socket takes them."""

    __slots__ = ("parts", "size", "regions", "moves")

    def __init__(self, kind):
        self.parts = [bytes((kind,))]
        self.size = 1
        # Regions of this process's memory that the frame speaks of, and places of tensors that are moved (tensor.py).
        self.regions = []
        self.moves = None

    def mark(self):
        """Where the frame ends now."""
        return len(self.parts), self.size, len(self.regions), len(self.moves or ())

    def back_to(self, mark, outputs):
        """Takes back what was written since, and the regions that were written for it."""
        parts, self.size, regions, moves = mark
        del self.parts[parts:]
        outputs.release(self.regions[regions:])
        del self.regions[regions:]
        if self.moves:
            del self.moves[moves:]

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
        self.raw(_dims(len(values)).pack(*values))

    def u64s(self, values):
        """A list of u64 behind its length."""
        self.raw(struct.pack("<I%dQ" % len(values), len(values), *values))

    def bytes(self, data):
        self.u32(len(data))
        self.raw(data)

    def text(self, value):
        """Text as UTF-8. What has no UTF-8 form is written as an escape: a message never fails for its characters."""
        try:
            data = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            data = value.encode("utf-8", "backslashreplace")
        self.bytes(data)
