"""A Modbus TCP server in a network of its own, so that the wire to it can be cut without either side being told.

Needs root and `ip netns`; `usable` says whether this machine has them.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

_SERVER = """
import asyncio
async def serve(reader, writer):
    while True:
        frame = await reader.readexactly(12)
        writer.write(frame[:4] + bytes((0, 5)) + frame[6:8] + bytes((2, 0x12, 0x34)))
async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", 1502)
    print("listening", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

PORT = 1502


def usable() -> bool:
    """Whether network namespaces can be made here."""
    name = f"mg-try-{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    except OSError:
        return False
    if made:
        _ip("netns", "del", name)
    return made


class FarNetwork:
    """`host` has a server on `PORT` that answers every read with 0x1234."""

    def __init__(self) -> None:
        number = os.getpid() % 250
        self.host = f"10.213.{number}.2"
        self._here = f"10.213.{number}.1"
        self._name = f"mg-far-{os.getpid()}"
        self._wire = f"mg{os.getpid()}"

    def cut(self) -> None:
        """From now on nothing passes; neither side hears of it."""
        # The far end forgets its own address: what comes is for nobody, and what it sends is from nobody.
        _ip("-n", self._name, "addr", "flush", "dev", f"{self._wire}f")

    @contextlib.contextmanager
    def up(self) -> Iterator["FarNetwork"]:
        """The network, its wire and its server, until the end of the block."""
        _ip("netns", "add", self._name)
        server = None
        try:
            _ip("link", "add", f"{self._wire}n", "type", "veth", "peer", "name", f"{self._wire}f", "netns", self._name)
            _ip("addr", "add", f"{self._here}/24", "dev", f"{self._wire}n")
            _ip("link", "set", f"{self._wire}n", "up")
            _ip("-n", self._name, "addr", "add", f"{self.host}/24", "dev", f"{self._wire}f")
            _ip("-n", self._name, "link", "set", f"{self._wire}f", "up")
            server = subprocess.Popen(
                ["ip", "netns", "exec", self._name, sys.executable, "-c", _SERVER], stdout=subprocess.PIPE
            )
            assert server.stdout is not None
            assert server.stdout.readline() == b"listening\n"
            yield self
        finally:
            if server is not None:
                server.kill()
                server.wait()
                assert server.stdout is not None
                server.stdout.close()
            subprocess.run(["ip", "link", "del", f"{self._wire}n"], capture_output=True, check=False)
            _ip("netns", "del", self._name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True)
