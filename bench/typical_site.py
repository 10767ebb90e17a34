"""Memory and processor time of one gateway at ten channels every 5 s, in real time, with everything on.

Run as `python -m bench.typical_site [--seconds N] [--commit-every '10 s']`. The gateway is a process of its own, on
simulated instruments over TCP, judging with the little-valley pack, committing with synchronous=FULL, publishing at
QoS 1 to mosquitto. Figures come from /proc, after ten seconds of warming up.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gateway.clock import SystemClock
from gateway.config import load
from simulators import scenario as scenarios
from simulators.bench import Bench
from simulators.broker import Broker

WARM_UP_S = 10
CHANNELS = (
    ("ph", "pH", "pH", "analyser", "AI1", "pH"),
    ("temperature", "temperature", "degC", "analyser", "AI2", "degC"),
    ("conductivity", "conductivity", "uS/cm", "analyser", "AI3", "mS/cm"),
    ("tss", "tss", "mg/L", "analyser", "AI4", "mg/L"),
    ("turbidity", "turbidity", "FNU", "analyser", "AI5", "FNU"),
    ("orp", "orp", "mV", "analyser", "AI6", "mV"),
    ("flow", "flow", "gpm", "meter", "volume_flow", ""),
    ("level", "level", "ft", "depth", "P1", ""),
    ("ph_spare", "pH", "pH", "probe", "pH", ""),
    ("temperature_spare", "temperature", "degC", "probe", "temperature", ""),
)
DEVICES = (("analyser", "eh-liquiline-cm44x"), ("meter", "siemens-mag6000"), ("depth", "keller-series30"))
DEVICES += (("probe", "hamilton-ph-arc"),)


def site_text(tcp_port: int, mqtt_port: int, commit_every: str) -> str:
    """The site file of the measurement."""
    lines = ['[site]\nid = "typical"\nname = "Typical"\ndischarger = "Dairy"\ntime_zone = "UTC"']
    lines += ['ordinances = ["little-valley"]', f'[journal]\ncommit_every = "{commit_every}"']
    lines += [f'[buses.tcp]\nkind = "modbus-tcp"\nhost = "127.0.0.1"\ntcp_port = {tcp_port}']
    for unit, (name, profile) in enumerate(DEVICES, start=1):
        lines.append(f'[devices.{name}]\nbus = "tcp"\nunit = {unit}\nprofile = "{profile}"')
    for name, quantity, unit_name, device, point, source in CHANNELS:
        lines.append(f'[channels.{name}]\nquantity = "{quantity}"\nunit = "{unit_name}"\ndevice = "{device}"')
        lines.append(f'point = "{point}"\npoll = "5 s"' + (f'\nsource_unit = "{source}"' if source else ""))
        if name == "level":
            lines.append('conversion = "water-column"')
    lines.append('[baselines.flow]\nmode = "declared"\nvalue = "10 gpm"')
    lines.append('approved_by = "Bench"\napproved_on = 2015-01-01')
    lines.append('[contacts.superintendent]\nname = "Super"\nnotify = ["bench"]\n[notify.bench]')
    lines.append(f'[sinks.mqtt]\nhost = "127.0.0.1"\nport = {mqtt_port}')
    return "\n".join(lines) + "\n"


async def measure(seconds: int, commit_every: str) -> None:
    """Run it and print the figures."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = folder / "site.toml"
        broker = Broker(folder)
        await broker.start()
        site.write_text(site_text(502, broker.port, commit_every), encoding="utf-8")
        bench = Bench(scenarios.load("normal-day"), load(site), clock)
        buses = await bench.start()
        feeding = asyncio.create_task(bench.run())
        site.write_text(site_text(buses["tcp"].tcp_port, broker.port, commit_every), encoding="utf-8")
        command = ["-m", "gateway", "run", str(site), "--state", str(folder / "state")]
        quiet = asyncio.subprocess.DEVNULL
        gateway = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=quiet, stderr=quiet)
        try:
            await asyncio.sleep(WARM_UP_S)
            before, begun_us = used_s(gateway.pid), clock.now().mono_us
            written = written_bytes(gateway.pid)
            await asyncio.sleep(seconds)
            spent_s = (clock.now().mono_us - begun_us) / 1e6
            cpu = (used_s(gateway.pid) - before) / spent_s
            points = len(CHANNELS) / 5 * spent_s
            mb_day = (written_bytes(gateway.pid) - written) * 86_400 / spent_s / 1e6
            print(f"  RSS {rss_mb(gateway.pid):.1f} MB, CPU {cpu:.2%} of one core at 10 channels every 5 s,")
            print(f"  {cpu * spent_s * 1000 / points:.2f} CPU s per 1,000 points, {mb_day:.0f} MB/day written,")
            print(f"  commit_every {commit_every}, {broker.name}, {seconds} s")
        finally:
            gateway.terminate()
            await gateway.wait()
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            await bench.stop()
            await broker.kill()


def used_s(pid: int) -> float:
    """Processor seconds of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Resident memory now."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def written_bytes(pid: int) -> int:
    """Bytes a process has caused to be written to storage (without the file system's own)."""
    lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("write_bytes")))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--commit-every", default="10 s")
    arguments = parser.parse_args(argv)
    asyncio.run(measure(arguments.seconds, arguments.commit_every))
    return 0


if __name__ == "__main__":
    sys.exit(main())
