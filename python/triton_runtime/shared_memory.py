"""The name of a class that Triton's Python backend has for itself."""

from .errors import no_constructor


class SharedMemory:
    """Triton's handle on the memory that a model's process shares with the server. Here there is nothing to hold: large
    tensors lie in files without names, which the runtime alone uses. The class exists for signatures and `isinstance`."""

    def __init__(self, *_args, **_kwargs):
        raise no_constructor("SharedMemory")
