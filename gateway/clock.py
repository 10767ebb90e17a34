"""The only module that reads a clock. Everything else is handed an `Instant`."""

import asyncio
import ctypes
import os
import time
from pathlib import Path
from typing import Protocol

from gateway.model import Instant

__all__ = ["Clock", "SystemClock", "ScaledClock"]

_STA_UNSYNC = 0x40  # adjtimex(2), status bit
_FASTEST = 1e6
_TIME_ERROR = 5  # adjtimex(2), return value: clock not synchronised


class Clock(Protocol):
    """A source of Instants. Safe to call from any thread; `sleep` from the event loop only."""

    @property
    def axis(self) -> str:
        """The name of the monotonic axis: stamps of two processes can be compared when it is the same (the boot id)."""
        ...

    def now(self) -> Instant:
        """The present moment."""
        ...

    async def sleep(self, duration_us: int) -> None:
        """Wait for a duration on the monotonic axis; at least one turn of the loop when it is not positive."""
        ...


class SystemClock:
    """Wall clock and CLOCK_BOOTTIME of this machine (monotonic, counts suspend)."""

    @property
    def axis(self) -> str:
        """The kernel's id of this boot; systemd hands it in as BOOT_ID where /proc is hidden."""
        handed_in = os.environ.get("BOOT_ID")
        if handed_in:
            return handed_in.replace("-", "")
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")
        except OSError:
            return "unknown"

    def now(self) -> Instant:
        """The present moment; `synced` as the kernel says."""
        return Instant(time.time_ns() // 1000, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000, _kernel_synced())

    async def sleep(self, duration_us: int) -> None:
        """Wait in real time."""
        await asyncio.sleep(max(0, duration_us) / 1e6)


class ScaledClock:
    """The bench's clock: `speed` virtual seconds in every real one, from an anchor two processes can share.

    `anchor_mono_us` is a reading of CLOCK_BOOTTIME and `anchor_utc_us` the virtual UTC at that reading; the virtual
    monotonic axis starts at zero there.
    """

    def __init__(self, speed: float, anchor_mono_us: int | None = None, anchor_utc_us: int | None = None) -> None:
        if not 0 < speed <= _FASTEST:
            raise ValueError(f"speed must be above zero and at most {_FASTEST:g}, not {speed}")
        real = SystemClock().now()
        self.speed = speed
        self.anchor_mono_us = real.mono_us if anchor_mono_us is None else anchor_mono_us
        self.anchor_utc_us = real.utc_us if anchor_utc_us is None else anchor_utc_us

    @property
    def axis(self) -> str:
        """The anchor and the speed: two processes that share them share the axis."""
        return f"bench-{self.anchor_mono_us}-{self.anchor_utc_us}-{self.speed:g}"

    def now(self) -> Instant:
        """The present virtual moment, always trusted."""
        real_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        elapsed_us = int((real_us - self.anchor_mono_us) * self.speed)
        return Instant(self.anchor_utc_us + elapsed_us, elapsed_us, True)

    async def sleep(self, duration_us: int) -> None:
        """Wait for a virtual duration."""
        await asyncio.sleep(max(0, duration_us) / 1e6 / self.speed)


class _Timex(ctypes.Structure):
    """struct timex of adjtimex(2), as far as the status word; the rest is room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("room", ctypes.c_char * 256),
    )


_LIBC = ctypes.CDLL(None, use_errno=True)  # found once: `now` is asked several times in every poll


def _kernel_synced() -> bool:
    """Whether the kernel believes its clock; a kernel that will not say counts as untrusted."""
    timex = _Timex()
    try:
        state = _LIBC.adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return False
    return 0 <= state != _TIME_ERROR and not timex.status & _STA_UNSYNC
