"""Tensors as models see them."""

import struct

import numpy as np

from . import byte_strings
from .arguments import text_of
from .datatypes import BF16, BYTES, DTYPES, code_of
from .errors import TritonModelException, wrong_arguments
from .wire import BORROWED, INLINE, SHARED, FrameError, Reader
from .memory import SHARED_FROM

# Where the bytes of a tensor are: place, how many, offset.
_PLACE = struct.Struct("<BQQ")
_INLINE = struct.Struct("<BQ")

_SIGNATURE = "c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)"


class Tensor:
    """A named tensor in the memory of the CPU."""

    __slots__ = ("_name", "_code", "_shape", "_array", "_raw")

    def __init__(self, *args, **kwargs):
        if kwargs or len(args) != 2 or not isinstance(args[1], np.ndarray):
            raise wrong_arguments(_SIGNATURE, args, kwargs)
        name, array = text_of(args[0]), args[1]
        if name is None:
            raise wrong_arguments(_SIGNATURE, args, kwargs)
        if name == "":
            raise TritonModelException("Tensor name cannot be an empty string.")
        code = code_of(array.dtype)
        if code is None:
            raise TritonModelException("NumPy dtype is not supported.")
        if not array.flags.c_contiguous:
            array = array.copy(order="C")
        self._name = name
        self._code = code
        self._shape = array.shape
        self._array = array
        self._raw = None

    @classmethod
    def _of_raw(cls, name, code, shape, raw):
        """A tensor whose contiguous little-endian bytes are the uint8 array `raw`."""
        tensor = cls.__new__(cls)
        tensor._name = name
        tensor._code = code
        tensor._shape = tuple(shape)
        tensor._array = None
        tensor._raw = raw
        return tensor

    def name(self):
        return self._name

    def shape(self):
        return list(self._shape)

    def triton_dtype(self):
        return self._code

    def is_cpu(self):
        return True

    def as_numpy(self):
        array = self._array
        if array is None:
            array = self._array = self._view()
        return array

    def _view(self):
        code, raw = self._code, self._raw
        if code == BYTES:
            return byte_strings.deserialize(raw).reshape(self._shape)
        if code == BF16:
            raise TritonModelException(
                "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead."
            )
        return raw.view(DTYPES[code]).reshape(self._shape)

    def to_dlpack(self):
        return self.__dlpack__()

    def __dlpack__(self, *, stream=None, **_newer):
        from . import dlpack

        if self._code == BYTES:
            raise TritonModelException("DLPack does not have support for string tensors.")
        return dlpack.capsule_of(self._code, self._shape, self._bytes(), self)

    def __dlpack_device__(self):
        return (1, 0)

    @staticmethod
    def from_dlpack(name, tensor):
        from . import dlpack

        if name == "":
            raise TritonModelException("Tensor name cannot be an empty string.")
        code, shape, raw = dlpack.read(tensor)
        return Tensor._of_raw(name, code, shape, raw)

    def _bytes(self):
        """The tensor's bytes as a flat uint8 array; no copy but for BYTES."""
        if self._raw is not None:
            return self._raw
        if self._code == BYTES:
            return np.frombuffer(byte_strings.serialize(self._array), np.uint8)
        return self._array.reshape(-1).view(np.uint8)

    def _write(self, writer, memories, moving=False):
        """Writes what the tensor holds now: its bytes are copied, into the shared memory or with the frame.

        `moving`: it is the end of execute. An input that goes back as it came needs no copy then if the model keeps nothing
        of it; that is known once the requests are gone, so `settle_moves` completes the tensor.
        """
        inputs, outputs = memories
        raw = self._bytes()
        size = raw.nbytes
        writer.text(self._name)
        writer.u8(self._code)
        writer.u8(len(self._shape))
        writer.i64s(self._shape)
        if size >= SHARED_FROM:
            if moving:
                offset = inputs.move(raw)
                if offset is not None:
                    if writer.moves is None:
                        writer.moves = []
                    writer.moves.append((len(writer.parts), offset, size))
                    writer.raw(_PLACE.pack(BORROWED, size, offset))
                    return
            offset = outputs.write(raw)
            if offset is not None:
                writer.regions.append(offset)
                writer.raw(_PLACE.pack(SHARED, size, offset))
                return
        writer.raw(_INLINE.pack(INLINE, size))
        writer.raw(memoryview(raw))


def settle_moves(writer, memories):
    """Completes tensors that were written as moved: those that the model could still change are copied.

    Nothing of the caller's may keep the requests any more, and `take_released` must have been called. Returns the offsets of
    the regions that are to be named as released.
    """
    if writer.moves is None:
        return []
    inputs, outputs = memories
    for part, offset, size in writer.moves:
        if inputs.is_gone(offset):
            continue
        data = inputs.peek(offset, size)
        copied = outputs.write(data)
        if copied is not None:
            writer.regions.append(copied)
            writer.parts[part] = _PLACE.pack(SHARED, size, copied)
        else:
            writer.parts[part] = _INLINE.pack(INLINE, size) + data.tobytes()
            writer.size += len(writer.parts[part]) - _PLACE.size
    return inputs.end_moves()


def read_tensor(reader: Reader, memory):
    """The tensor at the reader's place, on the frame's own memory or on the shared memory."""
    name = reader.text()
    code = reader.u8()
    shape = reader.i64s(reader.u8())
    place, size = reader.unpack(_INLINE)
    if place == SHARED:
        return Tensor._of_raw(name, code, shape, memory.array(reader.u64(), size))
    if place != INLINE:
        raise FrameError("a tensor's bytes lie in an unknown place (%d)" % place)
    reader.skip(-reader.at & 15)
    start = reader.skip(size)
    raw = np.frombuffer(reader.data, np.uint8, size, start) if size else np.empty(0, np.uint8)
    return Tensor._of_raw(name, code, shape, raw)
