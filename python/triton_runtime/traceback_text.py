"""Exceptions as text: type, message, and the frames with the innermost first."""

import os

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def traceback_text(error):
    """The text of an exception for logs and clients. Frames of this runtime are left out, as they are no Python there."""
    failure = ""
    try:
        message = str(error) or "<EMPTY MESSAGE>"
        # What has no UTF-8 form, as lone surrogates, shows as an escape.
        message = message.encode("utf-8", "backslashreplace").decode()
    except BaseException as reason:
        message = "<MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>"
        # An error whose text fails in the text of another one could go on for ever.
        why = traceback_text(reason) if type(reason) is not type(error) else type(reason).__name__
        failure = "\n\nMESSAGE UNAVAILABLE DUE TO EXCEPTION: " + why
    return _with_frames("%s: %s" % (type(error).__name__, message), error) + failure


def _with_frames(text, error):
    trace = error.__traceback__
    if trace is None or (isinstance(error, SyntaxError) and _is_ours(_innermost(trace))):
        return text
    lines = []
    frame = _innermost(trace)
    inside = False
    while frame is not None:
        if not _is_ours(frame):
            inside = True
            code = frame.f_code
            lines.append("  %s(%d): %s\n" % (code.co_filename, _line(frame, trace), code.co_name))
        elif inside:
            break
        frame = frame.f_back
    if not lines or all("<frozen importlib" in line for line in lines):
        return text
    return "%s\n\nAt:\n%s" % (text, "".join(lines))


def _innermost(trace):
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame


def _line(frame, trace):
    """Line of the call in a frame; the traceback knows it better than a frame that ran on."""
    line = frame.f_lineno
    while trace is not None:
        if trace.tb_frame is frame:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line if line is not None else 0


def _is_ours(frame):
    return frame.f_code.co_filename.startswith(_HERE) or frame.f_code.co_filename.endswith("run_model.py")
