"""How often sensor diagnosis was wrong on recorded series, and how soon it finds a damped probe (docs/quality.md 4.11).

Run as `python -m bench.diagnosis_series`; it needs the recorded series in ../shared/data.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway.diagnosed import Diagnosed, Tamper
from gateway.model import Fault, Instant, Sample
from gateway.pipeline import Pipeline
from gateway.problems import Problems
from gateway.site import Channel, Discharging, Site, Span
from gateway.site_alarms import build_alarms

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHOWN = ("attenuated", "broken_glass", "night_fall", "night_rise", "held", "level_jump", "over_pipe")
NOTHING = (-9999.0, 7999.0)  # of the Logan River's loggers
S = 1_000_000
_AT_REST = 8.6  # the river's usual pH, about which the swing is cut


@dataclass(frozen=True, slots=True)
class Series:
    """A recorded series: its file, the column of each channel, and the technician's marks where there are any."""

    name: str
    file: str
    columns: Mapping[str, str]
    channels: tuple[Channel, ...]
    marks: Mapping[str, str]


def channel(name: str, quantity: str, unit: str, poll_s: float, **diagnosed: object) -> Channel:
    """A channel at the pace of its series."""
    poll_us = round(poll_s * S)
    span = {"pH": Span(0, 14), "temperature": Span(-20, 150)}.get(quantity, Span())
    return Channel(
        name, quantity, unit, poll_us, poll_us * 5 // 2, poll_us * 5, sentinels=NOTHING, fail_span=span,
        diagnosed=Diagnosed(**diagnosed),  # type: ignore[arg-type]  # its fields by name
    )  # fmt: skip


def probes(poll_s: float, ph: float | None, conductivity: float | None) -> tuple[Channel, ...]:
    """pH, temperature and conductivity with every default on; the numbers are what the instruments resolve."""
    return (
        channel("ph", "pH", "pH", poll_s, resolution=ph, attenuation=0.25, glass=True),
        channel("temperature", "temperature", "degC", poll_s, resolution=0.01),
        channel("conductivity", "conductivity", "uS/cm", poll_s, resolution=conductivity, night=-0.3),
    )


THREE = {"ph": "ph", "temperature": "temp_C", "conductivity": "cond_uS_cm"}
SEWAGE = {
    "ph": "ras_ph", "temperature": "ras_temp_C", "conductivity": "permeate_cond_uS_cm", "flow": "sewage_flow",
    "level": "sewage_level",
}  # fmt: skip
LOGAN = Series(
    "Logan River", "05_logan_river_pyhydroqc/MainStreet2019.csv", {**THREE, "flow": "stage_cm"},
    (*probes(900, 0.01, 0.1), channel("flow", "flow", "gpm", 900, resolution=0.1, night=0.5)),
    {"ph": "ph_q", "conductivity": "cond_q", "temperature": "temp_q", "flow": "stage_q"},
)  # fmt: skip
EVERY = (
    LOGAN,
    Series("Poudre River", "07_poudre_urban_sondes/udall.csv", THREE, probes(900, 0.01, 0.1), {}),
    Series(
        "sewage works", "03_mines_sbmbr_sewage/sbmbr.csv", SEWAGE,
        (*probes(601, 0.1, 0.5), channel("flow", "flow", "gpm", 601, night=0.5),
         channel("level", "level", "ft", 601, jump=0.328, night=0.5)), {},
    ),
    Series(
        "flow pulses", "09_floodx_flow_pulses/floodx_p1_flow.csv", {"flow": "flow_l_s"},
        (channel("flow", "flow", "gpm", 15, night=0.5, capacity=1e9),), {},
    ),
)  # fmt: skip


def site(channels: tuple[Channel, ...]) -> Site:
    """A site without rules."""
    by_name = {one.name: one for one in channels}
    alarms = build_alarms({}, [], by_name, [], Problems("site.toml", {}), complete=True, tamper=True)
    return Site(
        id="x", name="x", discharger="x", time_zone="America/Denver", channels=by_name, rules=(), alarms=alarms,
        discharging=Discharging(applies_to=frozenset(THREE)), contacts=(), buses={}, devices={}, sinks=(),
        notifiers=(), baselines={}, config_hash="", tamper=Tamper(),
    )  # fmt: skip


def rows(series: Series) -> Iterator[tuple[datetime, dict[str, str]]]:
    """Its rows in the order of their times, UTC."""
    last = None
    with (DATA / series.file).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            moment = datetime.fromisoformat(row["timestamp"])
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            if last is None or moment > last:
                yield moment, row
                last = moment


def number(text: str) -> float | None:
    """A cell as a number; an empty one is none."""
    return None if text in {"", "nan", "NaN"} else float(text)


def sample(name: str, at: Instant, value: float | None) -> Sample:
    """One cell as the gateway hears it."""
    return Sample(name, at, (), value, Fault.NO_SAMPLE if value is None else None)


def instant(moment: datetime) -> Instant:
    """The same moment on both axes."""
    return Instant(round(moment.timestamp() * S), round(moment.timestamp() * S))


def flags(series: Series) -> None:
    """Prints how many samples of each channel carried which test, in how many stretches, and how many were marked."""
    pipeline: Pipeline | None = None
    heard, flagged, stretches, marked = (
        Counter[str](),
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
        Counter(),
    )
    before: set[tuple[str, str]] = set()
    for moment, row in rows(series):
        at = instant(moment)
        pipeline = pipeline or Pipeline(site(series.channels), at)
        outcome = pipeline.process([sample(n, at, number(row[c])) for n, c in series.columns.items()], at)
        now = set()
        for reading in outcome.readings:
            heard[reading.channel] += 1
            now |= {(reading.channel, test) for test in reading.tests if test in SHOWN}
        flagged.update(now)
        stretches.update(now - before)
        marked.update(key for key in now if row.get(series.marks.get(key[0], ""), ""))
        before = now
    print(f"{series.name}: {max(heard.values())} samples")
    for (name, test), count in sorted(flagged.items()):
        found = f"{count} samples ({count / heard[name]:.1%}) in {stretches[name, test]} stretches"
        print(f"  {name} {test}: {found}" + (f", {marked[name, test]} of them marked" if series.marks else ""))
    if not flagged:
        print("  none")


def damped(share: float, start: datetime) -> float | None:
    """After how many hours the Logan River's pH, its swing cut to a share from `start` on, is called damped."""
    pipeline: Pipeline | None = None
    for moment, row in rows(LOGAN):
        value = number(row["ph"])
        if not start - timedelta(days=45) <= moment <= start + timedelta(days=10) or value is None:
            continue
        at = instant(moment)
        pipeline = pipeline or Pipeline(site(LOGAN.channels[:1]), at)
        cut = _AT_REST + (value - _AT_REST) * share if moment >= start else value
        (reading,) = pipeline.process([sample("ph", at, cut)], at).readings
        if moment >= start and "attenuated" in reading.tests:
            return (moment - start).total_seconds() / 3600
    return None


def main() -> int:
    """Print all of it; 1 where the series are not at hand."""
    if not (DATA / LOGAN.file).exists():
        print("the recorded series are not here: ../shared/data")
        return 1
    for series in EVERY:
        flags(series)
    for month in (3, 5, 7):
        after = damped(0.4, datetime(2019, month, 1, tzinfo=UTC))
        print(
            f"swing cut to 0.4 on 2019-{month:02}-01: " + ("not found in ten days" if after is None else f"{after:g} h")
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
