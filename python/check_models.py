"""Imports models and lets them complete their configurations, for the checker of repositories.

One line of JSON in for each model, `{"id": n, "settings": {...}}`; one out, `{"id": n, "kind": k, "text": t}`, in the order
in which they are done; `kind` is that of the frame which a process of a server would send, 0 when the model ended its
process. Each model runs in a fork of this process, which has imported numpy already: that takes a tenth of the time of a
process of its own. The first line out is `{"ready": true}`, or `{"problem": "..."}` when numpy is missing.
"""

import json
import os
import selectors
import signal
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Channel:
    """Takes the frame that tells the outcome; everything else that a model may say is dropped."""

    forked = False

    def __init__(self, kinds):
        self._kinds = kinds
        self.outcome = None

    def send(self, writer):
        from triton_runtime.wire import Reader

        reader = Reader(b"".join(bytes(part) for part in writer.parts))
        kind = reader.u8()
        if kind in self._kinds:
            self.outcome = (kind, reader.text())

    def notify(self, *_):
        pass

    def call(self, *_):
        raise RuntimeError("there is no server while a repository is checked")


def _run(settings, output, seconds):
    """In the fork: one model. What it prints goes where errors go."""
    from triton_runtime import control, wire
    from triton_runtime.inference import InferenceRequest
    from triton_runtime.logger import Logger
    from triton_runtime.metrics import MetricFamily
    from triton_runtime.process import Process

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    channel = _Channel((wire.COMPLETED, wire.FAILED))
    for user in (InferenceRequest, Logger, MetricFamily, control):
        user._channel = channel
    process = Process(channel, settings, _HERE)
    process._attempt(process._complete)
    kind, text = channel.outcome
    with os.fdopen(output, "w", encoding="utf-8", errors="surrogateescape") as stream:
        json.dump({"kind": kind, "text": text}, stream)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _start(line, seconds):
    """Forks for one model; returns its number, its process and the pipe that its outcome comes from."""
    request = json.loads(line)
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(source)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            _run(request["settings"], target, seconds)
            status = 0
        finally:
            # Also when a model raises SystemExit or leaves threads behind.
            os._exit(status)
    os.close(target)
    return request["id"], pid, source


def main():
    seconds = int(sys.argv[1])
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

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer({"ready": True})
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    waiting = b""
    running = {}
    ended = False
    while running or not ended:
        for key, _ in selector.select():
            chunk = os.read(key.fd, 65536)
            if key.fd == 0:
                if not chunk:
                    ended = True
                    selector.unregister(0)
                    for _, pid, _ in running.values():
                        os.kill(pid, signal.SIGKILL)
                waiting += chunk
                *lines, waiting = waiting.split(b"\n")
                for line in lines:
                    number, pid, source = _start(line, seconds)
                    running[source] = (number, pid, [])
                    selector.register(source, selectors.EVENT_READ)
                continue
            number, pid, parts = running[key.fd]
            if chunk:
                parts.append(chunk)
                continue
            selector.unregister(key.fd)
            os.close(key.fd)
            del running[key.fd]
            _, status = os.waitpid(pid, 0)
            try:
                outcome = json.loads(b"".join(parts).decode("utf-8", "surrogateescape"))
            except ValueError:
                late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
                outcome = {"kind": 0, "text": "late" if late else ""}
            answer({"id": number, **outcome})


if __name__ == "__main__":
    main()
