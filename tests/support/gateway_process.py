"""The gateway as a process of its own, on a bench clock that outlives it."""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path

from gateway.clock import ScaledClock

__all__ = ["GatewayProcess"]


@dataclass
class GatewayProcess:
    """`manhole-gateway run SITE` in `folder`. `kill` is kill -9; a new `start` has the same journal and clock."""

    site: Path
    folder: Path
    clock: ScaledClock
    starts: int = field(default=0, init=False)
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)

    @property
    def journal(self) -> Path:
        """Its journal file."""
        return self.folder / "state" / "journal.db"

    @property
    def log(self) -> str:
        """Everything it wrote to stderr."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("log-*.txt")))

    async def start(self) -> None:
        """Start it; returns at once."""
        anchor = f"{self.clock.speed:g}@{self.clock.anchor_mono_us}/{self.clock.anchor_utc_us}"
        command = [
            "-m",
            "gateway",
            "run",
            str(self.site),
            "--state",
            str(self.folder / "state"),
            "--bench-clock",
            anchor,
        ]
        self.starts += 1
        with (self.folder / f"log-{self.starts}.txt").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=log, stderr=log)

    async def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def stop(self) -> int:
        """SIGTERM, and the exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.terminate()
        return await process.wait()
