"""Whatever is started, stopped, expires and is restarted: no stay outlasts its end, and every second counts once."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.baseline_command import Signed
from gateway.maintenance import SETTLING_US, Maintenance
from gateway.maintenance_command import carry_out
from gateway.model import Instant, Mode, Quality, Reading, Resume
from gateway.signals.watch import Said
from gateway.upkeep import Upkeep
from tests.support.maintenance_site import START, S, visited_site

MOST_S = 20
SITE = visited_site(upkeep=Upkeep(default_us=10 * S, most_us=MOST_S * S))
SCOPES = ("ph", "temperature", "*")

STEP = st.one_of(
    st.tuples(st.just("start"), st.sampled_from(SCOPES), st.integers(1, MOST_S)),
    st.tuples(st.just("stop"), st.sampled_from(SCOPES), st.just(0)),
    st.tuples(st.sampled_from(["tick", "kill", "boot", "lost"]), st.just(""), st.just(0)),
)
STORY = st.lists(st.tuples(st.integers(0, 9), STEP), max_size=20)


class Told:
    """The keeper under test, what the journal would hold, and the truth by a slow retelling: one flag a second."""

    def __init__(self) -> None:
        self.second = 0
        self.shift_s = 0  # of the monotonic axis against the seconds of the story
        self.keeper = Maintenance(SITE, self.now())
        self.state: dict[str, Any] = {}
        self.open_until: dict[str, int] = {}  # scope -> second
        self.spent = dict.fromkeys(("ph", "temperature"), 0)

    def now(self) -> Instant:
        """The present of the story."""
        return Instant(START.utc_us + self.second * S, (self.second + self.shift_s) * S)

    def keep(self, said: Said) -> None:
        """As the journal does it."""
        for key, value in said.state.items():
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value

    def at_work(self, channel: str) -> bool:
        """Whether anything covers this channel in this second."""
        return any(self.open_until.get(scope, 0) > self.second for scope in (channel, "*"))

    def elapse(self, seconds: int) -> None:
        """Second by second; in each, both channels are read and must be in the mode of the retelling."""
        for _ in range(seconds):
            for channel in self.spent:
                reading = self.keeper.mark(Reading(channel, self.now(), (), 7.0, Quality.GOOD))
                assert (reading.mode is Mode.MAINTENANCE) is self.at_work(channel)
                self.spent[channel] += self.at_work(channel)
            self.second += 1
            if self.keeper.deadline_us <= self.now().mono_us:
                self.keep_tick()

    def keep_tick(self) -> None:
        """What elapsed time changed."""
        said = Said()
        self.keeper.tick(self.now(), said)
        self.keep(said)

    def do(self, action: str, scope: str, lasts_s: int) -> None:
        """One command; it must be taken exactly when the retelling says so."""
        args = {"action": action, "reason": "r", "for": f"{lasts_s} s"}
        args |= {"station": True} if scope == "*" else {"channels": [scope]}
        was_open = self.open_until.get(scope, 0) > self.second
        step = carry_out(self.keeper, args, Signed("A", "test", "", self.now()))
        self.keep(step.said)
        if action == "start":
            assert step.answer["ok"] is not was_open
            if not was_open:
                self.open_until[scope] = self.second + lasts_s
        elif was_open:
            assert step.answer["ok"]
            self.open_until[scope] = self.second

    def restart(self, kind: str) -> None:
        """A new process: in the same boot, in another one, or in one that cannot tell how long it was away."""
        if kind != "kill":
            self.shift_s -= 1000
        offset_us = {"kill": 0, "boot": -1000 * S, "lost": None}[kind]
        self.keeper = Maintenance(SITE, self.now())
        said = Said()
        self.keeper.restore(dict(self.state), Resume(self.now(), offset_us), said)
        self.keep(said)
        if kind == "lost":
            self.open_until = {}


@settings(max_examples=100, deadline=None)
@given(STORY)
def test_any_story_agrees_with_its_slow_retelling(story: list[tuple[int, tuple[str, str, int]]]) -> None:
    """Modes second by second, one stay at most of each scope, nothing past its end, and the minutes of today."""
    told = Told()
    for pause_s, (what, scope, lasts_s) in story:
        told.elapse(pause_s)
        if what in ("start", "stop"):
            told.do(what, scope, lasts_s)
        elif what == "tick":
            told.keep_tick()
        else:
            told.restart(what)
        lines = told.keeper.lines(told.now())
        scopes = [line["scope"] for line in lines if line["state"] == "in progress"]
        assert len(scopes) == len(set(scopes))
        assert all(line["left_s"] <= MOST_S for line in lines)
    told.elapse(MOST_S + 1)
    told.keep_tick()
    assert not [line for line in told.keeper.lines(told.now()) if line["state"] == "in progress"]
    assert told.keeper.held("ph") is False
    today_us = told.keeper.today_us(told.now())
    counted = {name: today_us.get(name, 0) for name in told.spent}
    true = {name: spent_s * S for name, spent_s in told.spent.items()}
    if not any(what == "lost" for _, (what, _, _) in story):
        assert counted == true
    else:  # what was open when nobody could tell the time any more is a gap, and nothing is made up for it
        assert all(counted[name] <= true[name] for name in true)
    unsigned = [line for line in told.keeper.lines(told.now()) if line["unsigned"]]
    told.elapse(SETTLING_US // S + 1)
    assert [line for line in told.keeper.lines(told.now()) if not line["unsigned"]] == []
    assert len([key for key in told.state if key.startswith("maintenance:maintenance:")]) == len(unsigned)
