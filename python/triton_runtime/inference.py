"""Requests and responses as models see them, and calls into other models."""

import asyncio
import json
import queue
import struct
import threading
import weakref

from . import wire
from .arguments import integer_of, text_of
from .errors import ErrorCode, TritonError, TritonModelException, bind, no_constructor, wrong_arguments
from .tensor import Tensor, read_tensor
from .traceback_text import traceback_text
from .wire import Writer

FINAL = 1

# A frame counts outputs and parameters in 16 bits.
MOST_OUTPUTS = MOST_PARAMETERS = 0xFFFF

_INT64 = (-(1 << 63), (1 << 63) - 1)
_UINT32 = (0, (1 << 32) - 1)
_UINT64 = (0, (1 << 64) - 1)

# Key, flags, timeout, whether the correlation id is a text.
_HEAD = struct.Struct("<IIQB")

_CODES = {code.value: code for code in ErrorCode}


class PreferredMemory:
    """Where a model called would best put its outputs. Everything is in the memory of the CPU here."""

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self._type = preferred_memory_type
        self._device = preferred_device_id


class InferenceTrace:
    """Trace of a request; passed on to a call of another model, that call gets a trace below this one."""

    def __init__(self, context=None, key=None):
        self._context = context
        # Key of the request whose trace it is; None where nothing is traced.
        self._key = key

    def get_context(self):
        return self._context


class InferenceResponse:
    """Output tensors, or an error."""

    _SIGNATURE = (
        "c_python_backend_utils.InferenceResponse(output_tensors: List[c_python_backend_utils.Tensor] = [], "
        "error: c_python_backend_utils.TritonError = None, parameters: object = None)"
    )

    def __init__(self, *args, **kwargs):
        tensors, error, parameters = bind(
            self._SIGNATURE,
            ("output_tensors", "error", "parameters"),
            {"output_tensors": (), "error": None, "parameters": None},
            args,
            kwargs,
        )
        if not isinstance(tensors, (list, tuple)) or not (error is None or isinstance(error, TritonError)):
            raise wrong_arguments(self._SIGNATURE, args, kwargs)
        for tensor in tensors:
            if tensor is None:
                raise TritonModelException("Output tensor for inference response should not be empty.")
            if not isinstance(tensor, Tensor):
                raise wrong_arguments(self._SIGNATURE, args, kwargs)
        self._tensors = list(tensors)
        self._error = error
        self._parameters = parameters_json(parameters)

    def output_tensors(self):
        return list(self._tensors)

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters

    def _write(self, writer, memories, wanted, moving=False):
        """Writes the response with those of its outputs that were asked for, as they are now.

        A response that cannot be written (text without a UTF-8 form, an element whose text fails, too many outputs) is an
        error response instead.
        """
        error = self._error
        if error is None:
            mark = writer.mark()
            try:
                self._write_outputs(writer, memories, wanted, moving)
                return
            except BaseException as reason:
                writer.back_to(mark, memories[1])
                error = TritonError("The response cannot be sent: " + traceback_text(reason))
                # The frames hold the tensors.
                reason.__traceback__ = None
        writer.u8(1)
        writer.u8(error._code.value)
        writer.text(error._message)

    def _write_outputs(self, writer, memories, wanted, moving):
        writer.u8(0)
        write_parameters(writer, self._parameters)
        tensors = [tensor for tensor in self._tensors if tensor._name in wanted]
        if len(tensors) > MOST_OUTPUTS:
            raise TritonModelException("a response has at most %d outputs, not %d" % (MOST_OUTPUTS, len(tensors)))
        writer.u16(len(tensors))
        for tensor in tensors:
            tensor._write(writer, memories, moving)

    @staticmethod
    def _read(reader, memory):
        response = InferenceResponse.__new__(InferenceResponse)
        response._tensors = []
        response._error = None
        response._parameters = "{}"
        if reader.u8():
            code = _CODES[reader.u8()]
            response._error = TritonError(reader.text(), code)
            return response
        response._parameters = reader.text() or "{}"
        response._tensors = [read_tensor(reader, memory) for _ in range(reader.u16())]
        return response


def parameters_json(parameters):
    """Parameters given as a dictionary, as JSON text. Raises TritonModelException for other types."""
    if parameters is None:
        return "{}"
    if not isinstance(parameters, dict):
        raise TritonModelException("Expect parameters to be a dictionary, found type %s" % type(parameters))
    checked = {}
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException("Expect parameters keys to have type str, found type %s" % type(key))
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException("Expect parameters values to have type bool/int/str, found type %s" % type(value))
        if text_of(key) is None or (isinstance(value, str) and text_of(value) is None):
            raise TritonModelException("Parameter %a: %a has no UTF-8 form." % (key, value))
        if not isinstance(value, (bool, str)) and not _INT64[0] <= value <= _INT64[1]:
            raise TritonModelException(
                "Parameter %a: the value is beyond 64 bits; integers go from -2^63 to 2^63 - 1." % key
            )
        checked[key] = value
    return json.dumps(checked)


def write_parameters(writer, text):
    """Writes parameters that are given as JSON text."""
    if text == "{}":
        writer.u16(0)
        return
    parameters = json.loads(text)
    if len(parameters) > MOST_PARAMETERS:
        raise TritonModelException("there are at most %d parameters, not %d" % (MOST_PARAMETERS, len(parameters)))
    writer.u16(len(parameters))
    for key, value in parameters.items():
        writer.text(key)
        if isinstance(value, bool):
            writer.u8(wire.BOOLEAN)
            writer.u8(1 if value else 0)
        elif isinstance(value, str):
            writer.u8(wire.STRING)
            writer.text(value)
        elif isinstance(value, float):
            writer.u8(wire.DOUBLE)
            writer.raw(wire.F64.pack(value))
        elif value > _INT64[1]:
            writer.u8(wire.UNSIGNED)
            writer.u64(value)
        else:
            writer.u8(wire.INTEGER)
            writer.i64(value)


class InferenceResponseSender:
    """Sends the responses of one request."""

    __slots__ = ("_state",)

    def __init__(self, *args, **kwargs):
        raise no_constructor("InferenceResponseSender")

    @classmethod
    def _of(cls, state):
        sender = cls.__new__(cls)
        sender._state = state
        return sender

    def send(self, response=None, flags=0):
        number = integer_of(flags, *_UINT32)
        if not (response is None or isinstance(response, InferenceResponse)) or number is None:
            raise wrong_arguments(
                "c_python_backend_utils.InferenceResponseSender.send(self, "
                "response: c_python_backend_utils.InferenceResponse = None, flags: int = 0) -> None",
                (response,),
                {"flags": flags},
                function="send",
                constructor=False,
            )
        self._state.send(response, number)

    def is_cancelled(self):
        return self._state.cancelled


class RequestState:
    """What is known of a request's responses. It outlives the request object as long as a sender exists."""

    __slots__ = ("channel", "key", "decoupled", "wanted", "cancelled", "closed", "sent", "table", "gate", "__weakref__")

    def __init__(self, channel, key, decoupled, wanted, table):
        self.channel = channel
        self.key = key
        self.decoupled = decoupled
        self.wanted = wanted
        self.cancelled = False
        self.closed = False
        self.sent = 0
        self.table = table
        # Opened once for every response that the receiver has room for; None where it takes them all.
        self.gate = None
        table[key] = weakref.ref(self)

    def count(self, response, flags):
        """Takes note of a response that is about to be sent; raises when it must not be."""
        if not self.decoupled:
            if response is not None and self.sent > 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send more than one response."
                )
            if response is None and flags == FINAL and self.sent == 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send complete final before sending a response."
                )
        if self.closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        if flags == FINAL:
            self.closed = True
        if response is not None:
            self.sent += 1

    @property
    def answered(self):
        """True when nothing more has to come."""
        return self.closed or (not self.decoupled and self.sent > 0)

    def send(self, response, flags):
        if flags not in (0, FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if flags == 0 and response is None:
            raise TritonModelException(
                "Inference Response object must be provided when the response flags is set to zero."
            )
        already = self.answered
        self.count(response, flags)
        if already:
            return
        self._frame(response, self.answered)

    def _frame(self, response, final):
        channel = self.channel
        released = channel.inputs.take_released()
        writer = self._written(response, final, released)
        try:
            channel.send(writer)
        except TritonModelException as reason:
            # The frame is longer than frames may be.
            channel.outputs.release(writer.regions)
            error = TritonError("The response cannot be sent: %s" % reason)
            channel.send(self._written(InferenceResponse(error=error), final, released))
        if self.gate is not None and not final:
            self.gate.acquire()

    def _written(self, response, final, released):
        channel = self.channel
        writer = Writer(wire.SEND)
        writer.u32(self.key)
        writer.u8(1 if final else 0)
        writer.u64s(released)
        writer.u8(0 if response is None else 1)
        if response is not None:
            response._write(writer, channel.memories, self.wanted)
        return writer

    def __del__(self):
        # A key comes round after 2^32 requests: another request may have it by now.
        reference = self.table.get(self.key)
        if reference is not None and reference() is None:
            self.table.pop(self.key, None)
        # Nobody can answer the request any more.
        if not self.answered:
            self.closed = True
            error = TritonError("the model dropped the request without a response")
            self._frame(InferenceResponse(error=error), True)


class InferenceRequest:
    """A request: received by execute, or made to call another model."""

    _SIGNATURE = (
        "c_python_backend_utils.InferenceRequest(request_id: str = '', correlation_id: object = 0, "
        "inputs: List[c_python_backend_utils.Tensor], requested_output_names: List[str], model_name: str, "
        "model_version: int = -1, flags: int = 0, timeout: int = 0, "
        "preferred_memory: c_python_backend_utils.PreferredMemory = None, "
        "trace: c_python_backend_utils.InferenceTrace = None, parameters: object = None)"
    )
    _NAMES = (
        "request_id",
        "correlation_id",
        "inputs",
        "requested_output_names",
        "model_name",
        "model_version",
        "flags",
        "timeout",
        "preferred_memory",
        "trace",
        "parameters",
    )
    _DEFAULTS = {
        "request_id": "",
        "correlation_id": 0,
        "model_version": -1,
        "flags": 0,
        "timeout": 0,
        "preferred_memory": None,
        "trace": None,
        "parameters": None,
    }

    # Set when the process starts: how calls reach the server, and whether they may.
    _channel = None
    _may_call = False

    def __init__(self, *args, **kwargs):
        values = bind(self._SIGNATURE, self._NAMES, self._DEFAULTS, args, kwargs)
        request_id, correlation_id, inputs, outputs, model, version, flags, timeout, _memory, trace, parameters = values
        request_id, model = text_of(request_id), text_of(model)
        version = integer_of(version, *_INT64)
        flags = integer_of(flags, *_UINT32)
        timeout = integer_of(timeout, *_UINT64)
        fits = (
            None not in (request_id, model, version, flags, timeout)
            and isinstance(inputs, (list, tuple))
            and isinstance(outputs, (list, tuple))
            and all(item is None or isinstance(item, Tensor) for item in inputs)
        )
        names = [text_of(item) for item in outputs] if fits else ()
        if not fits or None in names:
            raise wrong_arguments(self._SIGNATURE, args, kwargs)
        if any(item is None for item in inputs):
            raise TritonModelException(
                "Input tensor for request with id '%s' and model name '%s' should not be empty." % (request_id, model)
            )
        if not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        if isinstance(correlation_id, str):
            if text_of(correlation_id) is None:
                raise RuntimeError("The correlation ID %a has no UTF-8 form." % correlation_id)
        elif not _UINT64[0] <= correlation_id <= _UINT64[1]:
            raise RuntimeError("A correlation ID goes from 0 to 2^64 - 1, not %d." % correlation_id)
        self._id = request_id
        self._correlation_id = correlation_id
        self._inputs = list(inputs)
        self._outputs = set(names)
        self._model = model
        self._version = version
        self._flags = flags
        self._timeout = timeout
        self._parameters = parameters_json(parameters)
        self._trace = trace if trace is not None else InferenceTrace()
        self._state = None
        self._release = 1

    @classmethod
    def _read(cls, reader, channel, decoupled, table):
        request = cls.__new__(cls)
        key, request._flags, request._timeout, texts = reader.unpack(_HEAD)
        request._correlation_id = reader.text() if texts else reader.u64()
        request._id = reader.text()
        request._parameters = reader.text() or "{}"
        request._outputs = {reader.text() for _ in range(reader.u16())}
        state = reader.u8()
        traced = InferenceTrace(reader.text() or None, key) if state & 2 else InferenceTrace()
        request._inputs = [read_tensor(reader, channel.inputs) for _ in range(reader.u16())]
        request._model = ""
        request._version = -1
        request._trace = traced
        request._release = 1
        request._state = RequestState(channel, key, decoupled, request._outputs, table)
        request._state.cancelled = state & 1 == 1
        if state & 4:
            request._state.gate = threading.Semaphore(0)
        return request

    def inputs(self):
        return list(self._inputs)

    def request_id(self):
        return self._id

    def correlation_id(self):
        return self._correlation_id

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        number = integer_of(flags, *_UINT32)
        if number is None:
            signature = "(self: c_python_backend_utils.InferenceRequest, flags: int) -> None"
            raise wrong_arguments(signature, (self, flags), {}, function="set_flags", constructor=False)
        self._flags = number

    def timeout(self):
        return self._timeout

    def parameters(self):
        return self._parameters

    def requested_output_names(self):
        return set(self._outputs)

    def trace(self):
        return self._trace

    def is_cancelled(self):
        return self._state is not None and self._state.cancelled

    def get_response_sender(self):
        if self._state is None:
            raise TritonModelException("A response sender exists only for requests that execute received.")
        return InferenceResponseSender._of(self._state)

    def set_release_flags(self, flags):
        if flags not in (1, 2):
            raise TritonModelException("Unable to set release flags. Unsupported flag provided: %s" % flags)
        self._release = flags

    def exec(self, decoupled=False):
        call = _Call(self, decoupled)
        call.start()
        return call.responses() if decoupled else call.response()

    async def async_exec(self, decoupled=False):
        call = _Call(self, decoupled, asyncio.get_running_loop())
        call.start()
        await call.first
        return call.responses() if decoupled else call.response()

    def stream_exec(self):
        return self.exec(decoupled=True)


class _Call:
    """One call into another model."""

    def __init__(self, request, decoupled, loop=None):
        self._request = request
        self._channel = InferenceRequest._channel
        self._decoupled = decoupled
        self._queue = queue.SimpleQueue()
        self._loop = loop
        self.first = None if loop is None else loop.create_future()
        self._number = 0

    def start(self):
        if not InferenceRequest._may_call:
            raise TritonModelException("BLS is only supported during the 'execute' function.")
        channel = self._channel
        channel.check_own_process()
        self._number = channel.open_call(self._receive)
        writer = Writer(wire.BLS)
        mark = writer.mark()
        released = channel.inputs.take_released()
        try:
            self._write(writer, released)
            channel.send(writer)
        except BaseException:
            # The model gets the exception instead of a response.
            channel.forget_call(self._number)
            channel.inputs.release_again(released)
            writer.back_to(mark, channel.outputs)
            raise

    def _write(self, writer, released):
        request, channel = self._request, self._channel
        if max(len(request._outputs), len(request._inputs)) > MOST_OUTPUTS:
            raise TritonModelException("A request has at most %d inputs and outputs." % MOST_OUTPUTS)
        writer.u32(self._number)
        writer.u8(1 if self._decoupled else 0)
        writer.u64s(released)
        writer.text(request._model)
        writer.i64(request._version)
        writer.text(request._id)
        if isinstance(request._correlation_id, str):
            writer.u8(1)
            writer.text(request._correlation_id)
        else:
            writer.u8(0)
            writer.u64(request._correlation_id)
        writer.u32(request._flags)
        writer.u64(request._timeout)
        write_parameters(writer, request._parameters)
        writer.u16(len(request._outputs))
        for name in sorted(request._outputs):
            writer.text(name)
        writer.u16(len(request._inputs))
        for tensor in request._inputs:
            tensor._write(writer, channel.memories)
        parent = request._trace._key
        writer.u8(0 if parent is None else 1)
        if parent is not None:
            writer.u32(parent)

    def cancel(self):
        writer = Writer(wire.BLS_CANCEL)
        writer.u32(self._number)
        self._channel.send(writer)

    def response(self):
        item = self.next()
        return item[0] if item[0] is not None else _failed("Unexpected empty response.")

    def responses(self):
        return ResponseIterator._of(self)

    def next(self):
        """The next response (or None) and whether it is the last one."""
        return self._queue.get()

    def _receive(self, reader):
        final = reader.u8() == 1
        response = InferenceResponse._read(reader, self._channel.inputs) if reader.u8() else None
        if final:
            self._channel.forget_call(self._number)
        self._queue.put((response, final))
        if self._loop is not None:
            loop, self._loop = self._loop, None
            try:
                loop.call_soon_threadsafe(_resolve, self.first)
            except RuntimeError:
                pass  # the loop was closed meanwhile: nobody waits


def _resolve(future):
    if not future.done():
        future.set_result(None)


def _failed(text):
    return InferenceResponse(error=TritonError(text))


class ResponseIterator:
    """Responses of a call in the order in which they come. Can be gone through again: it keeps them."""

    def __init__(self, *args, **kwargs):
        raise no_constructor("ResponseIterator")

    @classmethod
    def _of(cls, call):
        iterator = cls.__new__(cls)
        iterator._call = call
        iterator._kept = []
        iterator._at = 0
        iterator._complete = False
        return iterator

    def __iter__(self):
        self._at = 0
        return self

    def __next__(self):
        if self._at < len(self._kept):
            response = self._kept[self._at]
        elif self._complete:
            raise StopIteration("Iteration is done for the responses.")
        else:
            response, self._complete = self._call.next()
            if response is None:
                response = InferenceResponse([])
            self._kept.append(response)
        self._at += 1
        return response

    def cancel(self):
        if not self._complete:
            self._call.cancel()
