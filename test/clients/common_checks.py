"""Checks that every transport of the client library passes: the same calls, the same responses."""

import base64
import time
import uuid

import ml_dtypes
import numpy as np
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException, np_to_triton_dtype, serialize_byte_tensor

SIXTEEN = np.arange(16, dtype=np.int32).reshape(1, 16)
ONES = np.ones((1, 16), dtype=np.int32)

VALUES = {
    "BOOL": np.array([True, False]),
    "UINT8": np.array([0, 255], np.uint8),
    "UINT16": np.array([0, 65535], np.uint16),
    "UINT32": np.array([0, 2**32 - 1], np.uint32),
    "UINT64": np.array([0, 2**64 - 1], np.uint64),
    "INT8": np.array([-128, 127], np.int8),
    "INT16": np.array([-32768, 32767], np.int16),
    "INT32": np.array([-(2**31), 2**31 - 1], np.int32),
    "INT64": np.array([-(2**63), 2**63 - 1], np.int64),
    "FP16": np.array([0.5, -np.inf], np.float16),
    "FP32": np.array([1.5, -0.0], np.float32),
    "FP64": np.array([np.pi, 5e-324], np.float64),
    "BYTES": np.array([b"\x00\xff", b""], np.object_),
}
"""Elements of each datatype, their limits among them."""


def only(*kinds):
    """Marks a check that not every transport can run."""

    def mark(check):
        check.kinds = kinds
        return check

    return mark


class World:
    """The client under test and where its server is."""

    def __init__(self, kind, library, client, http_port, grpc_port):
        self.kind = kind
        self.is_grpc = kind.startswith("grpc")
        self.library = library
        self.client = client
        self.http_port = http_port
        self.grpc_port = grpc_port

    def input(self, name, array, **how):
        datatype = np_to_triton_dtype(array.dtype)
        given = self.library.InferInput(name, list(array.shape), datatype)
        if self.is_grpc:
            how = {}
        return given.set_data_from_numpy(array, **how)

    def output(self, name, **how):
        if self.is_grpc:
            how.pop("binary_data", None)
        return self.library.InferRequestedOutput(name, **how)

    def simple_inputs(self, **how):
        return [self.input("INPUT0", SIXTEEN, **how), self.input("INPUT1", ONES, **how)]

    def refused(self, status, text, call, *args, **kwargs):
        try:
            call(*args, **kwargs)
        except InferenceServerException as error:
            same(error.message(), text)
            same(error.status(), status[self.is_grpc])
        else:
            raise AssertionError(f"was not refused: {text}")


def same(actual, expected):
    assert actual == expected, f"got {actual!r}, expected {expected!r}"


def json_of(world, call, *args, **kwargs):
    """The response of a management call; gRPC's are messages unless asked for as JSON."""
    return call(*args, **kwargs, **({"as_json": True} if world.is_grpc else {}))


def check_health(world):
    client = world.client
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("simple") and client.is_model_ready("simple", "1")
    assert not client.is_model_ready("nosuch")


def check_metadata(world):
    metadata = json_of(world, world.client.get_server_metadata)
    same(metadata["name"], "triton")
    assert "binary_tensor_data" in metadata["extensions"]
    model = json_of(world, world.client.get_model_metadata, "simple")
    same(
        (model["name"], model["versions"], model["platform"]),
        ("simple", ["1"], "onnxruntime_onnx"),
    )
    first = model["inputs"][0]
    same((first["name"], first["datatype"], [int(d) for d in first["shape"]]), ("INPUT0", "INT32", [-1, 16]))


def check_configuration(world):
    config = json_of(world, world.client.get_model_config, "simple", "1")
    config = config.get("config", config)
    same((config["name"], int(config["max_batch_size"])), ("simple", 8))
    world.refused(
        ("404", "StatusCode.NOT_FOUND"),
        "Request for unknown model: 'simple' version 7 is not found",
        world.client.get_model_config,
        "simple",
        "7",
    )


def check_inference_binary(world):
    result = world.client.infer(
        "simple",
        world.simple_inputs(),
        request_id="one",
        outputs=[world.output("OUTPUT0", binary_data=True), world.output("OUTPUT1", binary_data=True)],
    )
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
    assert np.array_equal(result.as_numpy("OUTPUT1"), SIXTEEN - 1)
    response = result.get_response()
    same(response.id if world.is_grpc else response["id"], "one")


def check_inference_without_named_outputs(world):
    result = world.client.infer("simple", world.simple_inputs(), model_version="1")
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)


BF16_VALUES = np.array([1.5, -2.0], ml_dtypes.bfloat16)


def check_every_datatype(world):
    bf16 = world.library.InferInput("INPUT_BF16", [2], "BF16")
    bf16.set_data_from_numpy(BF16_VALUES)
    inputs = [world.input(f"INPUT_{t}", v) for t, v in VALUES.items()]
    result = world.client.infer("any", [bf16, *inputs])
    for datatype, values in VALUES.items():
        output = result.as_numpy(f"OUTPUT_{datatype}")
        same(output.dtype, values.dtype)
        assert list(output) == list(values) if datatype == "BYTES" else output.tobytes() == values.tobytes(), datatype
    assert np.array_equal(result.as_numpy("OUTPUT_BF16"), BF16_VALUES)


def check_large_tensor(world):
    array = np.random.default_rng(1).random((3, 1 << 20), np.float32)
    result = world.client.infer("big", [world.input("INPUT0", array)])
    assert np.array_equal(result.as_numpy("OUTPUT0"), array)


def check_empty_tensor(world):
    array = np.zeros((0, 4), np.float32)
    same(world.client.infer("big", [world.input("INPUT0", array)]).as_numpy("OUTPUT0").shape, (0, 4))


def check_batches(world):
    array = np.arange(64, dtype=np.int32).reshape(4, 16)
    inputs = [world.input("INPUT0", array), world.input("INPUT1", array)]
    assert np.array_equal(world.client.infer("simple", inputs).as_numpy("OUTPUT0"), array * 2)


def check_classification(world):
    scores = np.array([[0.25, 4.0, -1.0, 3.5], [9.0, 0.0, 1.0, 2.0]], np.float32)
    result = world.client.infer("scores", [world.input("INPUT0", scores)], outputs=[world.output("OUTPUT0", class_count=2)])
    classes = result.as_numpy("OUTPUT0")
    same(
        [[c.decode() for c in row] for row in classes],
        [["4.000000:1:plum", "3.500000:3"], ["9.000000:0:pear", "2.000000:3"]],
    )


def check_parameters_and_priority(world):
    result = world.client.infer(
        "simple", world.simple_inputs(), priority=1, timeout=10_000_000, parameters={"a": "b", "n": 1, "yes": True}
    )
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)


def check_sequence(world):
    sums = []
    for i, value in enumerate((11, 7, 5)):
        given = world.input("INPUT", np.array([[value]], np.int32))
        result = world.client.infer(
            "simple_sequence", [given], sequence_id=77, sequence_start=i == 0, sequence_end=i == 2
        )
        sums.append(int(result.as_numpy("OUTPUT")[0][0]))
    same(sums, [12, 7, 5])


def check_statistics(world):
    def entry():
        stats = json_of(world, world.client.get_inference_statistics, "big")
        return stats["model_stats"][0]

    before = entry()
    world.client.infer("big", [world.input("INPUT0", np.ones((2, 2), np.float32))])
    after = entry()
    same((after["name"], after["version"]), ("big", "1"))
    same(int(after["inference_count"]) - int(before.get("inference_count", 0)), 1)
    same(int(after["inference_stats"]["success"]["count"]) - int(before["inference_stats"]["success"].get("count", 0)), 1)
    assert len(json_of(world, world.client.get_inference_statistics)["model_stats"]) > 3
    world.refused(
        ("400", "StatusCode.INVALID_ARGUMENT"),
        "requested model 'nosuch' is not available",
        world.client.get_inference_statistics,
        "nosuch",
    )


def index_of(world):
    index = json_of(world, world.client.get_model_repository_index)
    return {entry["name"]: entry for entry in (index.get("models", []) if world.is_grpc else index)}


def check_repository(world):
    client = world.client
    # One name per transport: what was loaded once is listed as unloaded from then on.
    later = "later_" + world.kind.replace(".", "_")
    made = "made_by_" + world.kind.replace(".", "_")
    same(index_of(world)[later], {"name": later})
    client.load_model(later)
    same(index_of(world)[later], {"name": later, "version": "1", "state": "READY"})
    array = np.ones((1, 4), np.uint8)
    assert np.array_equal(client.infer(later, [world.input("INPUT0", array)]).as_numpy("OUTPUT0"), array)
    # A configuration of the caller's own: the batch may be larger now.
    config = (
        '{"backend":"identity","max_batch_size":5,"input":[{"name":"INPUT0","data_type":"TYPE_UINT8","dims":[4]}],'
        '"output":[{"name":"OUTPUT0","data_type":"TYPE_UINT8","dims":[4]}]}'
    )
    client.load_model(later, config=config)
    loaded = json_of(world, client.get_model_config, later)
    same(int(loaded.get("config", loaded)["max_batch_size"]), 5)
    client.load_model(made, config=config, files={"file:1/note.txt": b"\x00any bytes\xff"})
    assert client.is_model_ready(made)
    for name in (later, made):
        client.unload_model(name)
        wait_until(lambda: not client.is_model_ready(name))
    wait_until(lambda: index_of(world)[later].get("reason") == "unloaded")
    client.unload_model(later, unload_dependents=True)
    world.refused(
        ("500", "StatusCode.INTERNAL"),
        "failed to load 'nosuch', failed to poll from model repository",
        client.load_model,
        "nosuch",
    )


def wait_until(condition):
    """An unload is answered when it has begun."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "did not happen within 20 s"
        time.sleep(0.01)


def check_trace_settings(world):
    client = world.client

    def value(settings, name):
        return settings["settings"][name]["value"] if world.is_grpc else settings[name]

    same(value(json_of(world, client.get_trace_settings), "trace_level"), ["OFF"])
    changed = json_of(world, client.update_trace_settings, model_name="simple", settings={"trace_rate": "7"})
    same(value(changed, "trace_rate"), ["7"] if world.is_grpc else "7")
    cleared = json_of(world, client.update_trace_settings, model_name="simple", settings={"trace_rate": None})
    same(value(cleared, "trace_rate"), ["1000"] if world.is_grpc else "1000")


def check_log_settings(world):
    client = world.client

    def value(settings, name):
        if not world.is_grpc:
            return settings[name]
        (choice,) = settings["settings"][name].values()
        return choice

    changed = json_of(world, client.update_log_settings, {"log_verbose_level": 1, "log_format": "ISO8601"})
    same((value(changed, "log_verbose_level"), value(changed, "log_format")), (1, "ISO8601"))
    client.update_log_settings({"log_verbose_level": 0, "log_format": "default"})
    same(value(json_of(world, client.get_log_settings), "log_info"), True)


def check_shared_memory(world):
    client = world.client
    suffix = uuid.uuid4().hex
    regions = []

    def make(name, size):
        key = f"/triton_test_{suffix}_{name}"
        region = shm.create_shared_memory_region(name, key, size)
        regions.append((name, region))
        client.register_system_shared_memory(name, key, size)
        return region

    try:
        numbers = make("numbers", 256)
        shm.set_shared_memory_region(numbers, [SIXTEEN, ONES])
        words = np.array([[b"left", b"", b"\x00\xff"]], np.object_)
        packed = serialize_byte_tensor(words).item()
        letters = make("letters", 256)
        shm.set_shared_memory_region(letters, [np.frombuffer(packed, np.uint8)])

        status = json_of(world, client.get_system_shared_memory_status)
        listed = status["regions"].values() if world.is_grpc else status
        same({r["name"]: int(r["byte_size"]) for r in listed}, {"letters": 256, "numbers": 256})

        inputs = [world.library.InferInput(n, [1, 16], "INT32") for n in ("INPUT0", "INPUT1")]
        inputs[0].set_shared_memory("numbers", 64)
        inputs[1].set_shared_memory("numbers", 64, offset=64)
        outputs = [world.library.InferRequestedOutput(n) for n in ("OUTPUT0", "OUTPUT1")]
        outputs[0].set_shared_memory("numbers", 64, offset=128)
        outputs[1].set_shared_memory("numbers", 64, offset=192)
        result = client.infer("simple", inputs, outputs=outputs)
        output = result.get_output("OUTPUT0")
        same((output.datatype if world.is_grpc else output["datatype"]), "INT32")
        assert np.array_equal(shm.get_contents_as_numpy(numbers, np.int32, [1, 16], offset=128), SIXTEEN + 1)
        assert np.array_equal(shm.get_contents_as_numpy(numbers, np.int32, [1, 16], offset=192), SIXTEEN - 1)

        given = world.library.InferInput("INPUT0", [1, 3], "BYTES")
        given.set_shared_memory("letters", len(packed))
        taken = world.library.InferRequestedOutput("OUTPUT0")
        taken.set_shared_memory("letters", 128, offset=128)
        client.infer("simple_identity_words", [given], outputs=[taken])
        assert np.array_equal(shm.get_contents_as_numpy(letters, np.object_, [1, 3], offset=128), words)

        small = world.library.InferRequestedOutput("OUTPUT0")
        small.set_shared_memory("numbers", 60, offset=128)
        world.refused(
            ("500", "StatusCode.INTERNAL"),
            "shared memory size specified with the request for output 'OUTPUT0' (60 bytes) should be at least 64 bytes to hold the results",
            client.infer,
            "simple",
            inputs,
            outputs=[small],
        )
        client.unregister_system_shared_memory("letters")
        world.refused(
            ("404", "StatusCode.NOT_FOUND"),
            "Unable to find system shared memory region: 'letters'",
            client.get_system_shared_memory_status,
            "letters",
        )
    finally:
        client.unregister_system_shared_memory()
        for _, region in regions:
            shm.destroy_shared_memory_region(region)
    status = json_of(world, client.get_system_shared_memory_status)
    assert not (status.get("regions") if world.is_grpc else status)


def check_cuda_shared_memory(world):
    client = world.client
    status = json_of(world, client.get_cuda_shared_memory_status)
    assert not (status.get("regions") if world.is_grpc else status)
    handle = bytes(64) if world.is_grpc else base64.b64encode(bytes(64))
    world.refused(
        ("400", "StatusCode.INVALID_ARGUMENT"),
        "failed to register shared memory region: invalid args",
        client.register_cuda_shared_memory,
        "c",
        handle,
        0,
        64,
    )
    client.unregister_cuda_shared_memory()


def check_errors(world):
    bad = ("400", "StatusCode.INVALID_ARGUMENT")
    world.refused(
        ("404", "StatusCode.NOT_FOUND"),
        "Request for unknown model: 'nosuch' is not found",
        world.client.infer,
        "nosuch",
        world.simple_inputs(),
    )
    world.refused(
        bad,
        "[request id: e1] expected 2 inputs but got 1 inputs for model 'simple'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s).",
        world.client.infer,
        "simple",
        world.simple_inputs()[:1],
        request_id="e1",
    )
    world.refused(
        bad,
        "unexpected inference output 'X' for model 'simple'",
        world.client.infer,
        "simple",
        world.simple_inputs(),
        outputs=[world.output("X")],
    )
    world.refused(
        bad,
        "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
        world.client.infer,
        "simple",
        [world.input(n, np.zeros((9, 16), np.int32)) for n in ("INPUT0", "INPUT1")],
    )
