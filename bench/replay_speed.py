"""How fast a recorded series goes through every test and rule of the little-valley example, in pure Python.

Run as `python -m bench.replay_speed`. Six channels every 15 s for two days, median of five runs; a sample is one cell.
"""

import random
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway.config import load
from gateway.drivers.recorded import RecordedSeries
from gateway.drivers.replay import replay
from gateway.shipped import shipped

ROWS = 2 * 5760
RUNS = 5


def series(path: Path) -> None:
    """A day that violates nothing: quiet values with noise, seeded."""
    rng = random.Random(1)
    start = datetime(2026, 11, 1, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as out:
        out.write("time,ph,temperature,flow,conductivity,tss,level\n")
        for row in range(ROWS):
            stamp = (start + timedelta(seconds=15 * row)).isoformat()
            noise = [rng.random() for _ in range(6)]
            out.write(
                f"{stamp},{7 + noise[0]:.2f},{25 + noise[1]:.1f},{10 + noise[2]:.2f},{800 + 20 * noise[3]:.0f},"
                f"{300 + 20 * noise[4]:.0f},{0.3 + noise[5] / 10:.3f}\n"
            )


def main() -> None:
    """Print samples per second, reading the file included."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        series(path)
        speeds = []
        for _ in range(RUNS):
            begun = time.perf_counter()
            summary = replay(site, RecordedSeries(path, site.channels))[-1]
            speeds.append(summary["samples"] / (time.perf_counter() - begun))
    print(f"  {statistics.median(speeds):,.0f} samples/s (from {min(speeds):,.0f} to {max(speeds):,.0f}, {RUNS} runs)")


if __name__ == "__main__":
    main()
