"""What each dependency costs the gateway: time to import it and memory that it keeps.

Run as `python -m bench.dependencies`. Each figure is the median of seven fresh interpreters, on top of the parts of the
standard library that the gateway loads anyway; byte code is compiled beforehand, as on an installed gateway.
"""

import platform
import statistics
import subprocess
import sys

MODULES = {
    "pymodbus": "pymodbus.client",
    "pyserial": "serial",
    "paho-mqtt": "paho.mqtt.client",
    "pydantic": "pydantic",
    "urllib3": "urllib3",
    "dbus-fast": "dbus_fast.aio",
    "iotcore": "iotcore",
    "rich": "rich.live, rich.table, rich.panel",
}
STANDARD = "asyncio, json, logging, sqlite3, tomllib"
RUNS = 7

_PROBE = """
import time
{before}


def resident_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


before_kib, start = resident_kib(), time.perf_counter()
import {module}
print((time.perf_counter() - start) * 1000, resident_kib() - before_kib)
"""


def cost(module: str, before: str = STANDARD) -> tuple[float, float]:
    """Median import time in ms and growth of resident memory in MiB."""
    runs = []
    for _ in range(RUNS + 1):
        ended = subprocess.run(
            [sys.executable, "-c", _PROBE.format(module=module, before=f"import {before}")],
            capture_output=True,
            text=True,
            check=True,
        )
        import_ms, grown_kib = ended.stdout.split()
        runs.append((float(import_ms), float(grown_kib)))
    counted = runs[1:]  # the first one compiles
    return statistics.median(ms for ms, _ in counted), statistics.median(kib for _, kib in counted) / 1024


def main() -> None:
    """Print one line per dependency."""
    print(f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}, median of {RUNS}")
    figures = {f"standard library ({STANDARD})": cost(STANDARD, before="sys")}
    figures |= {name: cost(module) for name, module in MODULES.items()}
    for name, (import_ms, grown_mib) in figures.items():
        print(f"{name:62} import {import_ms:6.0f} ms   resident +{grown_mib:5.1f} MiB")


if __name__ == "__main__":
    main()
