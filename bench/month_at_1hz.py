"""A month at one sample a second through every rule of both towns and quality control, beside one-shot array code.

Run as `python -m bench.month_at_1hz [--days N]`. Three channels; samples per second of processor time, memory before
and after, and the same slug rule as one numpy expression over the whole array (and, where installed, ioos-qc's four
tests). Array code sees the month at once, keeps no state over a restart, has no gaps, no evidence and no alarms: it is
the practical limit for the arithmetic alone.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from gateway.config import load
from gateway.drivers.recorded import RecordedSeries
from gateway.drivers.replay import replay
from gateway.site import Site

SITE = """
[site]
id = "bench"
name = "Bench"
discharger = "Dairy"
time_zone = "America/New_York"
ordinances = ["little-valley", "marlborough"]
[buses.tcp]
kind = "modbus-tcp"
host = "127.0.0.1"
[devices.probe]
bus = "tcp"
unit = 1
profile = "hamilton-ph-arc"
[devices.meter]
bus = "tcp"
unit = 2
profile = "siemens-mag6000"
[channels.flow]
quantity = "flow"
unit = "gpm"
device = "meter"
point = "volume_flow"
poll = "1 s"
spike = "100 gpm"
rate = "3000 gpm/min"
flat_after = "4 h"
[channels.ph]
quantity = "pH"
device = "probe"
point = "pH"
poll = "1 s"
spike = "3 pH"
rate = "60 pH/min"
flat_after = "4 h"
[channels.temperature]
quantity = "temperature"
unit = "degC"
device = "probe"
point = "temperature"
poll = "1 s"
spike = "20 degC"
rate = "600 degC/min"
flat_after = "4 h"
[discharging]
flow = "flow"
above = "2 gpm"
[baselines.flow]
mode = "declared"
value = "10 gpm"
approved_by = "Bench"
approved_on = 2015-01-01
[contacts.superintendent]
name = "Super"
notify = ["bench"]
[notify.bench]
"""


def series(path: Path, days: int) -> list[float]:
    """Days of quiet discharge with one slug of 20 minutes each; returns the flows."""
    rng = random.Random(1)
    start = datetime(2026, 10, 1, tzinfo=UTC)
    flows = []
    with path.open("w", encoding="utf-8") as out:
        out.write("time,flow,ph,temperature\n")
        for second in range(days * 86_400):
            in_slug = 36_000 <= second % 86_400 < 37_200
            flow = round((62 if in_slug else 9) + rng.random() * 2, 2)
            flows.append(flow)
            stamp = (start + timedelta(seconds=second)).isoformat()
            out.write(f"{stamp},{flow},{7 + rng.random() / 2:.2f},{25 + rng.random():.1f}\n")
    return flows


def resident_mb() -> float:
    """Memory of this process now."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a piece of work, and its result."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def numpy_slugs(flows: Sequence[float]) -> tuple[float, int] | None:
    """Seconds and count of runs above 50 gpm for longer than 900 s by array code; None without numpy."""
    try:
        numpy = import_module("numpy")
    except ModuleNotFoundError:
        return None
    array = numpy.asarray(flows)

    def work() -> int:
        edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], (array > 50).astype("i1"), [0]))))
        return int(((edges[1::2] - 1 - edges[::2]) > 900).sum())

    return timed(work)


def qartod(flows: Sequence[float]) -> float | None:
    """Seconds of ioos-qc's gross range, spike, rate of change and flat line tests; None where it is not installed."""
    try:
        tests, numpy = import_module("ioos_qc.qartod"), import_module("numpy")
    except ModuleNotFoundError:
        return None
    values = numpy.asarray(flows)
    stamps = numpy.arange(len(values)).astype("datetime64[s]")

    def work() -> None:
        tests.gross_range_test(values, fail_span=(0, 400), suspect_span=(0, 250))
        tests.spike_test(values, suspect_threshold=100, fail_threshold=1000)
        tests.rate_of_change_test(values, stamps, threshold=50)
        tests.flat_line_test(values, stamps, suspect_threshold=14_400, fail_threshold=86_400, tolerance=0.0)

    return timed(work)[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=31)
    days = parser.parse_args(argv).days
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site.toml").write_text(SITE, encoding="utf-8")
        site: Site = load(folder / "site.toml", for_replay=True)
        flows = series(folder / "month.csv", days)
        warm = RecordedSeries(folder / "month.csv", site.channels)
        before_mb = resident_mb()
        spent_s, lines = timed(lambda: replay(site, warm))
        grown_mb = resident_mb() - before_mb
    samples = lines[-1]["samples"]
    raised = sum(line["event"] == "raised" and line["rule"] == "lv-slug-flow" for line in lines)
    print(f"  {days} days at 1 Hz, 3 channels, {len(site.rules)} rules: {samples / spent_s:,.0f} samples/s of CPU")
    print(f"  {raised} slugs found of {days}; memory grew by {grown_mb:.1f} MB over {samples:,} samples")
    if (plain := numpy_slugs(flows)) is not None:
        seconds, count = plain
        ratio = (len(flows) / seconds) / (samples / spent_s)
        print(f"  numpy, the slug rule alone in one shot: {count} slugs, {ratio:,.0f} times as many samples/s")
    if (seconds := qartod(flows)) is not None:
        print(f"  ioos-qc, four tests in one shot: {(len(flows) / seconds) / (samples / spent_s):,.1f} times as many")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
