"""Errors as models see and make them."""

import enum

from .arguments import text_of


class TritonModelException(Exception):
    """Raised by the runtime when a model misuses it; models may raise it themselves."""


class __ErrorCode(enum.Enum):
    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value


ErrorCode = globals()["__ErrorCode"]


class ContractError(Exception):
    """A broken rule of execute. Its text goes to the clients as it is, without type and frames."""


def wrong_arguments(signature, args, kwargs, *, function="__init__", constructor=True):
    """TypeError for arguments of wrong number or type, in the words of Triton's binding layer."""
    what = "constructor" if constructor else "function"
    given = ", ".join(_repr(arg) for arg in args)
    if kwargs:
        named = "kwargs: " + ", ".join("%s=%s" % (name, _repr(value)) for name, value in kwargs.items())
        given = "%s; %s" % (given, named) if given else named
    return TypeError(
        "%s(): incompatible %s arguments. The following argument types are supported:\n    1. %s\n\nInvoked with: %s"
        % (function, what, signature, given)
    )


def no_constructor(name):
    """TypeError for a class whose objects only the runtime makes."""
    return TypeError("c_python_backend_utils.%s: No constructor defined!" % name)


def _repr(value):
    try:
        return repr(value)
    except Exception:
        return "<repr raised Error>"


_MISSING = object()


def bind(signature, names, defaults, args, kwargs):
    """Values of the arguments `names` in their order; a missing or unknown one raises the TypeError of `signature`."""
    if len(args) > len(names):
        raise wrong_arguments(signature, args, kwargs)
    values = list(args)
    used = 0
    for name in names[len(args) :]:
        value = kwargs.get(name, _MISSING)
        if value is _MISSING:
            value = defaults.get(name, _MISSING)
            if value is _MISSING:
                raise wrong_arguments(signature, args, kwargs)
        else:
            used += 1
        values.append(value)
    if used != len(kwargs):
        raise wrong_arguments(signature, args, kwargs)
    return values


class TritonError:
    """An error for a response: a text and one of the codes that are its class attributes."""

    UNKNOWN = ErrorCode.UNKNOWN
    INTERNAL = ErrorCode.INTERNAL
    NOT_FOUND = ErrorCode.NOT_FOUND
    INVALID_ARG = ErrorCode.INVALID_ARG
    UNAVAILABLE = ErrorCode.UNAVAILABLE
    UNSUPPORTED = ErrorCode.UNSUPPORTED
    ALREADY_EXISTS = ErrorCode.ALREADY_EXISTS
    CANCELLED = ErrorCode.CANCELLED

    _SIGNATURE = (
        "c_python_backend_utils.TritonError(message: str, "
        "code: c_python_backend_utils.TritonError.__ErrorCode = <__ErrorCode.INTERNAL: 1>)"
    )

    def __init__(self, *args, **kwargs):
        message, code = bind(self._SIGNATURE, ("message", "code"), {"code": ErrorCode.INTERNAL}, args, kwargs)
        self._message = text_of(message)
        if self._message is None or not isinstance(code, ErrorCode):
            raise wrong_arguments(self._SIGNATURE, args, kwargs)
        self._code = code

    def message(self):
        return self._message

    def code(self):
        return self._code
