"""Loading and unloading models from inside a model."""

import base64

from .arguments import text_of
from .errors import TritonModelException, wrong_arguments

_channel = None


def load_model(model_name: str, config: str = "", files: object = None) -> None:
    """Loads a model, with a configuration (JSON) and files (`file:<path>` -> bytes) of its own where given."""
    model_name, config = _texts("load_model", model_name, config)
    if files is not None and not isinstance(files, dict):
        text = "failed to load model '%s', files should be a dictionary of file paths and file contents" % model_name
        raise TritonModelException(text)
    contents = {}
    for path, content in (files or {}).items():
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        contents[_texts("load_model", path)[0]] = base64.b64encode(data).decode("ascii")
    arguments = {"name": model_name, "config": config, "files": contents}
    _call("Failed to load model: ", "load_model", arguments)


def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    """Unloads a model."""
    (model_name,) = _texts("unload_model", model_name)
    arguments = {"name": model_name, "unload_dependents": bool(unload_dependents)}
    _call("Failed to unload model: ", "unload_model", arguments)


def is_model_ready(model_name: str, model_version: str = "") -> bool:
    """True when the version (the latest one for '') can be called."""
    model_name, model_version = _texts("is_model_ready", model_name, model_version)
    arguments = {"name": model_name, "version": model_version}
    return _call("Failed to check model readiness: ", "is_model_ready", arguments)


_SIGNATURES = {
    "load_model": "(model_name: str, config: str = '', files: object = None) -> None",
    "unload_model": "(model_name: str, unload_dependents: bool = False) -> None",
    "is_model_ready": "(model_name: str, model_version: str = '') -> bool",
}


def _texts(function, *values):
    texts = [text_of(value) for value in values]
    if None in texts:
        raise wrong_arguments(_SIGNATURES[function], values, {}, function=function, constructor=False)
    return texts


def _call(prefix, method, arguments):
    if _channel is None:
        raise TritonModelException(prefix + "there is no server in this process")
    try:
        return _channel.call(method, arguments)
    except TritonModelException as error:
        raise TritonModelException(prefix + str(error)) from None
