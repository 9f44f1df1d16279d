"""Kinds of memory that a preferred memory may name."""

import enum


class MemoryType(enum.Enum):
    TRITONSERVER_MEMORY_GPU = 0
    TRITONSERVER_MEMORY_CPU = 1

    def __int__(self):
        return self.value
