"""The server's log, for models."""

import enum
import sys

from . import wire
from .arguments import text_of
from .errors import wrong_arguments
from .wire import Writer


class LogLevel(enum.IntEnum):
    INFO = 0
    WARNING = 1
    ERROR = 2
    VERBOSE = 3


class Logger:
    """Writes records with the caller's file and line. The server's settings decide which of them are shown."""

    LogLevel = LogLevel
    INFO = LogLevel.INFO
    WARNING = LogLevel.WARNING
    ERROR = LogLevel.ERROR
    VERBOSE = LogLevel.VERBOSE

    _channel = None

    @staticmethod
    def log(message, level=LogLevel.INFO):
        text = text_of(message)
        if text is None or not isinstance(level, LogLevel):
            signature = "(message: str, level: c_python_backend_utils.Logger.LogLevel = <LogLevel.INFO: 0>) -> None"
            raise wrong_arguments(signature, (message, level), {}, function="log", constructor=False)
        _record("log", text, level)

    @staticmethod
    def log_info(message):
        _record("log_info", message, LogLevel.INFO)

    @staticmethod
    def log_warn(message):
        _record("log_warn", message, LogLevel.WARNING)

    @staticmethod
    def log_error(message):
        _record("log_error", message, LogLevel.ERROR)

    @staticmethod
    def log_verbose(message):
        _record("log_verbose", message, LogLevel.VERBOSE)


def _record(function, message, level):
    text = text_of(message)
    if text is None:
        raise wrong_arguments("(message: str) -> None", (message,), {}, function=function, constructor=False)
    frame = sys._getframe(2)
    record(text, level, frame.f_code.co_filename, frame.f_lineno)


def record(message, level, file, line):
    """Sends a record to the server."""
    channel = Logger._channel
    if channel is None:
        return
    if channel.forked:
        print("%s:%d] %s" % (file, line, message), file=sys.stderr, flush=True)
        return
    writer = Writer(wire.LOG)
    writer.u8(int(level))
    writer.text(file)
    writer.u32(line)
    writer.text(message)
    channel.send(writer)
