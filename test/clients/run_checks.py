"""Runs the checks of one of the client library's four transports against a server.

usage: run_checks.py http|http.aio|grpc|grpc.aio HTTP_PORT GRPC_PORT

Prints one JSON object per check, `{"check": name, "error": traceback or null}`, and last `{"done": number of checks}`.
"""

import asyncio
import inspect
import json
import sys
import traceback

import common_checks
import grpc_checks
import http_checks


class Blocking:
    """A client of asyncio as if it were one of the blocking kind: every call is run to its end."""

    def __init__(self, make):
        self.loop = asyncio.new_event_loop()
        self.client = self.run(self.made(make))

    @staticmethod
    async def made(make):
        return make()

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def __getattr__(self, name):
        member = getattr(self.client, name)
        if not callable(member):
            return member

        def call(*args, **kwargs):
            result = member(*args, **kwargs)
            return self.run(result) if inspect.isawaitable(result) else result

        return call


def make_client(kind, http_port, grpc_port):
    if kind == "http":
        import tritonclient.http as library

        return library, library.InferenceServerClient(f"127.0.0.1:{http_port}", concurrency=8)
    if kind == "grpc":
        import tritonclient.grpc as library

        return library, library.InferenceServerClient(f"127.0.0.1:{grpc_port}")
    if kind == "http.aio":
        import tritonclient.http.aio as library

        return library, Blocking(lambda: library.InferenceServerClient(f"127.0.0.1:{http_port}"))
    import tritonclient.grpc.aio as library

    return library, Blocking(lambda: library.InferenceServerClient(f"127.0.0.1:{grpc_port}"))


def main():
    kind, http_port, grpc_port = sys.argv[1:]
    library, client = make_client(kind, http_port, grpc_port)
    world = common_checks.World(kind, library, client, int(http_port), int(grpc_port))
    modules = [common_checks, grpc_checks if world.is_grpc else http_checks]
    checks = [
        (name, check)
        for module in modules
        for name, check in vars(module).items()
        if name.startswith("check_") and getattr(check, "kinds", (kind,)).__contains__(kind)
    ]
    for name, check in checks:
        error = None
        try:
            check(world)
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"check": name[len("check_") :].replace("_", " "), "error": error}), flush=True)
    client.close()
    print(json.dumps({"done": len(checks)}), flush=True)


main()
