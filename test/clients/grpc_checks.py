"""Checks of what only gRPC has: streams, message compression, deadlines, cancellation."""

import asyncio
import queue

import numpy as np
from common_checks import SIXTEEN, only, same, wait_until
from tritonclient.utils import InferenceServerException

WAIT = 20
"""Seconds that any response may take."""


def counts(world):
    """Requests of the model `pairs` that failed, and elements of batches that were executed."""
    stats = world.client.get_inference_statistics("pairs", as_json=True)["model_stats"][0]
    return int(stats["inference_stats"].get("fail", {}).get("count", 0)), int(stats.get("inference_count", 0))


def was_not_executed(world, before):
    """The request that was given up fails when the queue is looked at again, which this whole pair brings about."""
    world.client.infer("pairs", [world.input("INPUT0", np.ones((2, 4), np.uint8))], client_timeout=WAIT)
    wait_until(lambda: counts(world) == (before[0] + 1, before[1] + 2))


def one_of_a_pair(world):
    """Input of a request that waits in the server until there is a second one."""
    return [world.input("INPUT0", np.ones((1, 4), np.uint8))]


def check_message_compression(world):
    for algorithm in ("gzip", "deflate"):
        array = np.zeros((4, 1 << 16), np.float32)
        result = world.client.infer("big", [world.input("INPUT0", array)], compression_algorithm=algorithm)
        assert np.array_equal(result.as_numpy("OUTPUT0"), array)


def check_metadata_of_calls(world):
    result = world.client.infer("simple", world.simple_inputs(), headers={"x-any": "value"})
    assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)


def check_deadline(world):
    before = counts(world)
    try:
        world.client.infer("pairs", one_of_a_pair(world), client_timeout=0.2)
    except InferenceServerException as error:
        assert "Deadline Exceeded" in error.message(), error
    else:
        raise AssertionError("no deadline")
    # The server gave the request up too: it was never executed.
    was_not_executed(world, before)


def check_decoupled_models_are_refused_outside_of_streams(world):
    world.refused(
        ("", "StatusCode.UNIMPLEMENTED"),
        "ModelInfer RPC doesn't support models with decoupled transaction policy",
        world.client.infer,
        "count_down",
        [world.input("FROM", np.array([1], np.int32))],
    )


@only("grpc")
def check_asynchronous_requests(world):
    answers = queue.Queue()
    for i in range(20):
        world.client.async_infer(
            "simple",
            world.simple_inputs(),
            callback=lambda result, error: answers.put((result, error)),
            request_id=str(i),
        )
    ids = set()
    for _ in range(20):
        result, error = answers.get(timeout=WAIT)
        assert error is None, error
        ids.add(result.get_response().id)
        assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)
    same(ids, {str(i) for i in range(20)})


@only("grpc")
def check_cancelled_request_is_not_executed(world):
    before = counts(world)
    answers = queue.Queue()
    call = world.client.async_infer(
        "pairs", one_of_a_pair(world), callback=lambda result, error: answers.put((result, error))
    )
    world.client.is_server_live()
    call.cancel()
    result, error = answers.get(timeout=WAIT)
    assert result is None
    same((error.message(), error.status()), ("Locally cancelled by application!", "StatusCode.CANCELLED"))
    was_not_executed(world, before)


@only("grpc")
def check_stream(world):
    answers = queue.Queue()
    client = world.client
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for i, value in enumerate((11, 7, 5)):
        client.async_stream_infer(
            "simple_sequence",
            [world.input("INPUT", np.array([[value]], np.int32))],
            request_id=str(i),
            sequence_id=4711,
            sequence_start=i == 0,
            sequence_end=i == 2,
        )
    client.async_stream_infer("nosuch", world.simple_inputs(), request_id="bad")
    got = []
    for i in range(3):
        result, error = answers.get(timeout=WAIT)
        assert error is None, error
        same(result.get_response().id, str(i))
        got.append(int(result.as_numpy("OUTPUT")[0][0]))
    same(got, [12, 7, 5])
    result, error = answers.get(timeout=WAIT)
    same((result, error.message()), (None, "Request for unknown model: 'nosuch' is not found"))
    client.stop_stream()


def final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


@only("grpc")
def check_stream_of_a_decoupled_model(world):
    answers = queue.Queue()
    client = world.client
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    client.async_stream_infer(
        "count_down", [world.input("FROM", np.array([3], np.int32))], enable_empty_final_response=True
    )
    got = []
    for _ in range(5):
        result, error = answers.get(timeout=WAIT)
        assert error is None, error
        got.append((None if final(result) else int(result.as_numpy("LEFT")[0]), final(result)))
    same(got, [(3, False), (2, False), (1, False), (0, False), (None, True)])
    client.stop_stream()


@only("grpc")
def check_stream_is_cancelled(world):
    answers = queue.Queue()
    client = world.client
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    client.async_stream_infer("count_down", [world.input("FROM", np.array([100000], np.int32))], parameters={"pause_ms": 5})
    first, error = answers.get(timeout=WAIT)
    assert error is None, error
    same(int(first.as_numpy("LEFT")[0]), 100000)
    client.stop_stream(cancel_requests=True)
    while True:
        result, error = answers.get(timeout=WAIT)
        if error is not None:
            same(error.status(), "StatusCode.CANCELLED")
            return


@only("grpc.aio")
def check_requests_at_once_streams_and_cancellation(world):
    client = world.client.client

    async def run():
        results = await asyncio.gather(*(client.infer("simple", world.simple_inputs()) for _ in range(20)))
        for result in results:
            assert np.array_equal(result.as_numpy("OUTPUT0"), SIXTEEN + 1)

        async def requests():
            for start in (2, 1):
                yield {
                    "model_name": "count_down",
                    "request_id": str(start),
                    "inputs": [world.input("FROM", np.array([start], np.int32))],
                }

        got = {"1": [], "2": []}
        async for result, error in client.stream_infer(requests()):
            assert error is None, error
            got[result.get_response().id].append(int(result.as_numpy("LEFT")[0]))
        same(got, {"2": [2, 1, 0], "1": [1, 0]})

        task = asyncio.ensure_future(client.infer("pairs", one_of_a_pair(world)))
        await client.is_server_live()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        else:
            raise AssertionError("was not cancelled")

    before = counts(world)
    world.client.run(run())
    was_not_executed(world, before)
