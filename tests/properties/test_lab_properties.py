"""Laboratory results in any order, corrected or right at once, in one go or one by one: the same verdicts."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.rules.laboratory import Laboratory
from tests.oracles import laboratory as oracle
from tests.support.lab_site import DAY_ONE, grab, laboratory, local, now, result, rule

DAYS = 70
LIMIT = 80  # hundredths of a mg/L
# By day: hundredths of a mg/L, and whether it is a less-than result with that detection limit.
COMPOSITES = st.dictionaries(
    st.integers(0, DAYS), st.tuples(st.integers(1, 200), st.booleans()), min_size=1, max_size=40
)
# Any results: day, hour of a grab or None for a composite, hundredths, below.
ANY = st.lists(
    st.tuples(st.integers(0, 40), st.none() | st.integers(0, 23), st.integers(1, 300), st.booleans()), max_size=25
)
RULES = (
    rule(limit=1.6),
    rule(limit=0.8, window="30-day", min_days=3),
    rule(limit=0.8, window="month", min_days=3),
    rule(kind="limit", window="", limit=1.0),
)


def value_of(hundredths: int, below: bool) -> float | str:
    """As a laboratory prints it."""
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return f"<{text}" if below else float(text)


def taken(number: int, day: int, hour: int | None, hundredths: int, below: bool, **changes: object):
    """One of any results."""
    value = value_of(hundredths, below)
    if hour is None:
        return result(value, day, id=f"R{number}", **changes)
    return grab(value, day, hour, id=f"R{number}", analyte="copper", **changes)


def one_by_one(results: list) -> Laboratory:
    """A laboratory that was given the results one after the other."""
    lab = laboratory(*RULES, nondetect="half", volume_gal=lambda day: float(day.day % 4))
    for one in results:
        lab.add(one, now())
    return lab


@settings(deadline=None, max_examples=60)
@given(series=ANY, data=st.data())
def test_the_order_of_entry_never_changes_a_verdict(series: list, data: st.DataObject) -> None:
    """One by one, shuffled, or all at once: every window ends with the same verdict and value."""
    results = [taken(number, *one) for number, one in enumerate(series)]
    lab = one_by_one(results)
    assert one_by_one(data.draw(st.permutations(results))).verdicts() == lab.verdicts()
    at_once = one_by_one([])
    at_once.add_all(results, now())
    assert at_once.verdicts() == lab.verdicts()


@settings(deadline=None, max_examples=60)
@given(wrong=ANY, right=ANY, data=st.data())
def test_a_correction_equals_the_right_value_from_the_start(wrong: list, right: list, data: st.DataObject) -> None:
    """Whatever was wrong (value, day, kind of sample), the corrected record reads as if it had never been."""
    size = min(len(wrong), len(right))
    first = [taken(number, *one) for number, one in enumerate(wrong[:size])]
    second = [taken(number, *one, version=2) for number, one in enumerate(right[:size])]
    mixed = data.draw(st.permutations(first + second))
    assert one_by_one(mixed).verdicts() == one_by_one(second).verdicts()


@settings(deadline=None, max_examples=40)
@given(series=ANY, split=st.integers(0, 25))
def test_a_restart_anywhere_changes_nothing(series: list, split: int) -> None:
    """Findings and state after a restart between any two results are those of a laboratory that never stopped."""
    results = [taken(number, *one) for number, one in enumerate(series)]
    lab = one_by_one(results[:split])
    again = one_by_one([])
    again.restore(lab.state())
    assert again.state() == lab.state()
    for one in results[split:]:
        assert again.add(one, now()) == lab.add(one, now())
    assert again.state() == lab.state()


@settings(deadline=None, max_examples=1000)
@given(
    by_day=COMPOSITES,
    nondetect=st.sampled_from(["zero", "half", "limit"]),
    min_days=st.sampled_from([1, 3, 22]),
    flow=st.none() | st.lists(st.integers(0, 5), min_size=DAYS + 1, max_size=DAYS + 1),
)
def test_thirty_day_means_agree_with_the_oracle(
    by_day: dict[int, tuple[int, bool]], nondetect: str, min_days: int, flow: list[int] | None
) -> None:
    """Day, trailing thirty days and month, with non-detects and any flow, against plain arithmetic from the text."""
    everything = [
        oracle.Taken(DAY_ONE + timedelta(days=day), hundredths, below) for day, (hundredths, below) in by_day.items()
    ]
    volumes = None if flow is None else {DAY_ONE + timedelta(days=d): gal for d, gal in enumerate(flow)}
    lab = laboratory(
        rule(limit=LIMIT / 100),
        rule(limit=LIMIT / 100, window="30-day", min_days=min_days),
        nondetect=nondetect,
        volume_gal=None if volumes is None else volumes.get,
    )
    lab.add_all([result(value_of(*one), day) for day, one in by_day.items()], now())
    verdicts = {key: verdict.value for (_, key), (verdict, _) in lab.verdicts().items()}
    expected = {
        f"30-day:{one.day}": oracle.trailing(
            everything, one.day, LIMIT, nondetect=nondetect, volumes=volumes, min_days=min_days
        )
        for one in everything
    }
    days = {f"composite:R{(one.day - DAY_ONE).days}": oracle.daily(one, LIMIT) for one in everything}
    assert verdicts == expected | days


@settings(deadline=None, max_examples=1000)
@given(by_day=COMPOSITES, nondetect=st.sampled_from(["zero", "half", "limit"]), min_days=st.sampled_from([1, 5]))
def test_monthly_means_agree_with_the_oracle(
    by_day: dict[int, tuple[int, bool]], nondetect: str, min_days: int
) -> None:
    """Calendar months that are over, against plain arithmetic."""
    everything = [
        oracle.Taken(DAY_ONE + timedelta(days=day), hundredths, below) for day, (hundredths, below) in by_day.items()
    ]
    lab = laboratory(rule(limit=LIMIT / 100, window="month", min_days=min_days), nondetect=nondetect)
    lab.add_all([result(value_of(*one), day) for day, one in by_day.items()], now())
    verdicts = {key: verdict.value for (_, key), (verdict, _) in lab.verdicts().items()}
    months = {(one.day.year, one.day.month) for one in everything}
    assert verdicts == {
        f"month:{year}-{number:02d}": oracle.month(
            everything, year, number, LIMIT, nondetect=nondetect, min_days=min_days
        )
        for year, number in months
    }
    assert local(DAYS) < now().utc_us
