"""What models of the Python backend import: tensors, requests, responses, configuration, logging, metrics."""

import json
import struct

import numpy as np

from triton_runtime import byte_strings, config_checks, datatypes
from triton_runtime.control import is_model_ready, load_model, unload_model
from triton_runtime.errors import TritonError, TritonModelException
from triton_runtime.inference import (
    InferenceRequest,
    InferenceResponse,
    InferenceResponseSender,
    InferenceTrace,
    PreferredMemory,
    ResponseIterator,
)
from triton_runtime.logger import Logger
from triton_runtime.memory_type import MemoryType
from triton_runtime.metrics import Metric, MetricFamily, MetricKind
from triton_runtime.shared_memory import SharedMemory
from triton_runtime.tensor import Tensor

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2
TRITONSERVER_MEMORY_GPU = MemoryType.TRITONSERVER_MEMORY_GPU
TRITONSERVER_MEMORY_CPU = MemoryType.TRITONSERVER_MEMORY_CPU

TRITON_STRING_TO_NUMPY = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}

_model_directory = ""


def serialize_byte_tensor(input_tensor):
    """Length-prefixed bytes of an array of strings; () for an empty one, None for other kinds of arrays."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype == np.object_ or input_tensor.dtype.type == np.bytes_:
        return byte_strings.serialize(input_tensor)
    return None


def deserialize_bytes_tensor(encoded_tensor):
    """One-dimensional object array of the byte strings that serialize_byte_tensor wrote."""
    return byte_strings.deserialize(encoded_tensor)


def get_input_tensor_by_name(inference_request, name):
    """The input of that name, or None."""
    return _first(inference_request.inputs(), name)


def get_output_tensor_by_name(inference_response, name):
    """The output of that name, or None."""
    return _first(inference_response.output_tensors(), name)


def _first(tensors, name):
    for tensor in tensors:
        if tensor.name() == name:
            return tensor
    return None


def get_input_config_by_name(model_config, name):
    """Configuration of the input of that name, or None."""
    return _configuration(model_config, "input", name)


def get_output_config_by_name(model_config, name):
    """Configuration of the output of that name, or None."""
    return _configuration(model_config, "output", name)


def _configuration(model_config, kind, name):
    for properties in model_config.get(kind, ()):
        if properties["name"] == name:
            return properties
    return None


def using_decoupled_model_transaction_policy(model_config):
    """True when the model may answer a request any number of times."""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def triton_to_numpy_type(data_type):
    """numpy type of a datatype's number, or None."""
    return datatypes.NUMPY_TYPES.get(data_type)


def numpy_to_triton_type(data_type):
    """Number of the datatype of a numpy type, or None."""
    try:
        return datatypes.code_of(np.dtype(data_type))
    except TypeError:
        return None


def triton_string_to_numpy(triton_type_string):
    """numpy type of a name like TYPE_FP32. KeyError for others."""
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def get_model_dir() -> str:
    """Directory of the model's version."""
    return _model_directory


class ModelConfig:
    """Configuration that auto_complete_config completes."""

    def __init__(self, model_config):
        self._model_config = model_config

    def as_dict(self):
        """The configuration itself, not a copy."""
        return self._model_config

    def _name(self):
        return self._model_config["name"]

    def set_max_batch_size(self, max_batch_size):
        """Sets the largest batch; a larger one in the configuration is an error."""
        configured = self._model_config["max_batch_size"]
        if configured > max_batch_size:
            raise ValueError(
                f"configuration specified max_batch_size {configured}, but in auto-complete-config function for model "
                f"'{self._name()}' specified max_batch_size {max_batch_size}"
            )
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        """Chooses the dynamic batcher, unless it is chosen already; another scheduler is an error."""
        for choice in ("sequence_batching", "ensemble_scheduling"):
            if choice in self._model_config:
                raise ValueError(
                    f"Configuration specified scheduling_choice as '{choice}', but auto-complete-config function for "
                    f"model '{self._name()}' tries to set scheduling_choice as 'dynamic_batching'"
                )
        self._model_config.setdefault("dynamic_batching", {})

    def add_input(self, input):
        """Adds an input, or completes the one of that name."""
        allowed = ("name", "data_type", "dims", "optional")
        listing = "'name', 'data_type', 'dims' and 'optional'"
        config_checks.check_properties("input", self._name(), input, allowed, listing)
        known = self._find("input", input["name"])
        if known is None:
            self._model_config.setdefault("input", []).append(input)
            return
        config_checks.merge("input", self._name(), known, input)
        if "optional" in input:
            configured = known.get("optional", input["optional"])
            if configured != input["optional"]:
                raise ValueError(
                    f"model '{self._name()}', tensor '{input['name']}': the model expects optional {input['optional']} "
                    f"but the model configuration specifies optional {configured}"
                )
            known["optional"] = input["optional"]

    def add_output(self, output):
        """Adds an output, or completes the one of that name."""
        allowed = ("name", "data_type", "dims")
        listing = "'name', 'data_type' and 'dims'"
        config_checks.check_properties("output", self._name(), output, allowed, listing)
        known = self._find("output", output["name"])
        if known is None:
            self._model_config.setdefault("output", []).append(output)
            return
        config_checks.merge("output", self._name(), known, output)

    def set_model_transaction_policy(self, transaction_policy_dict):
        """Sets the policy {"decoupled": bool}; another value in the configuration is an error."""
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError(
                    f"model transaction property in auto-complete-config function for model '{self._name()}' contains "
                    f"property other than 'decoupled'."
                )
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = transaction_policy_dict["decoupled"]
        configured = self._model_config.get("model_transaction_policy", {}).get("decoupled", wanted)
        if configured != wanted:
            raise ValueError(
                f"trying to change decoupled property in auto-complete-config for model '{self._name()}', which is "
                f"already set to '{configured}'."
            )
        self._model_config["model_transaction_policy"] = {"decoupled": wanted}

    def _find(self, kind, name):
        for properties in self._model_config.get(kind, ()):
            if properties["name"] == name:
                return properties
        return None
