"""Life of the process: set up, load the model, run what the server sends, end."""

import asyncio
import json
import os
import signal
import sys
import threading
import weakref

from . import wire
from .wire import Writer

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def start(folder):
    # The server ends its models itself, in order; a signal to the whole group must not come before that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_with_parent()
    for descriptor in (3, 4, 5, 6):
        os.set_inheritable(descriptor, False)
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        _refuse_without_numpy(error)
        return
    from .channel import Channel

    channel = Channel()
    reader = channel.receive()
    assert reader.u8() == wire.INIT
    settings = json.loads(reader.text())
    Process(channel, settings, folder).run()


def _end_with_parent():
    """Asks Linux to end this process with the server, whatever the model's code is doing then."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(0)


def _refuse_without_numpy(error):
    import socket

    text = (
        "Python models need numpy, and %s cannot import it (%s): install it with '%s -m pip install numpy', or name another "
        "interpreter with --backend-config=python,python-executable=<path> or the environment variable TRITON_PYTHON"
        % (sys.executable, error, sys.executable)
    )
    writer = Writer(wire.FAILED)
    writer.text(text)
    socket.socket(fileno=3).sendall(wire.U32.pack(writer.size) + b"".join(writer.parts))


class Process:
    """One instance of a model."""

    def __init__(self, channel, settings, folder):
        self._channel = channel
        self._settings = settings
        self._folder = folder
        self._decoupled = settings["decoupled"]
        self._model = None
        self._table = weakref.WeakValueDictionary()
        self._loop = None
        self._background = set()

    def run(self):
        from . import control
        from .inference import InferenceRequest
        from .logger import Logger
        from .metrics import MetricFamily

        channel = self._channel
        InferenceRequest._channel = channel
        Logger._channel = channel
        MetricFamily._channel = channel
        control._channel = channel
        channel.on_cancelled = self._cancelled
        channel.on_check_ready = self._check_ready
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

    def _attempt(self, step):
        """Runs a step of the start; tells the server why it failed. True when it did not."""
        from .errors import ContractError
        from .traceback_text import traceback_text

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
        # Behind everything else, in this order: the version's folder, the model's, the runtime's.
        if self._folder in sys.path:
            sys.path.remove(self._folder)
        sys.path.extend((settings["version_directory"], settings["model_directory"], self._folder))
        pb_utils._model_directory = settings["version_directory"]
        # The built-in function calls importlib without frames of its own.
        module = __import__(settings["module"], None, None, ["TritonPythonModel"])
        return getattr(module, "TritonPythonModel")

    def _complete(self):
        import triton_python_backend_utils as pb_utils

        from .errors import ContractError

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
        from .traceback_text import traceback_text

        try:
            if hasattr(self._model, "finalize"):
                self._model.finalize()
        except BaseException as error:
            record(traceback_text(error), LogLevel.INFO, __file__, 0)
        self._channel.send(Writer(wire.FINALIZED))

    def _execute(self, reader):
        from .inference import InferenceRequest

        channel = self._channel
        batch = reader.u32()
        channel.outputs.acknowledge(reader.u64())
        count = reader.u16()
        requests = [InferenceRequest._read(reader, channel, self._decoupled, self._table) for _ in range(count)]
        del reader
        states = [request._state for request in requests]
        failure, outcome = self._outcome(requests, states)
        writer = Writer(wire.DONE)
        writer.u32(batch)
        if failure is not None:
            for state in states:
                state.closed = True
            writer.u8(1)
            writer.text(failure)
        else:
            writer.u8(0)
            for state, what, response in outcome:
                writer.u8(what)
                if what == wire.RESPONSE:
                    response._write(writer, channel.memories, state.wanted)
        # What the model does not keep goes now, so that its regions can be named as free in the same frame; requests
        # that nobody can answer any more are answered by the ends of their states.
        del requests, states, outcome
        state = what = response = None
        writer.u64(channel.outputs.sequence)
        released = channel.inputs.take_released()
        writer.u32(len(released))
        for offset in released:
            writer.u64(offset)
        channel.send(writer)

    def _outcome(self, requests, states):
        """Runs execute: the text of what went wrong or None, and for each request what became of it."""
        from .errors import ContractError
        from .traceback_text import traceback_text

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
        from .errors import ContractError

        execute = getattr(self._model, "execute", None)
        if execute is None:
            raise ContractError("Python model %s does not implement `execute` method." % self._settings["model_file"])
        result = execute(list(requests))
        if not asyncio.iscoroutine(result):
            return result
        future = asyncio.run_coroutine_threadsafe(result, self._event_loop())
        if not self._decoupled:
            return future.result()
        self._background.add(future)
        future.add_done_callback(self._background_done)
        return None

    def _background_done(self, future):
        from .logger import LogLevel, record
        from .traceback_text import traceback_text

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
        from .errors import ContractError
        from .inference import FINAL, InferenceResponse

        if result is None:
            return [(state, wire.CLOSED if state.answered else wire.OPEN, None) for state in states]
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
            if request._release == 2:
                state.closed = True
                outcome.append((state, wire.RESCHEDULED, None))
            elif response is None:
                outcome.append((state, wire.CLOSED if state.answered else wire.OPEN, None))
            else:
                state.count(response, FINAL)
                outcome.append((state, wire.RESPONSE, response))
        return outcome

    def _cancelled(self, key):
        state = self._table.get(key)
        if state is not None:
            state.cancelled = True

    def _check_ready(self, number):
        threading.Thread(target=self._answer_ready, args=(number,), name="triton-ready", daemon=True).start()

    def _answer_ready(self, number):
        from .traceback_text import traceback_text

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
