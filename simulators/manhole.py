"""The control manhole: what passes through it in truth, and what the probes in it make of that.

A process model with a fixed step of one second: streams come from the plant and from the scenario's events, mix in the
trap the probes hang in, and pass the weir that keeps it flooded. Deterministic: the same seed and scenario give the
same numbers, whatever the moments at which anybody looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simulators.plant import PROCESS, Plant
from simulators.probe import PROBES, Noise
from simulators.scenario import Event, EventKind, Scenario
from simulators.water import WEIR, Rating, Stream, ph_from_base

__all__ = ["Manhole", "Truth", "Water"]

_SPIN_UP_S = 900  # run before the scenario starts, so that it begins in the middle of ordinary life
_TRAP_GAL = 8.0  # the flooded part of the channel that the probes hang in
_FLOW_LAG_S = 20.0  # storage in the user's own drain
_TIP_GPM = 1.0  # with less than this the water stands below the probes' tips
_GROUND_C = 14.0
_COOLING_SHARE = 1.0 / 7200.0  # of the difference to the ground, per second


@dataclass(frozen=True, slots=True)
class Water:
    """The discharge at one moment, each quantity in the unit of its name; `total_gal` since the scenario's start."""

    flow_gpm: float
    level_ft: float
    ph: float
    temperature_c: float
    conductivity_us_cm: float
    tss_mg_l: float
    total_gal: float


@dataclass(frozen=True, slots=True)
class Truth:
    """One second: the water in the pipe, what the probes show of it, whether they are wet, which instruments are mute.

    `silent` holds quantities as scenarios name them.
    """

    t_s: int
    pipe: Water
    sensed: Water
    wet: bool
    silent: frozenset[str]


class Manhole:
    """The process model, stepped forward by whoever asks for a later moment. No I/O, no clock."""

    def __init__(self, seed: int, scenario: Scenario, rating: Rating = WEIR) -> None:
        start = scenario.starts_at
        clock_s = start.hour * 3600 + start.minute * 60 + start.second
        self._plant = Plant(seed, clock_s - _SPIN_UP_S, start.weekday())
        self._events = tuple((event, _stream(event)) for event in scenario.events)
        self._noise = Noise(seed)
        self._rating = rating
        self._tip_ft = rating.depth_ft(_TIP_GPM)
        self._probes = tuple(PROBES.values())
        self._lags = tuple((probe.air, probe.share(wet=True), probe.share(wet=False)) for probe in self._probes)
        self._t_s = -_SPIN_UP_S - 1
        self._flow_gpm = self._level_ft = self._total_gal = 0.0
        self._base_meq_l = self._conductivity_us_cm = self._tss_mg_l = 0.0
        self._temperature_c = _GROUND_C
        self._wet = False
        self._lagged = [0.0, 0.0, 7.0, _GROUND_C, 0.0, 0.0]  # in the order of PROBES
        while self._t_s < 0:
            self._step()
        self._total_gal = 0.0

    def at(self, t_s: float) -> Truth:
        """The state in the whole second at or before `t_s`, counted from the scenario's start.

        ValueError for a moment before one already asked for: the model only runs forward.
        """
        second = int(t_s // 1)
        if second < self._t_s:
            raise ValueError(f"the model is at {self._t_s} s and cannot go back to {t_s} s")
        while self._t_s < second:
            self._step()
        silent = (e.quantity for e, _ in self._events if e.kind is EventKind.SILENT and e.at_s <= second < e.until_s)
        flow, level, ph, temperature, conductivity, tss = (
            probe.shown(value, self._noise.at(second, i))
            for i, (probe, value) in enumerate(zip(self._probes, self._lagged, strict=True))
        )
        return Truth(
            t_s=second,
            pipe=Water(*self._pipe(), self._total_gal),
            sensed=Water(flow, level, ph, temperature, conductivity, tss, self._total_gal),
            wet=self._wet,
            silent=frozenset(silent),
        )

    def _step(self) -> None:
        """One second: mix what comes in (implicit Euler, stable at any flow), pass it on, let the probes follow."""
        self._t_s += 1
        flow = base = heat = salt = solids = 0.0
        for gpm, stream in self._inflow():
            flow += gpm
            base += gpm * stream.base_meq_l
            heat += gpm * stream.temperature_c
            salt += gpm * stream.conductivity_us_cm
            solids += gpm * stream.tss_mg_l
        share = 1.0 / (60.0 * _TRAP_GAL + flow)
        self._base_meq_l += (base - flow * self._base_meq_l) * share
        self._temperature_c += (heat - flow * self._temperature_c) * share
        self._temperature_c += (_GROUND_C - self._temperature_c) * _COOLING_SHARE
        self._conductivity_us_cm += (salt - flow * self._conductivity_us_cm) * share
        self._tss_mg_l += (solids - flow * self._tss_mg_l) * share
        self._flow_gpm += (flow - self._flow_gpm) / (1.0 + _FLOW_LAG_S)
        self._level_ft = self._rating.depth_ft(self._flow_gpm)
        self._total_gal += self._flow_gpm / 60.0
        self._wet = self._level_ft > self._tip_ft
        self._follow()

    def _inflow(self) -> Iterator[tuple[float, Stream]]:
        """Every stream of this second: the plant's, then the events' on top of them."""
        running = [(e, stream) for e, stream in self._events if e.at_s <= self._t_s < e.until_s]
        stopped = any(e.kind is EventKind.STOP for e, _ in running)
        flow = 0.0
        for gpm, stream in self._plant.streams(self._t_s + _SPIN_UP_S):
            if not stopped:
                flow += gpm
                yield gpm, stream
        for event, stream in running:
            if event.kind is EventKind.DUMP:
                flow += stream.flow_gpm
                yield stream.flow_gpm, stream
        for event, stream in running:
            if event.kind is EventKind.SLUG and stream.flow_gpm > flow:
                yield stream.flow_gpm - flow, stream
                flow = stream.flow_gpm

    def _follow(self) -> None:
        """The probes go their share of the way to the water, or, when dry, to what each shows in air."""
        lagged, pipe, wet = self._lagged, self._pipe(), self._wet
        for i, (air, wet_share, dry_share) in enumerate(self._lags):
            if wet or air is None:
                lagged[i] += (pipe[i] - lagged[i]) * wet_share
            else:
                lagged[i] += (air - lagged[i]) * dry_share

    def _pipe(self) -> tuple[float, float, float, float, float, float]:
        """What the probes are after, in the order of PROBES."""
        ph = ph_from_base(self._base_meq_l)
        return self._flow_gpm, self._level_ft, ph, self._temperature_c, self._conductivity_us_cm, self._tss_mg_l


def _stream(event: Event) -> Stream:
    """The water of an event: what it says, and the plant's ordinary water in everything else."""

    def given(value: float | None, usual: float) -> float:
        return usual if value is None else value

    return Stream(
        flow_gpm=event.flow_gpm,
        ph=given(event.ph, PROCESS.ph),
        temperature_c=given(event.temperature_c, PROCESS.temperature_c),
        conductivity_us_cm=given(event.conductivity_us_cm, PROCESS.conductivity_us_cm),
        tss_mg_l=given(event.tss_mg_l, PROCESS.tss_mg_l),
    )
