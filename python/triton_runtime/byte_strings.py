"""BYTES tensors: each element stands behind its length (u32)."""

import numpy as np

from .wire import U32


def serialize(array):
    """Length-prefixed bytes of an array of byte strings or objects, in row-major order."""
    pack = U32.pack
    parts = []
    for item in array.ravel(order="C").tolist():
        if type(item) is not bytes:
            item = str(item).encode("utf-8")
        parts.append(pack(len(item)))
        parts.append(item)
    return b"".join(parts)


def deserialize(data):
    """One-dimensional object array of the byte strings in `data`."""
    view = memoryview(data)
    unpack = U32.unpack_from
    items = []
    at, end = 0, len(view)
    while at < end:
        (size,) = unpack(view, at)
        at += 4
        items.append(bytes(view[at : at + size]))
        at += size
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
