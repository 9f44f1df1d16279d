"""Imports models, lets them complete their configurations and initialises them, for the checker of repositories.

One line of JSON in for each model, `{"id": n, "seconds": s, "settings": {...}}`; one out, `{"id": n, "kind": k, "text": t,
"assumed": [...]}`, in the order in which they are done. `seconds` is the time that it may take, 0 any; `kind` is that of the
frame which a process of a server would send, 0 when the model ended its process; `assumed` names what the model asked of a
server, which is taken as done here. Each model runs in a fork of this process, which has imported numpy already: that takes a
tenth of the time of a process of its own. The first line out is `{"ready": true}`, or `{"problem": "..."}` when numpy is missing.
"""

import json
import os
import selectors
import signal
import sys
import time

# How often is looked whether a process has ended.
_LOOK_SECONDS = 0.02

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Channel:
    """Takes the frame with the outcome and stands for the server; everything else that a model may say is dropped."""

    forked = False

    def __init__(self, kinds, metrics):
        self._kinds = kinds
        self._metrics = metrics
        self.outcome = None
        # What only a server can do or know, in words.
        self.assumed = []

    def send(self, writer):
        from triton_runtime.wire import READY, Reader

        reader = Reader(b"".join(bytes(part) for part in writer.parts))
        kind = reader.u8()
        if kind in self._kinds:
            self.outcome = (kind, "" if kind == READY else reader.text())

    def notify(self, *_):
        pass

    def call(self, method, arguments):
        if method.startswith("metric"):
            return self._metrics.call(method, arguments)
        words = "%s('%s')" % (method, arguments.get("name", ""))
        if words not in self.assumed:
            self.assumed.append(words)
        return True if method == "is_model_ready" else None


def _run(settings, output):
    """In the fork: one model. What it prints goes where errors go."""
    from triton_runtime import control, wire
    from triton_runtime.inference import InferenceRequest
    from triton_runtime.local_metrics import LocalMetrics
    from triton_runtime.logger import Logger
    from triton_runtime.metrics import MetricFamily
    from triton_runtime.process import Process

    channel = _Channel((wire.COMPLETED, wire.FAILED, wire.READY), LocalMetrics(settings["instance"]))
    for user in (InferenceRequest, Logger, MetricFamily, control):
        user._channel = channel
    process = Process(channel, settings, _HERE)
    serves = settings["mode"] == "serve"
    started = process._attempt(process._initialize if serves else process._complete)
    kind, text = channel.outcome
    with os.fdopen(output, "w", encoding="utf-8", errors="surrogateescape") as stream:
        json.dump({"kind": kind, "text": text, "assumed": channel.assumed}, stream)
    if started and serves:
        process._finalize()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


class _Fork:
    """One model: its process, which leads a group of its own, and the pipe that its outcome comes from."""

    def __init__(self, number, pid, source, seconds):
        self.number = number
        self.source = source
        self._pid = pid
        self._parts = []
        # 0 = any time.
        self._deadline = time.monotonic() + (seconds or float("inf"))
        self._late = False
        self._reaped = False

    def read(self):
        """Takes what has come; False when nothing will follow."""
        while True:
            try:
                chunk = os.read(self.source, 65536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._parts.append(chunk)

    def kill(self):
        """Ends the process and everything that it started."""
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            # Nobody is left, or it has not come to make its group.
            if not self._reaped:
                os.kill(self._pid, signal.SIGKILL)

    def ended(self):
        """True when the process itself has ended, whoever else still holds its pipe. Kills one that takes too long."""
        if not self._late and time.monotonic() > self._deadline:
            self._late = True
            self.kill()
        if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            return False
        self._reaped = True
        self.kill()
        return True

    def outcome(self):
        self.read()
        os.close(self.source)
        try:
            # Complete also where the model was killed later, while it finalised.
            return json.loads(b"".join(self._parts).decode("utf-8", "surrogateescape"))
        except ValueError:
            return {"kind": 0, "text": "late" if self._late else ""}


def _start(line):
    """Forks for one model."""
    request = json.loads(line)
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            os.close(source)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            _run(request["settings"], target)
            status = 0
        finally:
            # Also when a model raises SystemExit or leaves threads behind.
            os._exit(status)
    os.close(target)
    os.set_blocking(source, False)
    return _Fork(request["id"], pid, source, request["seconds"])


def main():
    # The protocol keeps the real output; whatever models print goes to the error stream.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogateescape")
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    if sys.path and os.path.abspath(sys.path[0] or ".") == _HERE:
        del sys.path[0]
    sys.path.append(_HERE)
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        answer({"problem": str(error), "executable": sys.executable})
        return
    import triton_python_backend_utils  # noqa: F401
    from triton_runtime import process  # noqa: F401

    from triton_runtime.signals import keep_running

    # A Ctrl-C ends the program that asks; the end of its pipe then ends this one.
    keep_running()
    answer({"ready": True})
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    waiting = b""
    running = {}
    ended = False
    while running or not ended:
        for key, _ in selector.select(_LOOK_SECONDS if running else None):
            if key.fd != 0:
                if not running[key.fd].read():
                    selector.unregister(key.fd)
                continue
            chunk = os.read(0, 65536)
            if not chunk:
                ended = True
                selector.unregister(0)
                for fork in running.values():
                    fork.kill()
            waiting += chunk
            *lines, waiting = waiting.split(b"\n")
            for line in lines:
                fork = _start(line)
                running[fork.source] = fork
                selector.register(fork.source, selectors.EVENT_READ)
        for fork in [fork for fork in running.values() if fork.ended()]:
            if fork.source in selector.get_map():
                selector.unregister(fork.source)
            del running[fork.source]
            answer({"id": fork.number, **fork.outcome()})


if __name__ == "__main__":
    main()
