"""The connection to the server: frames in and out, responses to calls."""

import json
import os
import socket
import sys
import threading
import traceback
from collections import deque

from . import wire
from .errors import TritonModelException
from .memory import InputMemory, OutputMemory
from .wire import U32, FrameError, Reader, Writer

_FORKED = (
    "This is a process that the model forked: only the model's own process is connected to the server. "
    "Hand the work back to it, or use threads."
)


class Channel:
    """Batches come on the socket, to the main thread; everything else comes through the pipe, to a thread of its own."""

    def __init__(self):
        self._socket = socket.socket(fileno=3)
        self._pipe = 4
        self._buffer = bytearray(65536)
        self._start = self._end = 0
        # Longest frame in bytes, in both directions; the server names its setting first of all.
        self.limit = wire.LONGEST_FRAME
        self.inputs = InputMemory(5)
        self.outputs = OutputMemory(6)
        self.memories = (self.inputs, self.outputs)
        self._lock = threading.Lock()
        # The thread that sends now, and the frames that objects want sent which end in it meanwhile: the garbage collector
        # and handlers of signals may run in the middle of a frame.
        self._sender = 0
        self._later = deque()
        self._calls = {}
        self._next_call = 0
        self._numbers = threading.Lock()
        self._closed = False
        self._forked = False
        self.on_cancelled = lambda key: None
        self.on_check_ready = lambda number: None
        self.on_go_on = lambda key: None
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def start_reader(self):
        threading.Thread(target=self._read_pipe, name="triton-reader", daemon=True).start()
        threading.Thread(target=self._send_releases, name="triton-releases", daemon=True).start()

    def _leave_to_parent(self):
        """In a process that the model forks: it neither reads nor writes what belongs to the model's own process, and it
        does not keep the connection open when that ends."""
        self._closed = self._forked = True
        self._lock = threading.Lock()
        self._numbers = threading.Lock()
        self._sender = 0
        self._later.clear()
        self._calls = {}
        # The socket object closes its descriptor; the others are numbers.
        self._socket.close()
        for descriptor in (self._pipe, 5, 6):
            try:
                os.close(descriptor)
            except OSError:
                pass  # the model has closed it

    def check_own_process(self):
        """Raises TritonModelException in a process that the model forked."""
        if self._forked:
            raise TritonModelException(_FORKED)

    @property
    def forked(self):
        """True in a process that the model forked: nothing reaches the server from there."""
        return self._forked

    def receive(self):
        """The next frame of the socket; ends the process when the server is gone."""
        if self._forked:
            # The model's code in a fork came back out of execute: only the model's own process goes on.
            leave()
        # A frame that came with one system call is copied out of the buffer; arrays may lie on it for ever.
        start, end = self._start, self._end
        buffer = self._buffer
        if start == end:
            start = 0
            end = self._socket.recv_into(buffer)
            if end == 0:
                leave()
        if end - start >= 4:
            (size,) = U32.unpack_from(buffer, start)
            if end - start >= 4 + size:
                self._start, self._end = start + 4 + size, end
                return Reader(buffer[start + 4 : start + 4 + size])
        have = buffer[start:end]
        self._start = self._end = 0
        if len(have) < 4:
            have += self._take(bytearray(4 - len(have)), 0)
        size = self._check_size(U32.unpack_from(have)[0])
        data = bytearray(size)
        rest = have[4:]
        data[: len(rest)] = rest
        return Reader(self._take(data, len(rest)))

    def _check_size(self, size):
        if size > self.limit:
            raise FrameError("the server announces a frame of %d bytes; the limit is %d" % (size, self.limit))
        return size

    def _take(self, data, done):
        """Fills a buffer from the socket, from a place on."""
        size = len(data)
        with memoryview(data) as view:
            while done < size:
                with view[done:] as rest:
                    count = self._socket.recv_into(rest, size - done, socket.MSG_WAITALL)
                if count == 0:
                    leave()
                done += count
        return data

    def send(self, writer):
        """Sends a frame. Raises TritonModelException, and sends nothing, when it is longer than the limit."""
        size = writer.size
        if size > self.limit:
            raise TritonModelException(
                "A message of %d bytes to the server is longer than the limit of %d bytes. Large tensors travel in shared "
                "memory: make room in /dev/shm, or set a higher limit with "
                "--backend-config=python,max-frame-bytes=<bytes>." % (size, self.limit)
            )
        writer.parts.insert(0, U32.pack(size))
        thread = threading.get_ident()
        if self._sender == thread:
            self._later.append(writer)
            return
        with self._lock:
            self._sender = thread
            try:
                self._transmit(writer)
                while self._later:
                    self._transmit(self._later.popleft())
            finally:
                self._sender = 0

    def _transmit(self, writer):
        if self._closed:
            return
        try:
            if writer.size < 262144:
                self._socket.sendall(b"".join(writer.parts))
            else:
                self._send_large(writer.parts)
        except OSError:
            leave()

    def _send_large(self, parts):
        small = []
        for part in parts:
            if len(part) < 65536:
                small.append(part)
                continue
            self._socket.sendall(b"".join(small))
            small.clear()
            self._socket.sendall(part)
        self._socket.sendall(b"".join(small))

    def close(self):
        """Sends nothing any more, so that the ends of objects at exit have no effects."""
        with self._lock:
            self._closed = True

    def open_call(self, receive):
        """Registers who gets the responses to a call; returns the call's number."""
        self.check_own_process()
        with self._numbers:
            number = self._next_call
            while True:
                # Numbers come round after 2^32 calls; one whose call is still open is passed over.
                number = (number + 1) & 0xFFFFFFFF
                if number not in self._calls:
                    break
            self._next_call = number
            self._calls[number] = receive
        return number

    def forget_call(self, number):
        self._calls.pop(number, None)

    def call(self, method, arguments):
        """Asks the server for something and waits. Raises TritonModelException with its text when it refuses."""
        answered = threading.Event()
        answer = []

        def receive(reader):
            answer.append((reader.u8(), reader.text()))
            answered.set()

        number = self.open_call(receive)
        writer = Writer(wire.CALL)
        writer.u32(number)
        writer.text(method)
        writer.text(json.dumps(arguments))
        try:
            self.send(writer)
        except BaseException:
            self.forget_call(number)
            raise
        answered.wait()
        ok, text = answer[0]
        if not ok:
            raise TritonModelException(text)
        return json.loads(text)

    def notify(self, method, arguments):
        """Sends the server a message that has no response."""
        writer = Writer(wire.NOTIFY)
        writer.text(method)
        writer.text(json.dumps(arguments))
        self.send(writer)

    def _send_releases(self):
        """Names released regions in a frame of their own when they are many and no other frame does."""
        while True:
            self.inputs.wait_for_much()
            released = self.inputs.take_released()
            if released:
                writer = Writer(wire.RELEASED)
                writer.u64s(released)
                self.send(writer)

    def _read_pipe(self):
        with os.fdopen(self._pipe, "rb", buffering=65536, closefd=False) as stream:
            while True:
                head = stream.read(4)
                if len(head) < 4:
                    leave()
                try:
                    data = bytearray(self._check_size(U32.unpack(head)[0]))
                    if stream.readinto(data) < len(data):
                        leave()
                    self._handle(Reader(data))
                except BaseException:
                    # Without this thread calls would wait for ever: the server starts the process again.
                    traceback.print_exc()
                    leave(1)

    def _handle(self, reader):
        kind = reader.u8()
        if kind == wire.CANCELLED:
            self.on_cancelled(reader.u32())
        elif kind == wire.CALL_RESULT:
            receive = self._calls.pop(reader.u32(), None)
            if receive is not None:
                receive(reader)
        elif kind == wire.BLS_RESPONSE:
            receive = self._calls.get(reader.u32())
            if receive is not None:
                receive(reader)
        elif kind == wire.ACKNOWLEDGE:
            self.outputs.release(reader.u64s())
            if reader.u8():
                self.outputs.trim()
        elif kind == wire.CHECK_READY:
            self.on_check_ready(reader.u32())
        elif kind == wire.GO_ON:
            self.on_go_on(reader.u32())
        else:
            raise FrameError("the server sent a frame of the unknown kind %d on the pipe" % kind)


def leave(status=0):
    """Ends the process at once: the server is gone, or wants this."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status)
