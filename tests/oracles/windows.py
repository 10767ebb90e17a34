"""What a rule over windows must say, told step by step from docs/judging.md 5 and 6; no code of the engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from tests.oracles.averages import Word, account, mean_of_days, speaking

Event = tuple[str, int]  # what, and the second (or number of the day) at which it is settled
Compare = Callable[[Fraction, Fraction], bool]


def judge_windows(verdicts: Sequence[tuple[str, int]], *, overlapping: bool) -> list[Event]:
    """From the verdict of each window to what is told: an exceedance stands until a window complies."""
    told: list[Event] = []
    raised = suspected = False
    for verdict, at in verdicts:
        if verdict == "exceeded":
            if not (raised and overlapping):
                told.append(("raised", at))
            raised, suspected = True, False
        elif verdict == "suspected":
            if not (suspected and overlapping):
                told.append(("suspected", at))
            suspected = True
        elif verdict == "not_evaluable":
            told.append(("not_evaluable", at))
        elif verdict == "compliant":
            if raised:
                told.append(("cleared", at))
            raised = suspected = False
    return told


@dataclass(frozen=True)
class Day:
    """One local day as a book has it: `gal` None when nobody knows the flow, `coverage` None without discharge."""

    mean: Fraction
    gal: Fraction | None
    coverage: Fraction | None
    flow_coverage: Fraction = Fraction(1)


def verdict(value: Fraction | None, limit: Fraction, beyond: Compare, *, provisional: bool) -> str:
    """Above is suspected and below nobody can tell, where it is provisional."""
    if value is not None and beyond(value, limit):
        return "suspected" if provisional else "exceeded"
    return "not_evaluable" if provisional else "compliant"


def thirty_days(
    days: Sequence[Day], begin: int, limit: Fraction, coverage: Fraction, least: int, beyond: Compare
) -> list[Event]:
    """The trailing 30 days at the end of each day from number `begin` on."""
    found = []
    for last in range(begin, len(days)):
        window = days[max(0, last - 29) : last + 1]
        found.append((_of_days(window, limit, coverage, least, beyond, whole=last >= 29), last))
    return judge_windows(found, overlapping=True)


def months(
    first: date, days: Sequence[Day], limit: Fraction, coverage: Fraction, least: int, beyond: Compare
) -> list[Event]:
    """Each calendar month when it ends."""
    found = []
    dates = [first + timedelta(days=number) for number in range(len(days))]
    for last, day in enumerate(dates):
        if (day + timedelta(days=1)).month != day.month:
            inside = [n for n in range(last + 1) if (dates[n].year, dates[n].month) == (day.year, day.month)]
            whole = dates[inside[0]].day == 1
            window = [days[n] for n in inside]
            found.append((_of_days(window, limit, coverage, least, beyond, whole=whole), last))
    return judge_windows(found, overlapping=False)


def _of_days(
    window: Sequence[Day], limit: Fraction, coverage: Fraction, least: int, beyond: Compare, *, whole: bool
) -> str:
    if all(day.coverage is None for day in window):
        return "no_discharge"
    valid = [d for d in window if d.coverage is not None and d.coverage >= coverage and d.coverage > 0 and d.gal != 0]
    mean = mean_of_days([(day.mean, day.gal) for day in valid])
    return verdict(mean, limit, beyond, provisional=len(valid) < least or not whole)


def shares(
    days: Sequence[Day], begin: int, town_gpd: Fraction, limit: Fraction, coverage: Fraction, least: int
) -> list[Event]:
    """Average daily flow of 30 days and of 365, in percent of the town's, at the end of each day from `begin` on."""
    found = []
    for last in range(begin, len(days)):
        of_month = _flow_share(days[max(0, last - 29) : last + 1], town_gpd, coverage)
        of_year = _flow_share(days[max(0, last - 364) : last + 1], town_gpd, coverage)
        provisional = of_month[1] < least or last < 29
        year_provisional = of_year[1] < -(-least * 365 // 30) or last < 364
        month_over = of_month[0] is not None and of_month[0] > limit
        year_over = of_year[0] is not None and of_year[0] > limit
        if (month_over and not provisional) or (year_over and not year_provisional):
            found.append(("exceeded", last))
        elif month_over or year_over:
            found.append(("suspected", last))
        else:
            found.append(("not_evaluable" if provisional else "compliant", last))
    return judge_windows(found, overlapping=True)


def _flow_share(window: Sequence[Day], town_gpd: Fraction, coverage: Fraction) -> tuple[Fraction | None, int]:
    gal = [day.gal for day in window if day.gal is not None and day.flow_coverage >= coverage]
    return (sum(gal, Fraction(0)) / len(gal) * 100 / town_gpd if gal else None), len(gal)


def day_average(
    words: list[Word], flow: list[Word], hold_s: int, midnight_s: int, limit: Fraction, coverage: Fraction
) -> list[Event]:
    """A first day of which only the seconds from zero to midnight were seen; the unseen may all have been discharge."""
    seen = account(words, flow, hold_s, 0, midnight_s)
    discharging_s = seen.discharging_s + 86_400 - midnight_s
    provisional = seen.valid_s == 0 or Fraction(seen.valid_s, discharging_s) < coverage
    return judge_windows(
        [(verdict(seen.mean, limit, lambda a, b: a > b, provisional=provisional), midnight_s)], overlapping=False
    )


def rolling_warnings(
    words: list[Word], flow: list[Word], hold_s: int, until_s: int, limit: Fraction, coverage: Fraction
) -> list[int]:
    """The full minutes at which a story shorter than 24 h begins to average above the limit."""
    found, above = [], False
    for minute in range(60, until_s + 1, 60):
        seen = account(words, flow, hold_s, 0, minute)
        if seen.valid_s == 0 or seen.valid_s < coverage * seen.discharging_s:
            continue
        mean = seen.mean
        now_above = mean is not None and mean > limit
        if now_above and not above:
            found.append(minute)
        above = now_above
    return found


def day_volume(
    flow: list[Word], hold_s: int, midnight_s: int, until_s: int, limit: Fraction, coverage: Fraction
) -> list[Event]:
    """A day from second zero to midnight and the one after it: told at the first full minute that exceeds."""

    def water(since_s: int, until_s: int) -> Fraction:
        return account([], flow, hold_s, since_s, until_s).all_water

    told: list[Event] = []
    first = _first_over(water, 0, midnight_s, limit)
    if first is not None:
        told.append(("raised", first))
    elif Fraction(account([], flow, hold_s, 0, midnight_s).flow_valid_s, 86_400) < coverage:
        told.append(("not_evaluable", midnight_s))
    second = _first_over(water, midnight_s, until_s, limit)
    return told if second is None else [*told, ("raised", second)]


def _first_over(amount: Callable[[int, int], Fraction], since_s: int, until_s: int, limit: Fraction) -> int | None:
    """The first full minute at which what has come together since then is above the limit."""
    total = Fraction(0)
    for minute in range(since_s, until_s, 60):
        total += amount(minute, minute + 60)
        if total > limit:
            return minute + 60
    return None


def month_excursions(
    words: list[Word], hold_s: int, inside: tuple[Fraction, Fraction], month_end_s: int, until_s: int,
    limit_min: Fraction,
) -> list[Event]:  # fmt: skip
    """The end of one month, which began unseen, and the start of the next."""
    marked = [(s, k, Fraction(0) if inside[0] <= v <= inside[1] else Fraction(1)) for s, k, v in words]

    def minutes(since_s: int, until_s: int) -> Fraction:
        return account(marked, None, hold_s, since_s, until_s).plain / 60

    first = _first_over(minutes, 0, month_end_s, limit_min)
    told: list[Event] = [("not_evaluable", month_end_s) if first is None else ("raised", first)]
    second = _first_over(minutes, month_end_s, until_s, limit_min)
    return told if second is None else [*told, ("raised", second)]


def single_excursions(
    words: list[Word], hold_s: int, inside: tuple[Fraction, Fraction], limit_min: Fraction
) -> list[Event]:
    """Whole runs of valid samples outside, no further apart than the hold; told at the sample that proves them."""
    valid = [w for w in speaking(words) if w[1] == "v"]
    told: list[Event] = []
    run: list[int] = []
    proven = False
    for second, _, value in valid:
        if inside[0] <= value <= inside[1]:
            run, proven = [], False
            continue
        if run and second - run[-1] > hold_s:
            run, proven = [], False
        run.append(second)
        if not proven and Fraction(run[-1] - run[0], 60) > limit_min:
            told.append(("raised", second))
            proven = True
    return told
