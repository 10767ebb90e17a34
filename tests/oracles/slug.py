"""The slug rule by brute force, written from its text: every question is answered by looking over the whole series.

Times are whole seconds after a local midnight, values multiples of one half, so that every sum here is exact in a
float. Shares no code with the product; it is slow on purpose.
"""

from dataclasses import dataclass, field

DAY = 86_400
MISSING, SERVICE = "missing", "service"

Sample = tuple[int, float | str]
Event = tuple[str, int, int, int]  # what, since, at, duration


@dataclass
class Law:
    """One threshold and how it is judged. `mode` is fixed, declared, operating or literal-24h."""

    mode: str
    number: float  # the limit, or the declared baseline
    factor: float = 5.0
    frozen: bool = True
    floor: float | None = None
    strict: bool = True
    least_s: int = 3600
    hold_s: int = 3000
    bridge_gap_s: int = 6000
    bridge_dip_s: int = 2400
    wet_at: float = 0.0
    min_days: int = 1


@dataclass
class Judged:
    """The events in order, and the threshold each valid sample was compared with."""

    events: list[Event] = field(default_factory=list)
    thresholds: list[float | None] = field(default_factory=list)


def held(samples: list[Sample], begin: int, end: int, hold_s: int) -> list[tuple[float, int]]:
    """Value and seconds of every stretch in [begin, end) in which a value was known: held, but not past the hold."""
    words = [s for s in samples if s[1] != MISSING]
    stretches = []
    for index, (at, value) in enumerate(words):
        until = min(at + hold_s, words[index + 1][0] if index + 1 < len(words) else end, end)
        if value != SERVICE and until > max(at, begin):
            stretches.append((float(value), until - max(at, begin)))
    return stretches


def literal(samples: list[Sample], now: int, law: Law) -> float | None:
    """Volume over the time of a valid flow, idle time included, in the 24 h up to the last full minute."""
    end = now // 60 * 60
    stretches = held(samples, max(0, end - DAY), end, law.hold_s)
    known = sum(s for _, s in stretches)
    return sum(v * s for v, s in stretches) / known if known * 2 >= DAY else None


def operating(samples: list[Sample], now: int, law: Law, eventful: set[int]) -> float | None:
    """Volume over discharging time in the last 30 closed days without an event and with three quarters known."""
    days = []
    for day in reversed(range(now // DAY)):
        stretches = held(samples, day * DAY, (day + 1) * DAY, law.hold_s)
        wet = [(v, s) for v, s in stretches if v >= law.wet_at]
        valid = sum(s for _, s in wet)
        discharging = valid + DAY - sum(s for _, s in stretches)
        if day not in eventful and discharging and valid * 4 >= discharging * 3:
            days.append(wet)
    if len(days) < law.min_days:
        return None
    wet = [stretch for day in days[:30] for stretch in day]
    return sum(v * s for v, s in wet) / sum(s for _, s in wet)


def threshold_at(samples: list[Sample], now: int, law: Law, eventful: set[int]) -> float | None:
    """What the value is compared with at this moment, were no event under way."""
    if law.mode == "fixed":
        return law.number
    if law.mode == "declared":
        baseline: float | None = law.number
    elif law.mode == "operating":
        baseline = operating(samples, now, law, eventful)
    else:
        baseline = literal(samples, now, law)
    if baseline is not None and law.floor is not None:
        baseline = max(baseline, law.floor)
    return None if baseline is None else law.factor * baseline


def proves(duration: int, law: Law) -> bool:
    """Longer than, or at least."""
    return duration > law.least_s if law.strict else duration >= law.least_s


class _Chain:
    """The samples that count as one bridged, suspected event, by scanning back from the newest."""

    def __init__(self, valid: list[tuple[int, bool]], law: Law, cut: int) -> None:
        self.since: int | None = None
        self.seen = self.dip = None  # type: ignore[assignment]  # seconds, or nothing yet
        for at, exceeds in valid[cut:]:
            if self.since is not None and not self.alive(at, law):
                self.since = None
            if self.since is None:
                if exceeds:
                    self.since, self.seen, self.dip = at, at, None
                continue
            self.seen = at
            self.dip = None if exceeds else (at if self.dip is None else self.dip)

    def alive(self, now: int, law: Law) -> bool:
        """Whether a sample now would still belong to it."""
        if self.since is None:
            return False
        return now - self.seen <= law.bridge_gap_s and (self.dip is None or now - self.dip <= law.bridge_dip_s)


def judge(samples: list[Sample], law: Law) -> Judged:
    """Raised, cleared, interrupted and suspected events of a whole series."""
    judged = Judged()
    valid: list[tuple[int, bool]] = []  # time, exceeds
    eventful: set[int] = set()
    run: list[int] = []  # times of the exceeding samples of the proven track
    proven = told = False
    cut = 0  # valid samples before this one belong to no suspected event any more
    threshold: float | None = None

    def tell(what: str, since: int, at: int, duration: int, known_at: int) -> None:
        judged.events.append((what, since, at, duration))
        eventful.update(range(since // DAY, known_at // DAY + 1))

    open_since: int | None = None
    for index, (now, value) in enumerate(samples):
        if open_since is not None:
            eventful.update(range(open_since // DAY, now // DAY + 1))
        if run and now - run[-1] > law.hold_s:
            if proven:
                tell("interrupted", run[0], run[-1] + law.hold_s, run[-1] - run[0], now)
                told = False
            else:
                judged.events.append(("interrupted", run[0], run[-1] + law.hold_s, run[-1] - run[0]))
            run, proven, open_since = [], False, None
        chain = _Chain(valid, law, cut)
        under_way = bool(run) or chain.alive(now, law)
        if not chain.alive(now, law):
            told = told and bool(run)
        if not (law.frozen and under_way):
            threshold = threshold_at(samples[: index + 1], now, law, eventful)
            if threshold is None:
                if run:
                    if proven:
                        tell("interrupted", run[0], now, run[-1] - run[0], now)
                    else:
                        judged.events.append(("interrupted", run[0], now, run[-1] - run[0]))
                run, proven, told, open_since, cut = [], False, False, None, len(valid)
        if isinstance(value, str):
            continue
        judged.thresholds.append(threshold)
        if threshold is None:
            continue
        exceeds = value > threshold
        valid.append((now, exceeds))
        if not exceeds:
            if proven:
                tell("cleared", run[0], now, run[-1] - run[0], now)
            run, proven, open_since = [], False, None
            continue
        run.append(now)
        if not proven and proves(now - run[0], law):
            proven = told = True
            open_since = run[0]
            tell("raised", run[0], now, now - run[0], now)
        since = _Chain(valid, law, cut).since
        if not told and since is not None and proves(now - since, law):
            told = True
            tell("suspected", since, now, now - since, now)
    return judged
