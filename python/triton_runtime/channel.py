"""The connection to the server: frames in and out, answers to calls."""

import json
import os
import socket
import sys
import threading
import traceback

from . import wire
from .errors import TritonModelException
from .memory import InputMemory, OutputMemory
from .wire import U32, Reader, Writer


class Channel:
    """Batches come on the socket, to the main thread; everything else comes through the pipe, to a thread of its own."""

    def __init__(self):
        self._socket = socket.socket(fileno=3)
        self._pipe = 4
        self._buffer = bytearray(65536)
        self._start = self._end = 0
        self.inputs = InputMemory(5)
        self.outputs = OutputMemory(6)
        self.memories = (self.inputs, self.outputs)
        # Re-entrant: an object that the garbage collector ends while a frame is being sent may send one of its own.
        self._lock = threading.RLock()
        self._calls = {}
        self._next_call = 0
        self._numbers = threading.Lock()
        self._closed = False
        self.on_cancelled = lambda key: None
        self.on_check_ready = lambda number: None
        self.on_go_on = lambda key: None

    def start_reader(self):
        threading.Thread(target=self._read_pipe, name="triton-reader", daemon=True).start()

    def receive(self):
        """The next frame of the socket; ends the process when the server is gone."""
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
        (size,) = U32.unpack_from(have)
        data = bytearray(size)
        rest = have[4:]
        data[: len(rest)] = rest
        return Reader(self._take(data, len(rest)))

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
        parts = writer.parts
        parts.insert(0, U32.pack(writer.size))
        with self._lock:
            if self._closed:
                return
            try:
                if writer.size < 262144:
                    self._socket.sendall(b"".join(parts))
                else:
                    self._send_large(parts)
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
        """Registers who gets the answers to a call; returns the call's number."""
        with self._numbers:
            self._next_call = (self._next_call + 1) & 0xFFFFFFFF
            number = self._next_call
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
        self.send(writer)
        answered.wait()
        ok, text = answer[0]
        if not ok:
            raise TritonModelException(text)
        return json.loads(text)

    def notify(self, method, arguments):
        """Tells the server something that has no answer."""
        writer = Writer(wire.NOTIFY)
        writer.text(method)
        writer.text(json.dumps(arguments))
        self.send(writer)

    def _read_pipe(self):
        with os.fdopen(self._pipe, "rb", buffering=65536, closefd=False) as stream:
            while True:
                head = stream.read(4)
                if len(head) < 4:
                    leave()
                size = U32.unpack(head)[0]
                data = bytearray(size)
                if stream.readinto(data) < size:
                    leave()
                try:
                    self._handle(Reader(data))
                except BaseException:
                    # Without this thread calls would wait for ever: the server starts the process again.
                    traceback.print_exc()
                    os._exit(1)

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
            self.outputs.acknowledge(reader.u64())
            if reader.u8():
                self.outputs.trim()
        elif kind == wire.CHECK_READY:
            self.on_check_ready(reader.u32())
        elif kind == wire.GO_ON:
            self.on_go_on(reader.u32())


def leave():
    """Ends the process at once: the server is gone, or wants this."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(0)
