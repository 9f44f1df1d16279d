"""Datatypes by their number in model configurations, and what numpy calls them."""

import numpy as np

BYTES, BF16 = 13, 14

NUMPY_TYPES = {
    1: np.bool_,
    2: np.uint8,
    3: np.uint16,
    4: np.uint32,
    5: np.uint64,
    6: np.int8,
    7: np.int16,
    8: np.int32,
    9: np.int64,
    10: np.float16,
    11: np.float32,
    12: np.float64,
    13: np.object_,
}

DTYPES = {code: np.dtype(kind) for code, kind in NUMPY_TYPES.items() if code != BYTES}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_CODES[np.dtype(object)] = BYTES


def code_of(dtype):
    """Number of a numpy dtype; None for those that tensors cannot have (foreign byte orders included)."""
    code = _CODES.get(dtype)
    if code is None and dtype.type is np.bytes_:
        return BYTES
    return code
