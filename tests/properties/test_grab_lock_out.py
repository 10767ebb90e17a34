"""Event bottles under any series of events, restarts and results: the lock-out holds and no bottle is given twice."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.model import FindingEvent, Order, Resume
from gateway.outputs.grab import GrabWatch
from gateway.outputs.wired import Carried, GrabPlan, OutputRole, Result
from gateway.step import Step
from tests.support.wired_site import MIN, S, at, finding, output

GRAB = output("grab", OutputRole.SAMPLER_GRAB)
LOCKOUT_MIN, FOLLOW_UPS_MIN, BOTTLES = 60, (5, 15, 30), 6
PLAN = GrabPlan(
    "grab", frozenset({"lv-ph-low"}), BOTTLES, tuple(m * MIN for m in FOLLOW_UPS_MIN), LOCKOUT_MIN * MIN
)  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.integers(1, 40),  # minutes since the last step
        st.sampled_from(["event", "tick", "restart", "bottles"]),
        st.sampled_from([Result.DONE, Result.FAILED, Result.EXPIRED]),
    ),
    max_size=30,
)


@given(STEPS)
def test_lock_out_and_bottles(steps: list[tuple[int, str, Result]]) -> None:
    """Two events that take a bottle are an hour apart, a follow-up is never late, no bottle is filled twice."""
    watch, state = GrabWatch(PLAN, GRAB, frozenset(), at(0)), {}
    now_s, events, filled = 0, [], set()
    for minutes, what, result in steps:
        now_s += 60 * minutes
        said = Step()
        if what == "event":
            watch.found(finding(now_s, FindingEvent.RAISED), said)
        elif what == "restart":
            watch = GrabWatch(PLAN, GRAB, frozenset(), at(now_s))
            watch.restore(json.loads(json.dumps(state)), Resume(at(now_s), 0), said)
        elif what == "bottles":
            watch.fresh_bottles("Ann", at(now_s), said)
            filled = set()
        watch.tick(at(now_s), said)
        orders: list[Order] = list(said.orders)
        state |= said.state
        for order in orders:
            bottle = int(order.why.split()[1])
            assert bottle not in filled
            assert 1 <= bottle <= BOTTLES
            assert order.at.mono_us >= (now_s - 60) * S, "a follow-up that is late is left out"
            if "event itself" in order.why and result is not Result.EXPIRED:  # else it took none and locks nobody out
                events.append(order.at.mono_us)
            done = Step()
            watch.carried(Carried(order, result, at(now_s)), done)
            state |= done.state
            if result is not Result.EXPIRED:
                filled.add(bottle)
    assert all(b - a >= LOCKOUT_MIN * MIN for a, b in pairwise(events))
