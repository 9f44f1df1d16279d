"""Signals of a model's process."""

import os
import signal
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_forking = threading.local()


def keep_running():
    """Keeps this process running on SIGINT and SIGTERM: the server ends its models itself, in order.

    A handler and not SIG_IGN, which programs that the model starts would inherit: `terminate()` on them had no effect then.
    """
    for number in _SIGNALS:
        signal.signal(number, _stay)
        signal.siginterrupt(number, False)
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_reset)


def _stay(number, frame):
    pass


def _hold():
    """Signals to a fork wait until it has the handlers that it should have."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _release():
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _reset():
    """In a fork: signals do again what they do in any Python program, unless the model has handlers of its own."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    for number, default in defaults.items():
        if signal.getsignal(number) is _stay:
            signal.signal(number, default)
    _release()
