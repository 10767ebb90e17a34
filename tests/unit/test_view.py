"""What a person sees of the demo, on a terminal of any size and without one."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from gateway.config import load
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Instant, Outcome, Severity
from gateway.shipped import shipped
from gateway.site import Contact
from simulators import demo
from simulators.view import View
from tests.conftest import ROOT

NINE = Instant(1_796_047_200_000_000, 0)  # 2026-11-30 09:00 in Little Valley
SUPERINTENDENT = Contact("superintendent", "Superintendent", ("bench",))


def event(n: int) -> AlarmEvent:
    """The n-th occurrence of an alarm, raised at nine o'clock and n seconds."""
    at = Instant(NINE.utc_us + n * 1_000_000, n * 1_000_000)
    was, is_ = AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED
    reason = "more than 5 x baseline for longer than 15 min"
    return AlarmEvent("lv-slug-flow", n, AlarmEdge.RAISED, at, Severity.HIGH, was, is_, reason)


def busy(console: Console) -> View:
    """A view in the middle of a bad day: six alarms and four texts."""
    view = View(load(Path(str(shipped("examples", "little-valley"))), for_replay=True), console, "a story", "mosquitto")
    view.take(Outcome(alarm_events=tuple(event(n) for n in range(1, 7))))
    for n in range(1, 5):
        view.text(SUPERINTENDENT, f"LV-MH3 text {n} " + "x" * 140, NINE)
    return view


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (80, 30), (100, 35), (80, 36), (120, 40)])
def test_the_newest_alarm_the_newest_text_and_the_counts_fit_on_the_terminal(columns: int, lines: int) -> None:
    """On the smallest usual terminal too, nothing of these is cut off at the bottom while the demo runs."""
    console = Console(file=io.StringIO(), force_terminal=True, width=columns, height=lines, color_system=None)
    view = busy(console)
    with console.capture() as shown:
        console.print(view.glance())
    text = shown.get()
    assert len(text.splitlines()) < lines or lines >= 36
    for words in ("lv-slug-flow #6 raised HIGH", "LV-MH3 text 4", "at the consumer"):
        assert words in text


def test_a_text_is_stamped_with_its_own_moment() -> None:
    """Without a terminal each line carries the moment of what it tells, however long ago the view was refreshed."""
    out = io.StringIO()
    view = busy(Console(file=out, force_terminal=False, width=160))
    view.refresh(Instant(NINE.utc_us - 60_000_000, 0), stored=0, acknowledged=0, received=0)
    view.text(SUPERINTENDENT, "the last", NINE)
    assert out.getvalue().splitlines()[-1] == "09:00:00 TEXT to Superintendent: the last"


def test_the_picture_loads_nothing(tmp_path: Path) -> None:
    """The saved picture, and the one in the README, show their text without a font from somebody's server."""
    saved = tmp_path / "demo.svg"
    demo._picture(busy(Console(file=io.StringIO())), saved)
    for picture in (saved, ROOT / "docs" / "demo.svg"):
        svg = picture.read_text(encoding="utf-8")
        assert "lv-slug-flow" in svg
        assert "@font-face" not in svg
        assert 'url("' not in svg


def test_a_rule_without_its_baseline_says_that_it_cannot_tell() -> None:
    """An empty cell would read as "no limit here"; the suspended solids of the example have no baseline yet."""
    out = io.StringIO()
    console = Console(file=out, width=100)
    console.print(busy(console).picture())
    (row,) = [line for line in out.getvalue().splitlines() if line.strip().startswith("tss ")]
    assert row.rstrip().endswith("cannot tell: no baseline")
