"""Every rule over windows against the slow reading of the law, on a thousand random series for each kind."""

import random
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from operator import ge, gt

from gateway.model import Finding, Instant
from gateway.rules.average import AverageRule
from gateway.rules.excursion import MonthlyExcursionRule, SingleExcursionRule
from gateway.rules.share import ShareRule
from gateway.rules.volume import VolumeRule
from gateway.signals.qc import evidence
from gateway.site import Span, TownFlow
from tests.oracles import windows as oracle
from tests.support.day_book import DayBook
from tests.support.ledger_feed import ZONE, Clock, Feed, Word, channel, reading, rule

SERIES = 1_000
HOLD_S = 100
MIDNIGHT_AT_S = 420  # stories of 24 minutes cross a local midnight in their seventh
UNTIL_S = 1_440
STORY = Clock(Clock().utc_s - MIDNIGHT_AT_S)
MONTH_END = Clock(1_796_101_200 - MIDNIGHT_AT_S)  # 1 December 2026 in New York
GAPS_S = (7, 40, 40, 40, 60, 80, 99, 100, 101, 160)


def words(rng: random.Random, kinds: str, values: Sequence[int]) -> list[Word]:
    """Words of these kinds with values in tenths, until the story ends."""
    second, found = 0, []
    while (second := second + rng.choice(GAPS_S)) < UNTIL_S:
        found.append((second, rng.choice(kinds), Fraction(rng.choice(values), 10)))
    return found


def seconds_of(findings: Sequence[Finding], clock: Clock) -> list[tuple[str, int]]:
    """Event and the second at which it was settled."""
    return [(f.event.value, (f.at.mono_us - clock.at(0).mono_us) // 1_000_000) for f in findings]


def test_daily_averages() -> None:
    """The day by its fixed window; in a tenth of the series the rolling warnings too."""
    events: set[str] = set()
    for seed in range(SERIES):
        rng = random.Random(seed)
        levels = [rng.randrange(400) for _ in range(rng.choice((1, 2, 5)))]
        series, flow = words(rng, "vvvvvvvmfdyM", levels), words(rng, "vvvvvvvnmfdM", [rng.randrange(200), 50])
        limit, coverage = Fraction(rng.choice(levels), 10), rng.choice((2**-10, 2**-9, 2**-8))
        feed = Feed(clock=STORY, hold_s=HOLD_S)
        law = rule(limit=float(limit), coverage=coverage)
        feed.judges.append(AverageRule(law, feed.spec, {}, feed.start, feed.ledger, ZONE))
        found = feed.play(series, flow, until_s=UNTIL_S)
        told = [f for f in found if f.event != "prealarm"]
        want = oracle.day_average(series, flow, HOLD_S, MIDNIGHT_AT_S, limit, Fraction(coverage))
        assert seconds_of(told, STORY) == want, seed
        events |= {event for event, _ in want} or {"silence"}
        if seed % 10 == 0:
            warned = [at for event, at in seconds_of(found, STORY) if event == "prealarm"]
            assert warned == oracle.rolling_warnings(series, flow, HOLD_S, UNTIL_S, limit, Fraction(coverage)), seed
    assert events == {"raised", "suspected", "not_evaluable", "silence"}


def book_and_days(
    rng: random.Random, first: str, count: int
) -> tuple[DayBook, list[oracle.Day], list[dict[str, object]]]:
    """A book to be filled, and the days to fill it with."""
    levels = [rng.randrange(900, 1100) for _ in range(3)]
    days, facts = [], []
    for _ in range(count):
        kind = rng.choice("dddddddddddddddtuiz")  # discharge, thin, unknown flow, idle, zero water
        gal = {"u": None, "i": Fraction(0), "z": Fraction(0)}.get(kind, Fraction(rng.randrange(1, 30) * 100))
        covered = {"t": Fraction(1, 2), "i": None}.get(kind, rng.choice((Fraction(1), Fraction(3, 4))))
        flow_covered = rng.choice((Fraction(1), Fraction(1), Fraction(3, 4), Fraction(1, 2)))
        day = oracle.Day(Fraction(rng.choice(levels), 10), gal, covered, flow_covered)
        days.append(day)
        facts.append(
            {"mean": day.mean, "gal": day.gal, "coverage": covered or 0, "discharging": covered is not None,
             "flow_coverage": flow_covered}
        )  # fmt: skip
    return DayBook(first), days, facts


def numbered(findings: Sequence[Finding], book: DayBook) -> list[tuple[str, int]]:
    """Event and the number of the day that settled it."""
    ends: dict[Instant, int] = {day.end: number for number, day in enumerate(book.days)}
    return [(f.event.value, ends[f.at]) for f in findings]


def test_thirty_day_averages() -> None:
    """Trailing windows of weighted daily means, with days that are thin, idle, or of unknown flow."""
    events: set[str] = set()
    for seed in range(SERIES):
        rng = random.Random(seed)
        book, days, facts = book_and_days(rng, "2026-10-03", rng.randrange(26, 36))
        begin = max(0, len(days) - 6)
        for fact in facts[:begin]:
            book.add(**fact)  # type: ignore[arg-type]  # facts are typed by their names above
        limit, least = Fraction(rng.randrange(960, 1040), 10), rng.choice((5, 22, 26))
        comparison = rng.choice((">", ">="))
        law = rule(limit=float(limit), window="30-day", min_days=least, comparison=comparison)
        judge = AverageRule(law, channel(), {}, book.now, book, ZONE)  # type: ignore[arg-type]  # a part of a Ledger
        for fact in facts[begin:]:
            book.add(**fact)  # type: ignore[arg-type]  # as above
        beyond = gt if comparison == ">" else ge
        want = oracle.thirty_days(days, begin, limit, Fraction(3, 4), least, beyond)
        assert numbered(judge.tick(book.now), book) == want, seed
        events |= {event for event, _ in want}
    assert events == {"raised", "cleared", "suspected", "not_evaluable"}


def test_monthly_averages() -> None:
    """Calendar months, the first of which may have begun before the record."""
    events: set[str] = set()
    for seed in range(SERIES):
        rng = random.Random(seed)
        first = rng.choice(("2026-10-31", "2026-11-01", "2026-11-03", "2027-01-01"))
        book, days, facts = book_and_days(rng, first, rng.randrange(28, 62))
        limit, least = Fraction(rng.randrange(980, 1020), 10), rng.choice((5, 22))
        law = rule(limit=float(limit), window="month", min_days=least)
        judge = AverageRule(law, channel(), {}, book.now, book, ZONE)  # type: ignore[arg-type]  # as above
        for fact in facts:
            book.add(**fact)  # type: ignore[arg-type]  # as above
        want = oracle.months(date.fromisoformat(first), days, limit, Fraction(3, 4), least, gt)
        assert numbered(judge.tick(book.now), book) == want, seed
        events |= {event for event, _ in want}
    assert events == {"raised", "cleared", "suspected", "not_evaluable"}


def test_volumes_of_a_day() -> None:
    """Told at the first full minute that exceeds, whatever is missing."""
    events: set[str] = set()
    for seed in range(SERIES):
        rng = random.Random(seed)
        flow = words(rng, "vvvvvvvnmfdyM", [0, rng.randrange(3000), rng.randrange(3000)])
        limit, coverage = Fraction(rng.randrange(1500)), rng.choice((2**-9, 2**-8))
        feed = Feed(clock=STORY, hold_s=HOLD_S)
        assert feed.flow_days is not None
        law = rule("volume", channel="flow", unit="gal", limit=float(limit), coverage=coverage)
        feed.judges.append(VolumeRule(law, feed.flow_spec, {}, feed.start, feed.flow_days, ZONE))
        found = feed.play((), flow, until_s=UNTIL_S)
        want = oracle.day_volume(flow, HOLD_S, MIDNIGHT_AT_S, UNTIL_S, limit, Fraction(coverage))
        assert seconds_of(found, STORY) == want, seed
        events |= {event for event, _ in want} or {"silence"}
    assert events == {"raised", "not_evaluable", "silence"}


def test_shares_of_the_towns_flow() -> None:
    """Two averages side by side; in some series more than a year."""
    events: set[str] = set()
    town = TownFlow(100_000.0, "the works", "2025-12-31")
    for seed in range(SERIES):
        rng = random.Random(seed)
        count = 370 if seed % 250 == 0 else rng.randrange(26, 36)
        book, days, facts = book_and_days(rng, "2026-03-01", count)
        begin = max(0, len(days) - 8)
        for fact in facts[:begin]:
            book.add(**fact)  # type: ignore[arg-type]  # as above
        least = rng.choice((15, 22))
        law = rule("share", channel="flow", unit="%", limit=1.4, window="30-day", min_days=least)
        judge = ShareRule(law, channel("flow", "flow", "gpm"), {}, book.now, book, ZONE, town)  # type: ignore[arg-type]  # as above
        for fact in facts[begin:]:
            book.add(**fact)  # type: ignore[arg-type]  # as above
        want = oracle.shares(days, begin, Fraction(100_000), Fraction(14, 10), Fraction(3, 4), least)
        assert numbered(judge.tick(book.now), book) == want, seed
        events |= {event for event, _ in want}
    assert events == {"raised", "cleared", "suspected", "not_evaluable"}


def test_excursions() -> None:
    """Minutes of a month that ends in the story and of the next, and single excursions, on the same series."""
    events: set[str] = set()
    inside = Fraction(6), Fraction(9)
    spec = channel("ph", "pH", "pH", hold_s=HOLD_S)
    for seed in range(SERIES):
        rng = random.Random(seed)
        series = words(rng, "vvvvvvvvvvvmfdy", [70, *[rng.randrange(40, 110) for _ in range(3)]])
        limit = Fraction(rng.randrange(1, 40), 4)
        facts = {"channel": "ph", "unit": "min", "limit": float(limit), "inside": Span(6.0, 9.0)}
        start = MONTH_END.at(0)
        monthly = MonthlyExcursionRule(rule("excursion", window="month", **facts), spec, {}, start, ZONE)
        single = SingleExcursionRule(rule("excursion", window="excursion", **facts), spec, {}, start)
        by_month: list[Finding] = []
        at_once: list[Finding] = []
        for second, kind, value in series:
            one = reading("ph", MONTH_END.at(second), kind, value)
            by_month += monthly.judge(one, evidence(one), discharging=True)
            at_once += single.judge(one, evidence(one), discharging=True)
        by_month += monthly.tick(MONTH_END.at(UNTIL_S))
        want = oracle.month_excursions(series, HOLD_S, inside, MIDNIGHT_AT_S, UNTIL_S, limit)
        assert seconds_of(by_month, MONTH_END) == want, seed
        runs = oracle.single_excursions(series, HOLD_S, inside, limit)
        assert [f for f in seconds_of(at_once, MONTH_END) if f[0] == "raised"] == runs, seed
        events |= {event for event, _ in want} | {f"single {event}" for event, _ in runs}
    assert events == {"raised", "not_evaluable", "single raised"}
