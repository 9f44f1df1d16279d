"""Arguments as NVIDIA's binding layer (pybind11) takes them."""

import operator


def text_of(value):
    """A string argument: str with a UTF-8 form, or bytes. None for anything else."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return None
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "surrogateescape")
    return None


def integer_of(value, low, high):
    """A whole number from low to high: an int, or an object that turns itself into one. None for anything else."""
    if type(value) is not int:
        if isinstance(value, float):
            return None
        try:
            value = operator.index(value)
        except TypeError:
            if not hasattr(value, "__int__"):
                return None
            try:
                value = int(value)
            except (TypeError, ValueError, OverflowError):
                return None
    return value if low <= value <= high else None
