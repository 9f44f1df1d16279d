"""Checks of triton_python_backend_utils that need no server. Run by test/python-api.test.ts."""

import fcntl
import gc
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import types
import unittest
from random import Random

import numpy as np

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(_ROOT, "python"))

import triton_python_backend_utils as pb_utils  # noqa: E402
from triton_runtime import byte_strings, dlpack  # noqa: E402
from triton_runtime.memory import InputMemory, OutputMemory  # noqa: E402
from triton_runtime.tensor import Tensor, settle_moves  # noqa: E402
from triton_runtime.traceback_text import traceback_text  # noqa: E402
from triton_runtime.wire import FrameError, Reader, Writer  # noqa: E402

NUMERIC = [
    ("TYPE_BOOL", 1, np.bool_),
    ("TYPE_UINT8", 2, np.uint8),
    ("TYPE_UINT16", 3, np.uint16),
    ("TYPE_UINT32", 4, np.uint32),
    ("TYPE_UINT64", 5, np.uint64),
    ("TYPE_INT8", 6, np.int8),
    ("TYPE_INT16", 7, np.int16),
    ("TYPE_INT32", 8, np.int32),
    ("TYPE_INT64", 9, np.int64),
    ("TYPE_FP16", 10, np.float16),
    ("TYPE_FP32", 11, np.float32),
    ("TYPE_FP64", 12, np.float64),
]


def memories():
    files = [tempfile.TemporaryFile() for _ in range(2)]
    made = InputMemory(files[0].fileno()), OutputMemory(files[1].fileno())
    made[0].files = files
    return made


def travel(tensor):
    """Writes a tensor as an output and reads it as an input, as the two ends of the connection do."""
    writer = Writer(0)
    inputs, outputs = memories()
    tensor._write(writer, (inputs, outputs))
    payload = bytearray(b"".join(bytes(part) for part in writer.parts))
    reader = Reader(payload, 1)
    name, code = reader.text(), reader.u8()
    shape = reader.i64s(reader.u8())
    place, size = reader.u8(), reader.u64()
    if place == 1:
        raw = np.frombuffer(os.pread(inputs.files[1].fileno(), size, reader.u64()), np.uint8)
    else:
        raw = np.frombuffer(payload, np.uint8, size, reader.at) if size else np.empty(0, np.uint8)
    for file in inputs.files:
        file.close()
    return Tensor._of_raw(name, code, shape, raw)


class Names(unittest.TestCase):
    def test_every_name_exists(self):
        names = """
            TRITONSERVER_REQUEST_FLAG_SEQUENCE_START TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
            TRITONSERVER_RESPONSE_COMPLETE_FINAL TRITONSERVER_REQUEST_RELEASE_ALL
            TRITONSERVER_REQUEST_RELEASE_RESCHEDULE TRITONSERVER_MEMORY_GPU TRITONSERVER_MEMORY_CPU
            TRITON_STRING_TO_NUMPY np json struct serialize_byte_tensor deserialize_bytes_tensor
            get_input_tensor_by_name get_output_tensor_by_name get_input_config_by_name get_output_config_by_name
            using_decoupled_model_transaction_policy triton_to_numpy_type numpy_to_triton_type triton_string_to_numpy
            get_model_dir load_model unload_model is_model_ready Tensor InferenceRequest InferenceResponse TritonError
            TritonModelException Logger MetricFamily PreferredMemory ModelConfig
        """
        for name in names.split():
            self.assertTrue(hasattr(pb_utils, name), name)
        flags = (
            pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START,
            pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END,
            pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL,
            pb_utils.TRITONSERVER_REQUEST_RELEASE_ALL,
            pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE,
        )
        self.assertEqual(flags, (1, 2, 1, 1, 2))
        self.assertEqual(len(pb_utils.TRITON_STRING_TO_NUMPY), 13)
        self.assertEqual(int(pb_utils.TRITONSERVER_MEMORY_CPU), 1)


class Types(unittest.TestCase):
    def test_type_maps(self):
        for name, code, kind in NUMERIC:
            self.assertEqual(np.dtype(pb_utils.triton_string_to_numpy(name)), np.dtype(kind))
            self.assertEqual(pb_utils.numpy_to_triton_type(kind), code)
            self.assertEqual(pb_utils.numpy_to_triton_type(np.dtype(kind)), code)
            self.assertEqual(np.dtype(pb_utils.triton_to_numpy_type(code)), np.dtype(kind))
        self.assertEqual(pb_utils.triton_to_numpy_type(13), np.object_)
        self.assertIsNone(pb_utils.triton_to_numpy_type(14))
        self.assertIsNone(pb_utils.numpy_to_triton_type(np.complex64))
        self.assertEqual(pb_utils.numpy_to_triton_type(np.bytes_), 13)
        with self.assertRaises(KeyError):
            pb_utils.triton_string_to_numpy("TYPE_BF16")

    def test_configurations(self):
        config = {"input": [{"name": "A"}], "output": [], "model_transaction_policy": {"decoupled": True}}
        self.assertEqual(pb_utils.get_input_config_by_name(config, "A"), {"name": "A"})
        self.assertIsNone(pb_utils.get_input_config_by_name(config, "B"))
        self.assertIsNone(pb_utils.get_output_config_by_name(config, "A"))
        self.assertTrue(pb_utils.using_decoupled_model_transaction_policy(config))
        self.assertFalse(pb_utils.using_decoupled_model_transaction_policy({}))


class Strings(unittest.TestCase):
    def test_both_ways(self):
        items = [b"", b"a\x00b", bytes(range(256)), "grün".encode(), b"x" * 70000]
        data = pb_utils.serialize_byte_tensor(np.array(items, dtype=object).reshape(1, 5))
        self.assertEqual(data[:4], struct.pack("<I", 0))
        self.assertEqual(list(pb_utils.deserialize_bytes_tensor(data)), items)

    def test_other_arrays(self):
        self.assertEqual(pb_utils.serialize_byte_tensor(np.zeros((0,), dtype=object)), ())
        self.assertIsNone(pb_utils.serialize_byte_tensor(np.zeros(2)))
        mixed = np.array(["grün", b"a", 5, None], dtype=object)
        self.assertEqual(list(byte_strings.deserialize(byte_strings.serialize(mixed))), ["grün".encode(), b"a", b"5", b"None"])
        self.assertEqual(list(byte_strings.deserialize(byte_strings.serialize(np.array([b"ab\x00", b"c"])))), [b"ab", b"c"])

    def test_order_is_row_major(self):
        array = np.array([[b"1", b"2"], [b"3", b"4"]], dtype=object).T
        self.assertEqual(list(travel(pb_utils.Tensor("a", array)).as_numpy().ravel()), [b"1", b"3", b"2", b"4"])


class Tensors(unittest.TestCase):
    def test_every_datatype_travels(self):
        for _, code, kind in NUMERIC:
            for shape in ((), (0,), (1,), (3, 4), (2, 0, 5), (70000,)):
                count = int(np.prod(shape))
                array = (np.arange(count) % 2).astype(kind).reshape(shape)
                tensor = travel(pb_utils.Tensor("a", array))
                self.assertEqual((tensor.name(), tensor.shape(), tensor.triton_dtype()), ("a", list(shape), code))
                self.assertTrue(tensor.is_cpu())
                np.testing.assert_array_equal(tensor.as_numpy(), array)
                self.assertEqual(tensor.as_numpy().dtype, array.dtype)

    def test_layouts_are_made_contiguous(self):
        array = np.arange(24, dtype=np.int32).reshape(4, 6)
        for view in (array[::2], array[:, ::-1], array.T, np.broadcast_to(array[0], (3, 6)), np.asfortranarray(array)):
            np.testing.assert_array_equal(travel(pb_utils.Tensor("a", view)).as_numpy(), view)

    def test_refusals(self):
        cases = [
            (("", np.zeros(1)), "Tensor name cannot be an empty string."),
            (("a", np.zeros(1, np.complex64)), "NumPy dtype is not supported."),
            (("a", np.array(["abc"])), "NumPy dtype is not supported."),
            (("a", np.zeros(1, ">f4")), "NumPy dtype is not supported."),
            (("a", np.zeros(1, "M8[s]")), "NumPy dtype is not supported."),
        ]
        for arguments, text in cases:
            with self.assertRaises(pb_utils.TritonModelException) as caught:
                pb_utils.Tensor(*arguments)
            self.assertEqual(str(caught.exception), text)
        for arguments in (("a",), ("a", [1]), (1, np.zeros(1)), ("a", None)):
            with self.assertRaises(TypeError) as caught:
                pb_utils.Tensor(*arguments)
            start = "__init__(): incompatible constructor arguments. The following argument types are supported:"
            self.assertTrue(str(caught.exception).startswith(start))

    def test_dlpack(self):
        for _, code, kind in NUMERIC:
            array = (np.arange(12).reshape(3, 4) % 2).astype(kind)
            tensor = pb_utils.Tensor("a", array)
            self.assertEqual(tensor.__dlpack_device__(), (1, 0))
            np.testing.assert_array_equal(np.from_dlpack(tensor), array)
            again = pb_utils.Tensor.from_dlpack("b", tensor.to_dlpack())
            self.assertEqual((again.name(), again.triton_dtype(), again.shape()), ("b", code, [3, 4]))
            np.testing.assert_array_equal(again.as_numpy(), array)
        del tensor, again
        gc.collect()
        self.assertEqual(len(dlpack._exported), 0)

    def test_dlpack_refusals(self):
        text = pb_utils.Tensor("a", np.array([b"x"], dtype=object))
        cases = [
            (lambda: text.to_dlpack(), "DLPack does not have support for string tensors."),
            (lambda: pb_utils.Tensor.from_dlpack("a", 5), "Provided tensor is not supported. Tensor must be a DLPack"),
            (lambda: pb_utils.Tensor.from_dlpack("a", np.arange(6)[::2]), "DLPack tensor is not contiguous."),
            (lambda: pb_utils.Tensor.from_dlpack("", np.arange(6)), "Tensor name cannot be an empty string."),
            (lambda: pb_utils.Tensor.from_dlpack("a", Device(2)), "Tensors in the memory of a GPU are not supported"),
        ]
        for function, start in cases:
            with self.assertRaises(pb_utils.TritonModelException) as caught:
                function()
            self.assertTrue(str(caught.exception).startswith(start), str(caught.exception))

    def test_bf16_goes_by_dlpack_only(self):
        raw = np.arange(8, dtype=np.uint8)
        tensor = Tensor._of_raw("a", 14, (2, 2), raw)
        with self.assertRaises(pb_utils.TritonModelException):
            tensor.as_numpy()
        again = pb_utils.Tensor.from_dlpack("b", tensor)
        self.assertEqual((again.triton_dtype(), again.shape()), (14, [2, 2]))
        np.testing.assert_array_equal(again._bytes(), raw)


class Device:
    """What a tensor on another device looks like."""

    def __init__(self, kind):
        self._kind = kind

    def __dlpack__(self):
        raise AssertionError("must not be asked")

    def __dlpack_device__(self):
        return (self._kind, 0)


class SharedMemory(unittest.TestCase):
    def test_regions_are_given_back_with_their_last_array(self):
        inputs, _ = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        os.pwrite(inputs.files[0].fileno(), bytes(range(200)), 0)
        tensor = Tensor._of_raw("a", 2, (10,), inputs.array(64, 10))
        view = tensor.as_numpy()[3:]
        del tensor
        gc.collect()
        self.assertEqual(list(inputs.take_released()), [])
        self.assertEqual(list(view), list(range(67, 74)))
        del view
        gc.collect()
        self.assertEqual(inputs.take_released(), [64])

    def test_output_regions_are_used_again(self):
        inputs, outputs = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        data = np.zeros(100, np.uint8)
        self.assertEqual([outputs.write(data) for _ in range(3)], [0, 128, 256])
        outputs.release((0, 128))
        self.assertEqual([outputs.write(np.zeros(200, np.uint8)), outputs.write(data)], [0, 384])
        with self.assertRaises(KeyError):
            outputs.release((128,))
        outputs.release((384, 256, 0))
        outputs.trim()
        self.assertEqual(os.fstat(inputs.files[1].fileno()).st_size, 0)
        self.assertEqual(outputs.write(data), 0)

    def test_a_region_that_was_not_named_is_not_used_again(self):
        inputs, outputs = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        data = np.zeros(100, np.uint8)
        first, second = outputs.write(data), outputs.write(data)
        # The second one was sent and read before the first one, which another thread has yet to send.
        outputs.release((second,))
        self.assertEqual(outputs.write(np.ones(100, np.uint8)), second)
        self.assertEqual(os.pread(inputs.files[1].fileno(), 100, first), bytes(100))

    def moved(self, keep):
        """An input that goes back as it came; `keep` says whether the model keeps it. What the frame then says of it."""
        inputs, outputs = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        os.pwrite(inputs.files[0].fileno(), b"a" * 65536, 0)
        tensor = Tensor._of_raw("x", 2, (40000,), inputs.array(0, 40000))
        kept = tensor.as_numpy() if keep else None
        writer = Writer(0)
        pb_utils.Tensor("y", tensor.as_numpy())._write(writer, (inputs, outputs), moving=True)
        del tensor
        gc.collect()
        released = list(inputs.take_released())
        released += settle_moves(writer, (inputs, outputs))
        if kept is not None:
            kept[:] = 0
        place, size, offset = struct.unpack("<BQQ", writer.parts[-1])
        self.assertEqual((size, offset), (40000, 0))
        held = os.pread(inputs.files[1 if place == 1 else 0].fileno(), size, offset)
        self.assertEqual(held, b"a" * 40000)
        return place, released, list(inputs.take_released())

    def test_an_input_that_nobody_keeps_goes_back_without_a_copy(self):
        self.assertEqual(self.moved(False), (2, [0], []))

    def test_an_input_that_is_kept_is_copied_and_not_released(self):
        self.assertEqual(self.moved(True), (1, [], []))

    def test_enough_released_bytes_ask_for_a_frame_of_their_own(self):
        inputs, _ = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        os.ftruncate(inputs.files[0].fileno(), 32 << 20)
        root = inputs.array(0, 16 << 20)
        self.assertTrue(inputs._much.empty())
        del root
        gc.collect()
        inputs.wait_for_much()
        self.assertEqual(inputs.take_released(), [0])


class Garbage(unittest.TestCase):
    """Bytes that are not frames, from the server to a process."""

    def test_reading_fields_of_any_bytes_raises_frame_errors_only(self):
        random = Random(11)
        inputs, _ = memories()
        self.addCleanup(lambda: [file.close() for file in inputs.files])
        channel = types.SimpleNamespace(inputs=inputs)
        writer = Writer(0)
        writer.raw(struct.pack("<IIQB", 1, 0, 0, 0))
        writer.u64(5)
        writer.text("id")
        writer.text("{}")
        writer.u16(1)
        writer.text("OUT")
        writer.u8(0)
        writer.u16(1)
        pb_utils.Tensor("IN", np.arange(4))._write(writer, memories())
        valid = b"".join(bytes(part) for part in writer.parts)[1:]
        read = 0
        for _ in range(5000):
            data = bytearray(valid[: random.randrange(len(valid))] if random.random() < 0.2 else valid)
            for _ in range(random.randint(1, 4)):
                if data:
                    data[random.randrange(len(data))] = random.choice((255, random.randrange(256)))
            try:
                pb_utils.InferenceRequest._read(Reader(data), channel, False, {})
                read += 1
            except (FrameError, ValueError, OSError):
                # Beyond the end of the frame or of the shared memory.
                pass
        self.assertGreater(read, 0)

    def end_of_process(self, socket_bytes, pipe_bytes):
        """Starts a model's process, sends bytes, and returns its status and what it printed."""
        ours, theirs = socket.socketpair()
        pipe, pipe_end = socket.socketpair()
        files = [tempfile.TemporaryFile() for _ in range(2)]
        held = (theirs, pipe_end, *files)

        def connect():
            copies = [fcntl.fcntl(file.fileno(), fcntl.F_DUPFD, 20) for file in held]
            for number, copy in enumerate(copies, 3):
                os.dup2(copy, number)

        script = os.path.join(_ROOT, "python", "run_model.py")
        process = subprocess.Popen(
            [sys.executable, script], preexec_fn=connect, close_fds=False, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for file in held:
            file.close()
        try:
            with ours, pipe:
                ours.sendall(socket_bytes)
                if pipe_bytes:
                    pipe.sendall(pipe_bytes)
                _, errors = process.communicate(timeout=60)
            return process.returncode, errors.decode()
        finally:
            process.kill()

    def test_a_process_that_cannot_read_ends_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "waiting.py"), "w") as file:
                file.write("class TritonPythonModel:\n    pass\n")
            settings = {
                "mode": "serve",
                "decoupled": False,
                "model_name": "waiting",
                "version_directory": folder,
                "model_file": "waiting.py",
                "module": "waiting",
                "search_path": [folder],
                "instance": "waiting_0",
                "max_frame_bytes": 1 << 20,
                "model_config": "",
                "arguments": {},
            }
            text = json.dumps(settings).encode()
            init = struct.pack("<IBI", 5 + len(text), 1, len(text)) + text
            cases = [
                (init + struct.pack("<IB", 1, 77), b"", "unknown kind 77"),
                (init + struct.pack("<I", 1 << 30), b"", "announces a frame of 1073741824 bytes"),
                (init + struct.pack("<IBI", 5, 2, 1), b"", "beyond the end of a frame"),
                (init + struct.pack("<IBIHI", 11, 2, 1, 1, 0), b"", "beyond the end of a frame"),
                (init, struct.pack("<IB", 1, 99), "unknown kind 99"),
                (init, struct.pack("<I", 1 << 31), "announces a frame of 2147483648 bytes"),
                (init, struct.pack("<IBIQ", 13, 23, 1, 64), "KeyError: 64"),
                (struct.pack("<IB", 1, 9), b"", "not that of the start"),
            ]
            random = Random(7)
            for _ in range(4):
                cases.append((init + random.randbytes(200) + bytes((255,) * 8), b"", ""))
            for socket_bytes, pipe_bytes, reason in cases:
                status, errors = self.end_of_process(socket_bytes, pipe_bytes)
                self.assertEqual(status, 1, errors)
                self.assertIn(reason, errors)


class Objects(unittest.TestCase):
    def test_errors(self):
        error = pb_utils.TritonError("text")
        self.assertEqual((error.message(), str(error.code())), ("text", "__ErrorCode.INTERNAL"))
        codes = "UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED ALREADY_EXISTS CANCELLED".split()
        self.assertEqual([int(getattr(pb_utils.TritonError, code)) for code in codes], list(range(8)))
        with self.assertRaises(TypeError):
            pb_utils.TritonError("text", 5)
        with self.assertRaises(TypeError):
            pb_utils.TritonError()

    def test_responses(self):
        tensor = pb_utils.Tensor("a", np.zeros(1))
        response = pb_utils.InferenceResponse(output_tensors=[tensor], parameters={"a": 1, "b": "x", "c": True})
        self.assertEqual(response.parameters(), '{"a": 1, "b": "x", "c": true}')
        self.assertFalse(response.has_error())
        self.assertIs(pb_utils.get_output_tensor_by_name(response, "a"), tensor)
        self.assertIsNone(pb_utils.get_output_tensor_by_name(response, "b"))
        self.assertEqual(pb_utils.InferenceResponse().output_tensors(), [])
        with self.assertRaises(pb_utils.TritonModelException):
            pb_utils.InferenceResponse([None])
        for arguments in ([1], "x"), ([5],), (None,):
            with self.assertRaises(TypeError):
                pb_utils.InferenceResponse(*arguments)

    def test_requests(self):
        tensor = pb_utils.Tensor("a", np.zeros(1))
        make = pb_utils.InferenceRequest
        request = make(inputs=[tensor], requested_output_names=["x"], model_name="m", correlation_id="c", flags=1)
        self.assertEqual((request.correlation_id(), request.flags(), request.timeout()), ("c", 1, 0))
        self.assertEqual(request.requested_output_names(), {"x"})
        self.assertIs(pb_utils.get_input_tensor_by_name(request, "a"), tensor)
        cases = [
            ({"inputs": [None]}, "Input tensor for request with id 'i' and model name 'm' should not be empty."),
            ({"correlation_id": 1.5}, "Correlation ID must be integer or string"),
            ({"parameters": {"a": 1.5}}, "Expect parameters values to have type bool/int/str, found type <class 'float'>"),
            ({"parameters": {1: 1}}, "Expect parameters keys to have type str, found type <class 'int'>"),
        ]
        base = {"request_id": "i", "inputs": [], "requested_output_names": [], "model_name": "m"}
        for more, text in cases:
            with self.assertRaises(pb_utils.TritonModelException) as caught:
                make(**{**base, **more})
            self.assertEqual(str(caught.exception), text)
        wrong = (
            {"requested_output_names": [None]},
            {"requested_output_names": ["\ud800"]},
            {"model_name": "\ud800"},
            {"flags": 1.0},
            {"flags": -1},
            {"model_version": 1 << 63},
            {"timeout": "1"},
        )
        for more in wrong:
            with self.assertRaises(TypeError):
                make(**{**base, **more})
        with self.assertRaises(TypeError):
            make(inputs=[], requested_output_names=[])
        with self.assertRaises(pb_utils.TritonModelException) as caught:
            request.exec()
        self.assertEqual(str(caught.exception), "BLS is only supported during the 'execute' function.")

    def test_logger_without_server(self):
        levels = [pb_utils.Logger.INFO, pb_utils.Logger.WARNING, pb_utils.Logger.ERROR, pb_utils.Logger.VERBOSE]
        self.assertEqual([int(level) for level in levels], [0, 1, 2, 3])
        pb_utils.Logger.log("nothing listens", levels[1])
        with self.assertRaises(TypeError):
            pb_utils.Logger.log_info(5)


class Configurations(unittest.TestCase):
    def config(self, **more):
        return pb_utils.ModelConfig({"name": "m", "max_batch_size": 0, "input": [], "output": [], **more})

    def refused(self, function, text):
        with self.assertRaises(ValueError) as caught:
            function()
        self.assertEqual(str(caught.exception), text)

    def test_tensors_are_added_and_completed(self):
        config = self.config(input=[{"name": "A", "data_type": "TYPE_INVALID", "dims": [], "optional": False}])
        config.add_input({"name": "A", "data_type": "TYPE_FP32", "dims": [4]})
        config.add_input({"name": "B", "data_type": "TYPE_INT32", "dims": [-1], "optional": True})
        config.add_output({"name": "C", "data_type": "TYPE_FP32", "dims": [1]})
        self.assertEqual(config.as_dict()["input"][0], {"name": "A", "data_type": "TYPE_FP32", "dims": [4], "optional": False})
        self.assertEqual([item["name"] for item in config.as_dict()["input"]], ["A", "B"])
        self.assertEqual([item["name"] for item in config.as_dict()["output"]], ["C"])

    def test_conflicts(self):
        config = self.config(input=[{"name": "A", "data_type": "TYPE_FP32", "dims": [4], "optional": False}])
        where = "in auto-complete-config function for model 'm'"
        self.refused(
            lambda: config.add_input({"name": "A", "data_type": "TYPE_INT8", "dims": [4]}),
            "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'A', model provides TYPE_INT8",
        )
        self.refused(
            lambda: config.add_input({"name": "A", "data_type": "TYPE_FP32", "dims": [1, 2]}),
            "model 'm', tensor 'A': the model expects dims [1, 2] but the model configuration specifies dims [4]",
        )
        self.refused(
            lambda: config.add_input({"name": "A", "data_type": "TYPE_FP32", "dims": [4], "optional": True}),
            "model 'm', tensor 'A': the model expects optional True but the model configuration specifies optional False",
        )
        self.refused(
            lambda: config.add_output({"name": "A", "x": 1}),
            "output 'A' %s contains property other than 'name', 'data_type' and 'dims'." % where,
        )
        self.refused(lambda: config.add_output({"dims": [1]}), "output %s is missing 'name' property." % where)
        self.refused(
            lambda: config.add_input({"name": "A", "dims": [1]}), "input 'A' %s is missing 'data_type' property." % where
        )

    def test_settings(self):
        config = self.config(max_batch_size=8)
        self.refused(
            lambda: config.set_max_batch_size(4),
            "configuration specified max_batch_size 8, but in auto-complete-config function for model 'm' specified "
            "max_batch_size 4",
        )
        config.set_max_batch_size(16)
        config.set_dynamic_batching()
        config.set_dynamic_batching()
        config.set_model_transaction_policy({"decoupled": True})
        self.assertEqual(config.as_dict()["dynamic_batching"], {})
        self.assertEqual(config.as_dict()["max_batch_size"], 16)
        self.refused(
            lambda: config.set_model_transaction_policy({"decoupled": False}),
            "trying to change decoupled property in auto-complete-config for model 'm', which is already set to 'True'.",
        )
        self.refused(
            lambda: config.set_model_transaction_policy({"x": 1}),
            "model transaction property in auto-complete-config function for model 'm' contains property other than "
            "'decoupled'.",
        )
        self.refused(
            lambda: self.config(sequence_batching={}).set_dynamic_batching(),
            "Configuration specified scheduling_choice as 'sequence_batching', but auto-complete-config function for model "
            "'m' tries to set scheduling_choice as 'dynamic_batching'",
        )


class Tracebacks(unittest.TestCase):
    def test_frames_are_innermost_first_and_without_the_runtime(self):
        def inner():
            pb_utils.Tensor("", np.zeros(1))

        try:
            inner()
        except pb_utils.TritonModelException as error:
            text = traceback_text(error)
        lines = text.split("\n")
        self.assertEqual(lines[:3], ["TritonModelException: Tensor name cannot be an empty string.", "", "At:"])
        self.assertRegex(lines[3], r"^  .*test_api\.py\(\d+\): inner$")
        self.assertRegex(lines[4], r"^  .*test_api\.py\(\d+\): test_frames")

    def test_empty_texts(self):
        self.assertEqual(traceback_text(KeyError()), "KeyError: <EMPTY MESSAGE>")
        self.assertEqual(traceback_text(ValueError("x")), "ValueError: x")


if __name__ == "__main__":
    unittest.main()
