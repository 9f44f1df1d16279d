"""The two shared-memory files: large tensors lie there instead of travelling through the socket.

Every region has one owner at a time. The writer of a file allocates a region, and it uses the region again only when the
reader has named that very region as read. Nothing is acknowledged by order or by number, so what one thread sends says
nothing about the regions of another.
"""

import mmap
import os
import queue
import threading
import weakref
from collections import deque

import numpy as np

# Smaller tensors travel in the frame: one copy more, but no system call of their own.
SHARED_FROM = 32768

# Released regions are named in the next frame; with at least this many bytes released, a frame of their own is sent for them.
ALONE_FROM = 16 << 20


class InputMemory:
    """What the server writes. Arrays lie directly on it; a region is given back when the last array on it is gone."""

    def __init__(self, fd):
        self._fd = fd
        self._map = None
        self._start = 0
        # Regions with arrays on them: offset -> weak reference to the array that all others are made of.
        self._regions = {}
        # Offsets of the regions without arrays. Callbacks of weak references run at any point of any thread, also while
        # that thread holds the lock, so they only append here and put into the simple queue: both are reentrant.
        self._gone = deque()
        self._gone_bytes = 0
        self._much = queue.SimpleQueue()
        self._much_said = False
        self._lock = threading.RLock()
        # Regions that a frame which is being made wants to give back as they are: offset -> whether they are gone.
        self._moving = {}

    def array(self, offset, size):
        """Bytes of a region as an array. Everything made from it keeps the region. Raises ValueError beyond the file."""
        if self._map is None or offset + size > len(self._map):
            # An older mapping stays alive as long as there are arrays on it.
            self._map = mmap.mmap(self._fd, os.fstat(self._fd).st_size)
            self._start = np.frombuffer(self._map, np.uint8, 1).__array_interface__["data"][0]
        root = np.frombuffer(self._map, np.uint8, size, offset)
        regions, gone = self._regions, self._gone

        def ended(_):
            regions.pop(offset, None)
            # Two threads may lose a step here, which only moves the bound a little.
            self._gone_bytes += size
            gone.append(offset)
            if self._gone_bytes >= ALONE_FROM and not self._much_said:
                self._much_said = True
                self._much.put(None)

        regions[offset] = weakref.ref(root, ended)
        return root

    def wait_for_much(self):
        """Returns when enough was released for a frame of its own."""
        self._much.get()

    def take_released(self):
        """Offsets of the regions that nobody uses any more. Each is named once."""
        gone = self._gone
        if not gone:
            return ()
        taken = []
        with self._lock:
            self._gone_bytes = 0
            self._much_said = False
            while gone:
                try:
                    offset = gone.popleft()
                except IndexError:
                    break
                if offset in self._moving:
                    self._moving[offset] = True
                else:
                    taken.append(offset)
        return taken

    def release_again(self, offsets):
        """These regions were taken for a frame that was not sent."""
        self._gone.extend(offsets)

    def move(self, array):
        """Offset of the region that an array lies on, which may then go back as it is; None for any other array.

        Until `end_moves` the region is not named as released. The caller lets go of everything that holds the array in
        between; `take_released` and `is_gone` then say whether anybody could still change it.
        """
        if self._map is None:
            return None
        offset = array.__array_interface__["data"][0] - self._start
        if offset < 0 or offset + array.nbytes > len(self._map):
            return None
        with self._lock:
            if offset not in self._regions:
                return None
            self._moving.setdefault(offset, False)
        return offset

    def is_gone(self, offset):
        """True when no array lies on a region that is moved, as take_released found: nobody can change it any more."""
        return self._moving[offset]

    def peek(self, offset, size):
        """The bytes of a region that is moved, as an array which does not keep it."""
        return np.frombuffer(self._map, np.uint8, size, offset)

    def end_moves(self):
        """Ends all moves; returns the offsets of the regions that can be named as released together with them."""
        with self._lock:
            moved, self._moving = self._moving, {}
            return [offset for offset, gone in moved.items() if gone]


class OutputMemory:
    """What this process writes. A region is used again once the server has said that it has read it."""

    def __init__(self, fd):
        self._fd = fd
        self._lock = threading.RLock()
        self._owner = 0
        self._free = []  # (offset, size), ascending, never adjacent
        self._used = {}
        self._end = 0
        self._file_size = 0

    def write(self, data):
        """Stores the bytes and returns their offset; None when there is no room for them."""
        size = data.nbytes
        thread = threading.get_ident()
        if self._owner == thread:
            # The garbage collector interrupted this thread in here, and an object that it ended sends something.
            return None
        with self._lock:
            self._owner = thread
            offset = self._allocate((size + 63) & ~63)
            self._owner = 0
        try:
            view = memoryview(data)
            done = 0
            while done < size:
                done += os.pwrite(self._fd, view[done:], offset + done)
        except OSError:
            self.release((offset,))
            return None
        return offset

    def release(self, offsets):
        """These regions have been read, or were never sent. KeyError for one that is not in use."""
        with self._lock:
            before, self._owner = self._owner, threading.get_ident()
            try:
                for offset in offsets:
                    self._give_back(offset, self._used.pop(offset))
            finally:
                self._owner = before

    def trim(self):
        """Gives the file's memory back when nothing is stored."""
        with self._lock:
            if self._used or self._file_size == 0:
                return
            self._file_size = 0
            os.ftruncate(self._fd, 0)

    def _allocate(self, size):
        for i, (offset, length) in enumerate(self._free):
            if length < size:
                continue
            if length == size:
                del self._free[i]
            else:
                self._free[i] = (offset + size, length - size)
            break
        else:
            offset = self._end
            self._end += size
            self._file_size = max(self._file_size, self._end)
        self._used[offset] = size
        return offset

    def _give_back(self, offset, size):
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
