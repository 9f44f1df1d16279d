"""The two shared-memory files: large tensors lie there instead of travelling through the socket."""

import mmap
import os
import threading
import weakref
from collections import deque

import numpy as np

# Smaller tensors travel in the frame: one copy more, but no system call of their own.
SHARED_FROM = 32768


class InputMemory:
    """What the server writes. Arrays lie directly on it; a region is given back when the last array on it is gone."""

    def __init__(self, fd):
        self._fd = fd
        self._map = None
        self._start = 0
        self._references = {}
        self._next = 0
        self.released = deque()

    def array(self, offset, size):
        """Bytes of a region as an array. Everything made from it keeps the region."""
        if self._map is None or offset + size > len(self._map):
            # An older mapping stays alive as long as there are arrays on it.
            self._map = mmap.mmap(self._fd, os.fstat(self._fd).st_size)
            self._start = np.frombuffer(self._map, np.uint8, 1).__array_interface__["data"][0]
        root = np.frombuffer(self._map, np.uint8, size, offset)
        key = self._next
        self._next += 1
        references, released = self._references, self.released

        def gone(_, key=key, offset=offset):
            references.pop(key, None)
            released.append(offset)

        references[key] = weakref.ref(root, gone)
        return root

    def offset_of(self, array):
        """Where in the file a contiguous array lies, or None when it lies elsewhere."""
        if self._map is None:
            return None
        offset = array.__array_interface__["data"][0] - self._start
        return offset if 0 <= offset <= len(self._map) - array.nbytes else None

    def take_released(self):
        """Offsets of the regions that nobody uses any more."""
        taken = []
        while self.released:
            taken.append(self.released.popleft())
        return taken


class OutputMemory:
    """What this process writes. Regions are used again once the server has said that it read them."""

    def __init__(self, fd):
        self._fd = fd
        self._lock = threading.Lock()
        self._free = []  # (offset, size), ascending, never adjacent
        self._end = 0
        self._pending = deque()  # (sequence number, offset, size)
        self._sequence = 0
        self._full = False

    def write(self, data):
        """Stores the bytes and returns their offset; None when there is no room for them."""
        size = data.nbytes
        with self._lock:
            offset = self._allocate((size + 63) & ~63)
        try:
            view = memoryview(data)
            done = 0
            while done < size:
                done += os.pwrite(self._fd, view[done:], offset + done)
        except OSError:
            with self._lock:
                self._release(offset, (size + 63) & ~63)
            return None
        with self._lock:
            self._sequence += 1
            self._pending.append((self._sequence, offset, (size + 63) & ~63))
        return offset

    @property
    def sequence(self):
        """Number of the region written last; the server acknowledges these."""
        return self._sequence

    def acknowledge(self, sequence):
        """The server has read every region up to this number."""
        with self._lock:
            while self._pending and self._pending[0][0] <= sequence:
                _, offset, size = self._pending.popleft()
                self._release(offset, size)

    def trim(self):
        """Gives the file's memory back when nothing is stored."""
        with self._lock:
            if self._pending or self._end == 0:
                return
            self._free.clear()
            self._end = 0
            os.ftruncate(self._fd, 0)

    def _allocate(self, size):
        for i, (offset, length) in enumerate(self._free):
            if length < size:
                continue
            if length == size:
                del self._free[i]
            else:
                self._free[i] = (offset + size, length - size)
            return offset
        offset = self._end
        self._end += size
        return offset

    def _release(self, offset, size):
        free = self._free
        i = 0
        while i < len(free) and free[i][0] < offset:
            i += 1
        if i < len(free) and offset + size == free[i][0]:
            size += free.pop(i)[1]
        if i > 0 and free[i - 1][0] + free[i - 1][1] == offset:
            offset, before = free.pop(i - 1)
            size += before
            i -= 1
        if offset + size == self._end:
            self._end = offset
        else:
            free.insert(i, (offset, size))
