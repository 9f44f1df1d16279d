"""Start of the process: signals, the tie to the server, numpy."""

import json
import os
import signal
import sys
import traceback

from . import wire
from .signals import keep_running
from .wire import FrameError, Writer

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def start(folder):
    keep_running()
    _end_with_parent()
    for descriptor in (3, 4, 5, 6):
        os.set_inheritable(descriptor, False)
    # What the model prints shows at once, also when the server's output is a file or a pipe.
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        _refuse_without_numpy(error)
        return
    from .channel import Channel, leave
    from .process import Process

    channel = Channel()
    try:
        reader = channel.receive()
        if reader.u8() != wire.INIT:
            raise FrameError("the first frame of the server is not that of the start")
        settings = json.loads(reader.text())
        channel.limit = settings["max_frame_bytes"]
        Process(channel, settings, folder).run()
    except FrameError as error:
        # Nothing that follows can be read. The server sees the end of the process and fails its requests.
        print("The model's process cannot read what the server sent and ends: %s." % error, file=sys.stderr)
        leave(1)
    except BaseException:
        # At once, as the interpreter would wait for the threads of the model.
        traceback.print_exc()
        leave(1)


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
