"""Checks of what only HTTP has: JSON tensors, raw bodies, encodings of bodies, requests in flight."""

import asyncio
import http.client
import json

import numpy as np
from common_checks import BF16_VALUES, ONES, SIXTEEN, VALUES, only, same


def check_inference_json(world):
    result = world.client.infer(
        "simple", world.simple_inputs(binary_data=False), outputs=[world.output("OUTPUT0", binary_data=False)]
    )
    same(result.get_output("OUTPUT0")["data"], (SIXTEEN + 1).flatten().tolist())
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)


def check_every_datatype_as_json(world):
    as_json = {t: v for t, v in VALUES.items() if t not in ("FP16", "BYTES")}
    as_json["BYTES"] = np.array(["ä\u0000\"\\", ""], np.object_)
    inputs = [world.input(f"INPUT_{t}", v, binary_data=False) for t, v in as_json.items()]
    bf16 = world.library.InferInput("INPUT_BF16", [2], "BF16")
    bf16.set_data_from_numpy(BF16_VALUES)
    inputs += [bf16, world.input("INPUT_FP16", VALUES["FP16"])]
    outputs = [world.output(f"OUTPUT_{t}", binary_data=False) for t in as_json]
    result = world.client.infer("any", inputs, outputs=outputs)
    for datatype, values in as_json.items():
        output = result.as_numpy(f"OUTPUT_{datatype}")
        if datatype == "BYTES":
            same([e.decode() if isinstance(e, bytes) else e for e in output], list(values))
        else:
            assert output.tobytes() == values.tobytes(), datatype


def check_inference_raw(world):
    connection = http.client.HTTPConnection("127.0.0.1", world.http_port, timeout=20)
    connection.request(
        "POST", "/v2/models/raw/infer", SIXTEEN.tobytes(), {"Inference-Header-Content-Length": "0"}
    )
    response = connection.getresponse()
    body = response.read()
    same(response.status, 200)
    length = int(response.getheader("Inference-Header-Content-Length"))
    same(json.loads(body[:length])["outputs"][0]["shape"], [1, 16])
    same(body[length:], SIXTEEN.tobytes())
    connection.close()


def check_compression(world):
    for request in (None, "gzip", "deflate"):
        for response in (None, "gzip", "deflate"):
            result = world.client.infer(
                "simple",
                world.simple_inputs(),
                request_compression_algorithm=request,
                response_compression_algorithm=response,
            )
            assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
            encoding = result.get_response()  # decoded already
            same(encoding["model_name"], "simple")


def check_headers_and_query(world):
    result = world.client.infer(
        "simple", world.simple_inputs(), headers={"X-Any": "value"}, query_params={"a": "b", "c": 1}
    )
    assert np.array_equal(result.as_numpy("OUTPUT1"), SIXTEEN - ONES)


@only("http")
def check_asynchronous_requests(world):
    handles = [world.client.async_infer("simple", world.simple_inputs(), request_id=str(i)) for i in range(20)]
    for i, handle in enumerate(handles):
        result = handle.get_result(timeout=20)
        same(result.get_response()["id"], str(i))
        assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
    world.refused(
        ("404", ""),
        "Request for unknown model: 'nosuch' is not found",
        lambda: world.client.async_infer("nosuch", world.simple_inputs()).get_result(timeout=20),
    )


@only("http")
def check_bodies_made_by_hand(world):
    library = world.library
    body, length = library.InferenceServerClient.generate_request_body(world.simple_inputs())
    connection = http.client.HTTPConnection("127.0.0.1", world.http_port, timeout=20)
    connection.request("POST", "/v2/models/simple/infer", body, {"Inference-Header-Content-Length": str(length)})
    response = connection.getresponse()
    header = response.getheader("Inference-Header-Content-Length")
    result = library.InferenceServerClient.parse_response_body(response.read(), header_length=int(header))
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
    connection.close()


@only("http.aio")
def check_requests_at_once_and_cancellation(world):
    client = world.client.client

    async def run():
        results = await asyncio.gather(*(client.infer("simple", world.simple_inputs()) for _ in range(20)))
        for result in results:
            assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
        # This one waits in the server for two seconds; the caller gives up first.
        try:
            await asyncio.wait_for(client.infer("waits", [world.input("INPUT0", np.ones((1, 4), np.uint8))]), 0.2)
        except asyncio.TimeoutError:
            return
        raise AssertionError("was not cancelled")

    world.client.run(run())
    assert world.client.is_server_ready()


def check_decoupled_models_are_refused(world):
    world.refused(
        ("501", ""),
        "HTTP end point doesn't support models with decoupled transaction policy",
        world.client.infer,
        "count_down",
        [world.input("FROM", np.array([1], np.int32))],
    )
