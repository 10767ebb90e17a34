"""A broker for the bench: mosquitto where it is installed, else the rumqttd that iotcore carries. Loopback only."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
from pathlib import Path

from gateway.errors import InputError

__all__ = ["Broker"]

_UP_WITHIN_S = 10.0
_IOTCORE_CONFIG = """
id = 0
[router]
id = 0
max_connections = 100
max_outgoing_packet_count = 200
max_segment_size = 104857600
max_segment_count = 10
[v5.1]
name = "v5-1"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
    [v5.1.connections]
    connection_timeout_ms = 60000
    max_payload_size = 262144
    max_inflight_count = 100
    dynamic_filters = true
"""
_IOTCORE_PROGRAM = """
import sys
from iotcore import IotCoreBroker
IotCoreBroker(config_path=sys.argv[1]).run_forever()
"""


class Broker:
    """One broker process on a free port of the loopback. `start`, `kill`, `start` again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.host = "127.0.0.1"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def name(self) -> str:
        """Which broker this is."""
        return "mosquitto" if _mosquitto() else "iotcore"

    async def start(self) -> None:
        """Start it and wait until its port answers. InputError when there is no broker to start."""
        program = _mosquitto()
        if program is not None:
            config = self.folder / "mosquitto.conf"
            lines = [f"listener {self.port} {self.host}", "allow_anonymous true", "persistence false", "log_dest none"]
            if os.geteuid() == 0:
                lines.append("user root")  # else it drops its rights and cannot read a private folder
            config.write_text("\n".join(lines) + "\n", encoding="utf-8")
            command = [program, "-c", str(config)]
        else:
            config = self.folder / "rumqttd.toml"
            config.write_text(_IOTCORE_CONFIG.format(port=self.port), encoding="utf-8")
            command = [sys.executable, "-c", _IOTCORE_PROGRAM, str(config)]
        quiet = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            *command, stdout=quiet, stderr=quiet, start_new_session=True
        )
        await self._wait_until_up()

    async def kill(self) -> None:
        """kill -9: whatever it had not passed on is lost."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def _wait_until_up(self) -> None:
        try:
            async with asyncio.timeout(_UP_WITHIN_S):
                while True:
                    with contextlib.suppress(OSError):
                        _, writer = await asyncio.open_connection(self.host, self.port)
                        writer.close()
                        return
                    if self._process is None or self._process.returncode is not None:
                        raise InputError(f"the {self.name} broker did not start")
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise InputError(f"the {self.name} broker did not answer on port {self.port}") from error


def _mosquitto() -> str | None:
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
