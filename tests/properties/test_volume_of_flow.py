"""The volume of a flow: held values beside trapezoids, and gaps that nobody fills in."""

from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model import Instant, Quality, Reading
from gateway.rules.flow_ledger import FlowLedger
from gateway.rules.sums import VOLUME_SCALE
from gateway.signals.qc import Evidence
from gateway.site import Channel

S = 1_000_000
POLL_S = 15
START = Instant(1_700_000_000 * S, 0)


def ledger() -> FlowLedger:
    """The ledger of a flow in gpm that is polled every 15 s and held for 37.5."""
    channel = Channel("flow", "flow", "gpm", POLL_S * S, POLL_S * S * 5 // 2, POLL_S * S * 5 // 2)
    return FlowLedger(channel, ZoneInfo("America/New_York"), START)


def feed(flow: FlowLedger, second: int, gpm: int) -> None:
    """One valid reading."""
    at = Instant(START.utc_us + second * S, second * S)
    flow.take(Reading("flow", at, (), float(gpm), Quality.GOOD), Evidence.VALID, discharging=True)


@given(st.lists(st.integers(0, 2000), min_size=2, max_size=200))
def test_held_values_and_trapezoids_agree_but_for_the_ends(flows: list[int]) -> None:
    """Over polls of one length the two differ by half a poll of the difference between first and last flow: nothing
    builds up, however long. So the volume is held, as every other sum here is."""
    water = ledger()
    for number, gpm in enumerate(flows):
        feed(water, number * POLL_S, gpm)
    held_gal = water.volume((len(flows) - 1) * POLL_S * S) / VOLUME_SCALE
    trapezoid_gal = sum((one + other) / 2 for one, other in pairwise(flows)) * POLL_S / 60
    assert trapezoid_gal - held_gal == pytest.approx((flows[-1] - flows[0]) / 2 * POLL_S / 60, abs=1e-6)


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(38, 3600))
def test_a_gap_past_the_hold_is_not_bridged(before: int, after: int, gap_s: int) -> None:
    """The last flow speaks for its hold of 37.5 s and no longer; the time of the gap is not valid, so it is known."""
    water = ledger()
    feed(water, 0, before)
    feed(water, gap_s, after)
    assert water.volume(gap_s * S) / VOLUME_SCALE == pytest.approx(before * 37.5 / 60, rel=1e-9)
    assert water.valid_us(gap_s * S) == 37_500_000
