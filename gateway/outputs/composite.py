"""The composite sample: started and ended by name, paced by volume or time, with every aliquot on record. Pure.

The pace of a composite never changes while it runs: pulses that double when the flow doubles would make the sample a
time-paced one under a flow-paced name. What could not be sampled makes it incomplete, in minutes and in pulses.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.model import Condition, Instant, Mode, Note, Reading, Resume, Severity
from gateway.outputs.pacing import FlowPace, TimePace, parts_of
from gateway.outputs.switched import order_for
from gateway.outputs.wired import Carried, CompositePlan, ContactRole, Output, Result
from gateway.signals.qc import Evidence
from gateway.signals.watch import FAR_US, Said, Watch

__all__ = ["COMPOSITE_ALARM", "CompositeWatch"]

COMPOSITE_ALARM = "sampler-composite"
_KEY = "composite"
_PATIENCES = 2  # of an order's life: then a pulse that is still under way is one nobody can vouch for


class CompositeWatch(Watch):
    """The composite sampler of one site; between composites it does nothing.

    `held` says whether the pacing channel, or with None the station, is being worked on.
    """

    key = _KEY

    def __init__(
        self,
        plan: CompositePlan,
        output: Output,
        start: Instant,
        held: Callable[[str | None], bool] = lambda _: False,
    ) -> None:
        self.plan = plan
        self.output = output
        self._held = held
        self.channels = frozenset({plan.flow}) if plan.flow is not None else frozenset()
        self._run: dict[str, Any] | None = None
        self._pace: FlowPace | TimePace | None = None
        self._last_id = 0
        self._mode = Mode.RUN
        self._full = self._fault = False  # so say the sampler's contacts
        self._idle_until_us = start.mono_us  # the flow says that nothing is discharged, and its word holds so long

    @property
    def running(self) -> bool:
        """Whether a composite is under way."""
        return self._run is not None

    def start(self, by: str, bottle: str, reason: str, now: Instant, said: Said) -> None:
        """Begin a composite. ValueError when one is under way, or nobody says who begins it."""
        if self._run is not None:
            raise ValueError(f"composite {self._run['id']} is under way since its start by {self._run['by']}")
        if not by.strip():
            raise ValueError("say who you are: a composite goes under its sampler's name")
        if self._full:
            raise ValueError("the sampler says that its bottle is full: set a fresh one first")
        self._last_id += 1
        self._run = {
            "id": self._last_id, "by": by, "bottle": bottle or str(self._last_id), "reason": reason,
            "began": [now.utc_us, now.mono_us, now.synced], "pace": self.plan.pace,
            "pulses": 0, "done": 0, "undone": 0, "aliquots": 0, "confirmed": 0, "full": 0, "maintenance_us": 0,
            "away_unknown": False, "heard_us": now.mono_us, "fault": self._fault,
        }  # fmt: skip
        self._pace = self._new_pace(now.mono_us)
        said.notes.append(Note("composite_started", now, {**self._summary(now), "reason": reason}))
        self._condition(False, Severity.NOTICE, f"composite {self._last_id} is under way", said)
        self._changed(said)

    def stop(self, by: str, reason: str, now: Instant, said: Said) -> None:
        """End the composite. ValueError when there is none."""
        if self._run is None or "ending" in self._run:
            raise ValueError("no composite is under way")
        if not by.strip():
            raise ValueError("say who you are: whoever ends a composite is part of its custody")
        self._end(now, "ended by hand" + (f": {reason}" if reason else ""), said, by=by)

    def collected(self, by: str, now: Instant, said: Said) -> None:
        """The bottle was taken away. ValueError while a composite runs, or when nobody says who took it."""
        if self._run is not None:
            raise ValueError(f"composite {self._run['id']} is under way: stop it first")
        if not by.strip():
            raise ValueError("say who you are: whoever collects is part of the custody")
        said.notes.append(Note("composite_collected", now, {"composite": self._last_id, "by": by}))
        self._condition(False, Severity.NOTICE, "collected", said)

    def status(self, now: Instant) -> dict[str, Any] | None:
        """The composite under way, JSON-able; None between composites."""
        return None if self._run is None else self._summary(now)

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Take a reading of the flow."""
        at_us = reading.at.mono_us
        run, pace = self._run, self._pace
        if run is not None:
            if self._mode is not Mode.RUN and isinstance(pace, FlowPace):  # else the slots say how long
                run["maintenance_us"] += max(0, at_us - run["heard_us"])
            run["heard_us"] = max(at_us, run["heard_us"])
        self._mode = reading.mode
        if weight == Evidence.VALID and reading.value is not None:
            idle = reading.value < self.plan.idle_below
            self._idle_until_us = at_us + self.plan.hold_us if idle else at_us
            if isinstance(pace, FlowPace):
                pace.flow(at_us, 0.0 if idle else reading.value * self.plan.gpm_per_unit)
        self._advance(reading.at, said)
        if self._run is not None:
            self._changed(said)

    def tick(self, now: Instant, said: Said) -> None:
        """A slot of time, an owed pulse, or the composite's end."""
        self._advance(now, said)
        if self._run is not None:
            self._changed(said)

    def contact(self, role: ContactRole, now: Instant, off_normal: bool, said: Said, *, news: bool = True) -> None:
        """The sampler's own contacts: what it took, that it is full, that it is in fault.

        Without `news` it stands as it did before the restart.
        """
        if role is ContactRole.BOTTLE_FULL:
            self._full = off_normal
        elif role is ContactRole.SAMPLER_FAULT:
            self._fault = off_normal
        if self._run is None or not off_normal or not news:
            return
        if role is ContactRole.SAMPLE_TAKEN:
            self._run["confirmed"] += 1
        elif role is ContactRole.SAMPLER_FAULT:
            self._run["fault"] = True
        elif role is ContactRole.BOTTLE_FULL:
            self._end(now, "the sampler says that the bottle is full", said)
        if self._run is not None:
            self._changed(said)

    def carried(self, carried: Carried, said: Said) -> None:
        """What became of a pulse."""
        run = self._run
        number = self._number_of(carried)
        if run is None or number is None:
            return
        if carried.result is not Result.DONE:
            run["undone"] += 1
            self._changed(said)
            self._finish(carried.at, said)
            return
        run["done"] += 1
        if run["done"] % self.plan.pulses_per_aliquot == 0:
            run["aliquots"] += 1
            body = {
                "composite": run["id"], "bottle": run["bottle"], "aliquot": run["aliquots"], "pulse": number,
                "volume_ml": self.plan.aliquot_ml, "flow_total_gal": self._volume_gal(),
            }  # fmt: skip
            said.notes.append(Note("aliquot", carried.at, body))
            if run["aliquots"] >= self.plan.most_aliquots:
                self._end(carried.at, f"the bottle is full: {run['aliquots']} aliquots", said, full=True)
        if self._run is not None:
            self._changed(said)
            self._finish(carried.at, said)

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Go on with the composite that was under way, unless the site file gives it another pace now."""
        stored = state.get(_KEY)
        if stored is None:
            return
        self._last_id = stored["last_id"]
        run = stored["run"]
        if run is None:
            return
        pace = self._new_pace(resume.now.mono_us)
        same = run["pace"] == self.plan.pace
        if same:
            pace.restore(stored["pace"], resume.offset_us, resume.now.mono_us)
        if resume.offset_us is None:
            run["away_unknown"] = True
            run["began"][1] = run["heard_us"] = resume.now.mono_us
        else:
            run["began"][1] += resume.offset_us
            run["heard_us"] += resume.offset_us
            if "ending" in run:
                run["ending"]["give_up_us"] += resume.offset_us
        self._run, self._pace = run, pace
        self._plan_next()
        if not same:
            run["spoiled"] = True
            self._end(resume.now, "the site file gives another pace: a composite keeps the one it began with", said)
        else:
            self._changed(said)

    def _advance(self, now: Instant, said: Said) -> None:
        """Pulses that are due by now, then the end."""
        run, pace = self._run, self._pace
        if run is None or pace is None:
            return
        if "ending" in run:
            self._finish(now, said)
            return
        held = self._mode is not Mode.RUN or self._held(self.plan.flow)
        if now.mono_us >= self._ends_us(run):
            self._end(now, "its time is over", said)
            return
        if isinstance(pace, FlowPace):
            due = pace.due(now.mono_us)
        else:
            slots = pace.idle
            due = pace.due(now.mono_us, idle=held or now.mono_us < self._idle_until_us)
            if held and self.plan.every_us is not None:
                run["maintenance_us"] += (pace.idle - slots) * self.plan.every_us
        if due and held:  # a technician's hand may be in it
            run["undone"] += 1
            run["pulses"] += 1
        elif due:
            run["pulses"] += 1
            number = run["pulses"]
            why = f"composite {run['id']}, pulse {number}"
            key = f"composite-{run['id']}-{run['began'][0]}:{number}"
            said.orders.append(order_for(self.output, "pulse", now, why, key))
        self._plan_next()

    def _end(self, now: Instant, why: str, said: Said, *, by: str = "", full: bool = False) -> None:
        """No pulse any more; the composite is over once every pulse under way has come to its own end."""
        run = self._run
        if run is None or "ending" in run:
            return
        if isinstance(self._pace, FlowPace):
            self._pace.limit_owed()
        elif self._pace is not None:
            self._pace.miss_until(min(now.mono_us, self._ends_us(run)))
        give_up_us = now.mono_us + _PATIENCES * self.output.expires_us
        run["ending"] = {"why": why, "by": by, "full": full, "give_up_us": give_up_us}
        self._finish(now, said)

    def _finish(self, now: Instant, said: Said) -> None:
        run = self._run
        if run is None or "ending" not in run:
            return
        under_way, ending = run["pulses"] - run["done"] - run["undone"], run["ending"]
        if under_way and now.mono_us < ending["give_up_us"]:
            self._changed(said)
            return
        run["undone"] += under_way
        body = {**self._summary(now), "why": ending["why"], "by": ending["by"]}
        said.notes.append(Note("composite_ended", now, body))
        complete = body["complete"] and not ending["full"]
        doubt = "" if complete else f"; INCOMPLETE: {'; '.join(body['incomplete']) or ending['why']}"
        text = f"composite {run['id']} over: {run['aliquots']} aliquots, bottle {run['bottle']}{doubt}. Collect it."
        self._run = self._pace = None
        self.deadline_us = FAR_US
        self._condition(True, Severity.NOTICE if complete else Severity.WARNING, text, said)
        self._changed(said)

    def _summary(self, now: Instant) -> dict[str, Any]:
        """What chain of custody and a report need of the composite, as of now."""
        run, pace = self._run or {}, self._pace
        lost = pace.lost if isinstance(pace, FlowPace) else pace.missed if pace is not None else 0
        unknown_us = pace.unknown_by(now.mono_us) if isinstance(pace, FlowPace) else 0
        doubts = []
        if unknown_us:
            doubts.append(f"{unknown_us / 60e6:.1f} min without a known flow")
        if run["maintenance_us"]:
            doubts.append(f"{run['maintenance_us'] / 60e6:.1f} min held for maintenance")
        if lost:
            doubts.append(f"{lost} pulses that could not be made")
        if run["undone"]:
            doubts.append(f"{run['undone']} pulses nobody can vouch for")
        if run["away_unknown"]:
            doubts.append("the gateway was away for nobody knows how long")
        if run.get("fault"):
            doubts.append("the sampler said that it was in fault")
        if run.get("spoiled"):
            doubts.append("the pace was changed")
        if run["confirmed"] and run["confirmed"] < run["aliquots"]:
            doubts.append(f"the sampler confirmed {run['confirmed']} of {run['aliquots']} aliquots")
        return {
            "composite": run["id"], "bottle": run["bottle"], "started_by": run["by"],
            "started_utc_us": run["began"][0], "pace": run["pace"],
            "pulses": run["pulses"], "pulses_done": run["done"], "pulses_undone": run["undone"], "pulses_lost": lost,
            "aliquots": run["aliquots"], "confirmed": run["confirmed"],
            "volume_ml": run["aliquots"] * self.plan.aliquot_ml, "flow_total_gal": self._volume_gal(),
            "unknown_flow_min": unknown_us / 60e6, "maintenance_min": run["maintenance_us"] / 60e6,
            "idle_slots": pace.idle if isinstance(pace, TimePace) else 0,
            "complete": not doubts, "incomplete": doubts,
        }  # fmt: skip

    def _volume_gal(self) -> float | None:
        return self._pace.total / parts_of(1.0) if isinstance(self._pace, FlowPace) else None

    def _new_pace(self, start_us: int) -> FlowPace | TimePace:
        plan = self.plan
        if plan.volume_gal is not None:
            return FlowPace(plan.volume_gal, plan.spacing_us, plan.hold_us, start_us)
        return TimePace(plan.every_us or plan.duration_us, start_us)

    def _ends_us(self, run: Mapping[str, Any]) -> int:
        return int(run["began"][1]) + self.plan.duration_us

    def _plan_next(self) -> None:
        if self._run is not None and self._pace is not None:
            ending = self._run.get("ending")
            by_itself = min(self._pace.deadline_us, self._ends_us(self._run))
            self.deadline_us = by_itself if ending is None else int(ending["give_up_us"])

    def _number_of(self, carried: Carried) -> int | None:
        """Which pulse of the composite under way an order is, if it is one."""
        if self._run is None or carried.order.output != self.output.name:
            return None
        head, _, number = carried.order.key.rpartition(":")
        mine = f"composite-{self._run['id']}-{self._run['began'][0]}"
        return int(number) if head == mine and number.isdecimal() else None

    def _condition(self, active: bool, severity: Severity, reason: str, said: Said) -> None:
        said.conditions.append(Condition(COMPOSITE_ALARM, active, severity, reason))

    def _changed(self, said: Said) -> None:
        self._plan_next()
        pace = None if self._pace is None else self._pace.state()
        run = None if self._run is None else {**self._run, "began": list(self._run["began"])}
        said.state[_KEY] = {"last_id": self._last_id, "run": run, "pace": pace}
