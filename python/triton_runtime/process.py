"""One instance of a model: loads it, runs what the server sends, ends."""

import asyncio
import json
import os
import struct
import sys
import threading
import types

from . import wire
from .errors import ContractError, TritonModelException
from .inference import FINAL, InferenceRequest, InferenceResponse
from .tensor import settle_moves
from .traceback_text import traceback_text
from .wire import FrameError, Writer

# Number of the batch, number of requests.
_BATCH = struct.Struct("<IH")


class Process:
    """One instance of a model."""

    def __init__(self, channel, settings, folder):
        self._channel = channel
        self._settings = settings
        self._folder = folder
        self._decoupled = settings["decoupled"]
        self._model = None
        # Requests whose responses are open, by key, without keeping them.
        self._table = {}
        # Keys of cancelled requests that have not been read from the socket, and the last key that has.
        self._cancelled_early = set()
        self._last_key = -1
        self._loop = None
        self._background = set()
        self._read_request = InferenceRequest._read

    def run(self):
        from . import control
        from .logger import Logger
        from .metrics import MetricFamily

        channel = self._channel
        InferenceRequest._channel = channel
        Logger._channel = channel
        MetricFamily._channel = channel
        control._channel = channel
        channel.on_cancelled = self._cancelled
        channel.on_check_ready = self._check_ready
        channel.on_go_on = self._go_on
        channel.start_reader()
        if self._settings["mode"] == "complete":
            self._attempt(self._complete)
            self._end()
            return
        if not self._attempt(self._initialize):
            self._end()
            return
        InferenceRequest._may_call = True
        self._serve()
        InferenceRequest._may_call = False
        self._finalize()
        self._end()

    def _end(self):
        """Leaves without waiting for threads that the model left behind."""
        self._channel.close()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os._exit(0)

    def _serve(self):
        channel = self._channel
        while True:
            reader = channel.receive()
            kind = reader.u8()
            if kind == wire.EXECUTE:
                self._execute(reader)
            elif kind == wire.FINALIZE:
                return
            else:
                raise FrameError("the server sent a frame of the unknown kind %d" % kind)

    def _attempt(self, step):
        """Runs a step of the start; reports to the server why it failed. True when it did not."""
        try:
            step()
            return True
        except ContractError as error:
            text = str(error)
        except BaseException as error:
            text = traceback_text(error)
        writer = Writer(wire.FAILED)
        writer.text(text)
        self._channel.send(writer)
        return False

    def _import(self):
        import triton_python_backend_utils as pb_utils

        settings = self._settings
        # Behind everything else: the version's directory, the model's, the runtime's.
        if self._folder in sys.path:
            sys.path.remove(self._folder)
        sys.path.extend((*settings["search_path"], self._folder))
        pb_utils._model_directory = settings["version_directory"]
        # The built-in function calls importlib without frames of its own.
        module = __import__(settings["module"], None, None, ["TritonPythonModel"])
        return getattr(module, "TritonPythonModel")

    def _complete(self):
        import triton_python_backend_utils as pb_utils

        model = self._import()
        writer = Writer(wire.COMPLETED)
        if hasattr(model, "auto_complete_config"):
            config = pb_utils.ModelConfig(json.loads(self._settings["model_config"]))
            completed = model.auto_complete_config(config)
            if not isinstance(completed, pb_utils.ModelConfig):
                raise ContractError(
                    "auto_complete_config function in model '%s' must return a valid pb.ModelConfig object."
                    % self._settings["model_name"]
                )
            writer.text(json.dumps(completed._model_config))
        else:
            writer.text("")
        self._channel.send(writer)

    def _initialize(self):
        model = self._import()()
        if hasattr(model, "initialize"):
            model.initialize(self._settings["arguments"])
        self._model = model
        writer = Writer(wire.READY)
        writer.u8(1 if hasattr(model, "is_ready") else 0)
        self._channel.send(writer)

    def _finalize(self):
        from .logger import LogLevel, record

        try:
            if hasattr(self._model, "finalize"):
                self._model.finalize()
        except BaseException as error:
            record(traceback_text(error), LogLevel.INFO, __file__, 0)
        self._channel.send(Writer(wire.FINALIZED))

    def _execute(self, reader):
        channel = self._channel
        batch, count = reader.unpack(_BATCH)
        read_by_server = reader.u64s()
        if read_by_server:
            channel.outputs.release(read_by_server)
        read = self._read_request
        requests = [read(reader, channel, self._decoupled, self._table) for _ in range(count)]
        del reader
        states = [request._state for request in requests]
        if states:
            self._last_key = states[-1].key
            if self._cancelled_early:
                self._cancel_early(states)
        failure, outcome = self._outcome(requests, states)
        writer = self._done(batch, failure, states, outcome)
        # What the model does not keep goes now, so that its regions can be named as free in the same frame; requests
        # that nobody can answer any more are answered by the ends of their states.
        del requests, outcome
        del states
        released = list(channel.inputs.take_released())
        released += settle_moves(writer, channel.memories)
        writer.u64s(released)
        try:
            channel.send(writer)
        except TritonModelException as reason:
            # The frame is longer than frames may be: its requests fail, and the next ones are served.
            channel.outputs.release(writer.regions)
            writer = self._done(batch, str(reason), (), None)
            writer.u64s(released)
            channel.send(writer)

    def _done(self, batch, failure, states, outcome):
        """The frame that ends a batch, but for the regions that are released."""
        writer = Writer(wire.DONE)
        writer.u32(batch)
        if failure is not None:
            for state in states:
                state.closed = True
            writer.u8(1)
            writer.text(failure)
            return writer
        writer.u8(0)
        for state, what, response in outcome:
            writer.u8(what)
            if what == wire.RESPONSE:
                response._write(writer, self._channel.memories, state.wanted, moving=True)
        return writer

    def _outcome(self, requests, states):
        """Runs execute: the text of what went wrong or None, and for each request what became of it."""
        try:
            return None, self._judge(self._run(requests), requests, states)
        except ContractError as error:
            return str(error), None
        except BaseException as error:
            text = traceback_text(error)
            # The frames hold the requests.
            error.__traceback__ = None
            return text, None

    def _run(self, requests):
        execute = getattr(self._model, "execute", None)
        if execute is None:
            raise ContractError("Python model %s does not implement `execute` method." % self._settings["model_file"])
        result = execute(list(requests))
        if not isinstance(result, types.CoroutineType):
            return result
        future = asyncio.run_coroutine_threadsafe(result, self._event_loop())
        if not self._decoupled:
            return future.result()
        self._background.add(future)
        future.add_done_callback(self._background_done)
        return None

    def _background_done(self, future):
        from .logger import LogLevel, record

        self._background.discard(future)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            record(traceback_text(error), LogLevel.ERROR, __file__, 0)
            error.__traceback__ = None

    def _event_loop(self):
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="triton-event-loop", daemon=True).start()
        return self._loop

    def _judge(self, result, requests, states):
        """Checks what execute returned."""
        if result is None:
            return [self._unreturned(request, state) for request, state in zip(requests, states)]
        if self._decoupled:
            raise ContractError(
                "Python model '%s' is using the decoupled mode and the execute function must return None."
                % self._settings["instance"]
            )
        if not isinstance(result, list):
            raise ContractError("Expected a list in the execute return, found type '%s'." % type(result))
        if len(result) != len(requests):
            raise ContractError(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                "InferenceRequest(s) size is:%d, and InferenceResponse(s) size is:%d\n" % (len(requests), len(result))
            )
        for request, response in zip(requests, result):
            if type(response) is InferenceResponse and request._release != 2:
                continue
            if request._release == 2:
                if response is not None:
                    raise ContractError(
                        "Expected a None object in the execute function return list for reschduled request, "
                        "found type '%s'." % type(response)
                    )
            elif response is not None and not isinstance(response, InferenceResponse):
                raise ContractError(
                    "Expected an 'InferenceResponse' object in the execute function return list, found type '%s'."
                    % type(response)
                )
        outcome = []
        for request, state, response in zip(requests, states, result):
            if response is None:
                outcome.append(self._unreturned(request, state))
            else:
                state.count(response, FINAL)
                outcome.append((state, wire.RESPONSE, response))
        return outcome

    def _unreturned(self, request, state):
        """What becomes of a request for which execute returned nothing."""
        if state.answered:
            return state, wire.CLOSED, None
        if request._release == 2:
            state.closed = True
            return state, wire.RESCHEDULED, None
        return state, wire.OPEN, None

    def _cancelled(self, key):
        # On the thread of the pipe, which may be ahead of the socket; the second look is for a request read meanwhile.
        if self._mark_cancelled(key) or (key - self._last_key - 1) & 0xFFFFFFFF >= 0x80000000:
            return
        self._cancelled_early.add(key)
        if self._mark_cancelled(key):
            self._cancelled_early.discard(key)

    def _mark_cancelled(self, key):
        reference = self._table.get(key)
        state = None if reference is None else reference()
        if state is not None:
            state.cancelled = True
        return state is not None

    def _go_on(self, key):
        reference = self._table.get(key)
        state = None if reference is None else reference()
        if state is not None and state.gate is not None:
            state.gate.release()

    def _cancel_early(self, states):
        for state in states:
            if state.key in self._cancelled_early:
                self._cancelled_early.discard(state.key)
                state.cancelled = True

    def _check_ready(self, number):
        threading.Thread(target=self._answer_ready, args=(number,), name="triton-ready", daemon=True).start()

    def _answer_ready(self, number):
        ready, text = False, ""
        try:
            answer = self._model.is_ready()
            if asyncio.iscoroutine(answer):
                answer = asyncio.run_coroutine_threadsafe(answer, self._event_loop()).result()
            if isinstance(answer, bool):
                ready = answer
            else:
                text = "is_ready() must return a boolean value"
        except BaseException as error:
            text = traceback_text(error)
        writer = Writer(wire.CHECKED)
        writer.u32(number)
        writer.u8(1 if ready else 0)
        writer.text(text)
        self._channel.send(writer)
