"""Re-baselining is an audited action: by command or by another choice in the site file, it stands in the journal."""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.baseline_actions import run_approve, run_list
from gateway.commands import Command, execute
from gateway.config import load
from gateway.control import serve, socket_path
from gateway.model import Instant, Note, Outcome, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.site import Baseline, Site
from tests.unit.test_app import EXAMPLE

MIN = 60_000_000
START = Instant(1_699_938_000_000_000, 0, True)  # 2023-11-14T00:00 in New York
LITERAL = Baseline("b", "flow", "literal-24h", None, "gpm", "Superintendent", "2023-11-01", "first-hash")


def site(chosen: Baseline = LITERAL) -> Site:
    """Little Valley, its flow judged by this choice."""
    plain = load(EXAMPLE, for_replay=True)
    rules = tuple(
        replace(rule, baseline=chosen) if rule.baseline is not None and rule.channel == "flow" else rule
        for rule in plain.rules
    )
    return replace(plain, rules=rules, baselines={**plain.baselines, "flow": chosen})


def moment(minute: int) -> Instant:
    """So many minutes after midnight."""
    return Instant(START.utc_us + minute * MIN, minute * MIN, True)


class Gateway:
    """What commands touch: a pipeline that has lived some hours at one flow, and the outcomes it recorded."""

    def __init__(self, hours: int, gpm: float = 10.0) -> None:
        self.pipeline = Pipeline(site(), START)
        self.answered: dict[str, dict[str, Any]] = {}
        self.faults: dict[str, str] = {}
        self.recorded: list[Outcome] = []
        self.minute = hours * 60
        for tenth in range(hours * 360 + 1):
            at = Instant(START.utc_us + tenth * MIN // 6, tenth * MIN // 6, True)
            self.pipeline.process(
                (Sample("flow", at, (), gpm / self.pipeline.site.channels["flow"].conversion.gain),), at
            )

    def now(self) -> Instant:
        """Some seconds after the last reading: the ticks lag behind the present."""
        at = moment(self.minute)
        return Instant(at.utc_us + 4_000_000, at.mono_us + 4_000_000, True)

    async def record(self, outcome: Outcome) -> None:
        """Committed."""
        self.recorded.append(outcome)

    async def status(self) -> dict[str, Any]:
        """Not asked here."""
        raise NotImplementedError

    async def resend(self, sink: str, from_seq: int, to_seq: int) -> dict[str, Any]:
        """Not asked here."""
        raise NotImplementedError


def say(gateway: Gateway, actor: str = "P. Coordinator", **args: str) -> dict[str, Any]:
    """The answer to one command."""
    return asyncio.run(execute(gateway, Command("baselines", actor, args, "c1", "test")))


def test_an_approval_is_recorded_with_who_why_before_and_after() -> None:
    """Half a day at 10 gpm: the literal average is 10, and nobody had approved anything."""
    gateway = Gateway(hours=13)
    answer = say(gateway, action="approve", channel="flow", reason="new line commissioned")
    assert answer["ok"]
    assert (answer["baselines"][0]["approved"], answer["baselines"][0]["drift"]) == (10.0, 0.0)
    (outcome,) = gateway.recorded
    (note,) = outcome.notes
    choice = {"mode": "literal-24h", "hash": "first-hash"}
    assert note == Note(
        "rebaselined",
        gateway.now(),
        {
            "channel": "flow",
            "unit": "gpm",
            "before": {**choice, "approved": None},
            "after": {**choice, "approved": 10.0},
            "by": "P. Coordinator",
            "reason": "new line commissioned",
            "via": "test",
            "id": "c1",
        },
    )
    assert outcome.state["account:baselines:flow"] == {**choice, "approved": 10.0, "asked": False}


def test_the_same_command_twice_is_one_action() -> None:
    """A repeat with the same id gets the first answer and is recorded once."""
    gateway = Gateway(hours=13)
    first = say(gateway, action="approve", channel="flow", reason="r")
    assert say(gateway, action="approve", channel="flow", reason="r") == first
    assert len(gateway.recorded) == 1


@pytest.mark.parametrize(
    ("sentence", "hours", "actor", "args", "said"),
    [
        ("Unsigned.", 13, " ", {"channel": "flow", "reason": "r"}, "say who you are"),
        ("Without a reason.", 13, "P", {"channel": "flow", "reason": " "}, "with a reason"),
        ("Of a channel without a baseline.", 13, "P", {"channel": "ph", "reason": "r"}, "no baseline of 'ph'"),
        ("Before anything is known.", 2, "P", {"channel": "flow", "reason": "r"}, "nothing is measured yet"),
        ("Something else.", 2, "P", {"action": "forget"}, "knows list and approve"),
    ],
)
def test_what_is_refused_changes_nothing(
    sentence: str, hours: int, actor: str, args: dict[str, str], said: str
) -> None:
    """An approval is signed, has a reason, and approves something that was measured."""
    gateway = Gateway(hours)
    before = gateway.pipeline.accounts.state()
    answer = say(gateway, actor, **{"action": "approve", **args})
    assert not answer["ok"], sentence
    assert said in answer["error"], sentence
    assert gateway.recorded == []
    assert gateway.pipeline.accounts.state() == before


def restarted(chosen: Baseline, state: dict[str, Any]) -> Outcome:
    """What a gateway with this choice says of the state it finds, a minute after the last reading."""
    return Pipeline(site(chosen), moment(781)).restore(state, Resume(moment(781), 0))


def test_another_choice_in_the_site_file_is_recorded_at_the_next_start() -> None:
    """Literal before, declared 12 gpm now: both stand in the note, with who signed, and it is told once."""
    state = Gateway(hours=13).pipeline.snapshot()
    declared = replace(LITERAL, mode="declared", value=12.0, hash="second-hash", approved_on="2023-11-14")
    outcome = restarted(declared, state)
    (note,) = [note for note in outcome.notes if note.kind == "rebaselined"]
    assert note.body == {
        "channel": "flow",
        "unit": "gpm",
        "before": {"mode": "literal-24h", "hash": "first-hash", "approved": None},
        "after": {"mode": "declared", "hash": "second-hash", "approved": 12.0},
        "by": "Superintendent",
        "on": "2023-11-14",
        "via": "site file",
    }
    again = restarted(declared, {**state, **outcome.state})
    assert [note for note in again.notes if note.kind == "rebaselined"] == []


def test_the_same_choice_is_no_change() -> None:
    """A restart alone re-baselines nothing."""
    assert [note.kind for note in restarted(LITERAL, Gateway(hours=13).pipeline.snapshot()).notes] == []


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """The state directory of a gateway that answers, in a thread of its own."""
    gateway, ready, loop, stop = Gateway(hours=13), threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        return await execute(
            gateway, Command(request["command"], request.get("actor", ""), request["args"], request.get("id", ""))
        )

    async def listen() -> None:
        async with serve(socket_path(tmp_path), answer):
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(listen(),))
    thread.start()
    assert ready.wait(10)
    yield tmp_path
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def test_the_command_line_shows_all_three(listening: Path) -> None:
    """Which is in force, the three side by side and why one cannot tell; after an approval, the drift."""
    out = io.StringIO()
    assert run_list(listening, out, as_json=False) == 0
    assert out.getvalue().startswith(
        "flow: in force literal-24h 10 gpm\n"
        "  declared     cannot tell: no baseline\n"
        "  operating    cannot tell: baseline: 0 of 7 days\n"
        "  literal-24h  10 gpm (24 h)\n"
    )
    out = io.StringIO()
    assert run_approve(listening, "flow", "P", "looked at it", out, as_json=False) == 0
    assert out.getvalue().startswith(
        "flow: in force literal-24h 10 gpm; normal operation is +0% from the approved 10 gpm\n"
    )
    out = io.StringIO()
    assert run_approve(listening, "ph", "P", "r", out, as_json=True) == 1
    assert json.loads(out.getvalue())["ok"] is False
