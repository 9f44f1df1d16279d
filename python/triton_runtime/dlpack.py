"""DLPack capsules in and out: the standard way to hand tensors from one library to another without a copy."""

import ctypes
import weakref

import numpy as np

from .errors import TritonModelException

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_CPU, _CPU_PINNED = 1, 3

# Code and bits of each datatype, by its number in model configurations.
_TYPES = {
    1: (_BOOL, 8),
    2: (_UINT, 8),
    3: (_UINT, 16),
    4: (_UINT, 32),
    5: (_UINT, 64),
    6: (_INT, 8),
    7: (_INT, 16),
    8: (_INT, 32),
    9: (_INT, 64),
    10: (_FLOAT, 16),
    11: (_FLOAT, 32),
    12: (_FLOAT, 64),
    14: (_BFLOAT, 16),
}
_NUMBERS = {kind: number for number, kind in _TYPES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", _api))

_NAME = b"dltensor"
_USED = b"used_dltensor"

# What a capsule given away needs, by the address of its structure, until its user is done.
_exported = {}


@_Deleter
def _delete(address):
    _exported.pop(address, None)


@_Destructor
def _destroy(capsule):
    # A capsule whose content was taken over has another name; its user calls the deleter then.
    if _is_valid(capsule, _NAME):
        _exported.pop(_pointer(capsule, _NAME), None)


def capsule_of(number, shape, raw, owner):
    """A capsule on the bytes of a tensor, which live as long as the capsule or what was made from it; so does `owner`."""
    code, bits = _TYPES[number]
    rank = len(shape)
    dims = (ctypes.c_int64 * max(rank, 1))(*shape)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data = raw.__array_interface__["data"][0]
    tensor.device_type, tensor.device_id = _CPU, 0
    tensor.ndim = rank
    tensor.code, tensor.bits, tensor.lanes = code, bits, 1
    tensor.shape = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _exported[address] = (managed, dims, raw, owner)
    return _new(address, _NAME, _destroy)


def read(source):
    """Number of the datatype, shape and bytes of a capsule or of an object that makes one."""
    if type(source).__name__ == "PyCapsule":
        capsule = source
    elif hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__"):
        _check_device(int(source.__dlpack_device__()[0]))
        capsule = source.__dlpack__()
    else:
        raise TritonModelException(
            "Provided tensor is not supported. Tensor must be a DLPack capsule         "
            "or have `__dlpack__` and `__dlpack_device__` attributes"
        )
    if not _is_valid(id(capsule), _NAME):
        raise TritonModelException("Error when creating DLPack tensor: the capsule is not named 'dltensor', or was used.")
    managed = ctypes.cast(_pointer(id(capsule), _NAME), ctypes.POINTER(_Managed)).contents
    tensor = managed.tensor
    _check_device(tensor.device_type)
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    if not _is_contiguous(tensor, shape):
        raise TritonModelException(
            "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported."
        )
    number = _NUMBERS.get((tensor.code, tensor.bits))
    if number is None or tensor.lanes != 1:
        raise TritonModelException("DLPack dtype is not supported.")
    size = tensor.bits // 8
    for dim in shape:
        size *= dim
    _rename(id(capsule), _USED)
    if size == 0:
        _release(ctypes.addressof(managed), managed.deleter)
        return number, shape, np.empty(0, np.uint8)
    memory = (ctypes.c_uint8 * size).from_address(tensor.data + tensor.byte_offset)
    raw = np.frombuffer(memory, np.uint8)
    weakref.finalize(raw, _release, ctypes.addressof(managed), managed.deleter).atexit = False
    return number, shape, raw


def _release(address, deleter):
    if deleter:
        _Deleter(deleter)(address)


def _check_device(kind):
    if kind not in (_CPU, _CPU_PINNED):
        raise TritonModelException(
            "Tensors in the memory of a GPU are not supported by this server: copy the tensor to the CPU first."
        )


def _is_contiguous(tensor, shape):
    if not tensor.strides or 0 in shape:
        return True
    expected = 1
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] != 1 and tensor.strides[i] != expected:
            return False
        expected *= shape[i]
    return True
