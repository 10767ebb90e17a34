"""Whether the probes are in the discharge: flow and level witnesses with on- and off-delay (docs/judging.md 2.3)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gateway.model import Mode, Quality, Reading, Resume
from gateway.signals.qc import AFTER_MAINTENANCE
from gateway.site import Channel, Discharging, Witness

__all__ = ["Discharge", "Interlock"]


class Discharge(StrEnum):
    """What the witnesses say together."""

    WET = "wet"
    NONE = "no discharge"
    DISAGREE = "flow and level disagree"  # level has the probe dry while flow runs: nobody can tell


class _WitnessState:
    """One witness: its settled word, and since when it has been saying the opposite."""

    __slots__ = ("hold_us", "last_us", "turning_since_us", "wet", "witness")

    def __init__(self, witness: Witness, hold_us: int) -> None:
        self.witness = witness
        self.hold_us = hold_us
        self.wet: bool | None = None
        self.turning_since_us: int | None = None
        self.last_us = 0

    def hear(self, value: float, mono_us: int, on_delay_us: int, off_delay_us: int) -> None:
        says_wet = value >= self.witness.wet_at
        if self.wet is None or mono_us - self.last_us > self.hold_us:
            # A witness that was silent starts afresh with its first word: the delays smooth flicker, not absence.
            self.wet = says_wet
            self.turning_since_us = None
        elif says_wet == self.wet:
            self.turning_since_us = None
        elif self.turning_since_us is None:
            self.turning_since_us = mono_us
        self.last_us = mono_us
        self._settle(mono_us, on_delay_us, off_delay_us)

    def _settle(self, mono_us: int, on_delay_us: int, off_delay_us: int) -> None:
        if self.turning_since_us is None:
            return
        if mono_us - self.turning_since_us >= (off_delay_us if self.wet else on_delay_us):
            self.wet = not self.wet
            self.turning_since_us = None

    def word(self, mono_us: int, on_delay_us: int, off_delay_us: int) -> bool | None:
        """Wet, dry, or None when the witness has been silent for longer than its hold and takes no part."""
        if self.wet is None or mono_us - self.last_us > self.hold_us:
            return None
        self._settle(mono_us, on_delay_us, off_delay_us)
        return self.wet


class Interlock:
    """The dry interlock of one site. The first witness of the site file is flow; any witness that says dry keeps the
    probes out of judgement."""

    def __init__(self, discharging: Discharging, channels: dict[str, Channel]) -> None:
        self._on_us = discharging.on_delay_us
        self._off_us = discharging.off_delay_us
        self.applies_to = discharging.applies_to
        self._states = {
            w.channel: _WitnessState(w, channels[w.channel].hold_us)
            for w in discharging.witnesses
            if w.channel in channels
        }
        self._asked_us = -1  # the moment of the last answer; every channel of a poll asks at the same one
        self._answer = Discharge.WET
        self._flow = {name for name in self._states if channels[name].quantity == "flow"}
        self._hold_off_us = discharging.hold_off_us
        self._wet_since_us: int | None = None  # since when the probes are back in the water; None: never seen dry
        self._was_dry = False

    def is_witness(self, channel: str) -> bool:
        """Whether this channel's readings are heard here."""
        return channel in self._states

    def hear(self, reading: Reading) -> bool:
        """Take a witness's reading; one that is failed, missing, in maintenance or settling afterwards takes no part.

        What somebody has just had in their hands must not hide a discharge.

        Whether the witness began to change its mind, or did: what `memory` gives has to be kept then.
        """
        usable = reading.quality is Quality.GOOD or (
            reading.quality is Quality.SUSPECT and AFTER_MAINTENANCE not in reading.tests
        )
        self._asked_us = -1
        if usable and reading.mode is Mode.RUN and reading.value is not None:
            state = self._states[reading.channel]
            before = (state.wet, state.turning_since_us)
            state.hear(reading.value, reading.at.mono_us, self._on_us, self._off_us)
            return before != (state.wet, state.turning_since_us)
        return False

    def rewetted(self, mono_us: int) -> bool:
        """Whether the probes came back into the water less than the hold-off ago; ask after `state`."""
        return self._wet_since_us is not None and mono_us - self._wet_since_us < self._hold_off_us

    def memory(self) -> dict[str, Any]:
        """What each witness settled on, JSON-able."""
        witnesses = {
            name: {"wet": state.wet, "turning_since_us": state.turning_since_us, "last_us": state.last_us}
            for name, state in self._states.items()
            if state.wet is not None
        }
        return {"witnesses": witnesses, "wet_since_us": self._wet_since_us, "was_dry": self._was_dry}

    def restore(self, memory: Mapping[str, Any] | None, resume: Resume) -> None:
        """Bring the witnesses back after a restart. Where time cannot be told each starts afresh with its first word.

        LookupError, TypeError or ValueError for a memory that cannot be read; nothing is changed then.
        """
        if memory is None or resume.offset_us is None:
            return
        moved = resume.offset_us
        back: dict[str, tuple[bool, int | None, int]] = {}
        for name, stored in memory["witnesses"].items():
            turning = stored["turning_since_us"]
            since_us = None if turning is None else int(turning) + moved
            back[name] = (bool(stored["wet"]), since_us, int(stored["last_us"]) + moved)
        wet_since = memory["wet_since_us"]
        self._wet_since_us = None if wet_since is None else int(wet_since) + moved
        self._was_dry = bool(memory["was_dry"])
        for name, (wet, turning_us, last_us) in back.items():
            state = self._states.get(name)
            if state is not None:
                state.wet, state.turning_since_us, state.last_us = wet, turning_us, last_us
        self._asked_us = -1

    def discharging(self, channel: str, mono_us: int) -> bool | None:
        """What one witness says of itself; None when it is silent or no witness."""
        state = self._states.get(channel)
        return None if state is None else state.word(mono_us, self._on_us, self._off_us)

    def state(self, mono_us: int) -> Discharge:
        """What the witnesses say together at a moment; with no word from any of them, WET (the probes are judged)."""
        if mono_us != self._asked_us:
            self._answer = self._ask(mono_us)
            self._asked_us = mono_us
            if self._hold_off_us:
                self._note_wetting(mono_us)
        return self._answer

    def _note_wetting(self, mono_us: int) -> None:
        dry = self._answer is not Discharge.WET
        if self._was_dry and not dry:
            self._wet_since_us = mono_us
        self._was_dry = dry

    def _ask(self, mono_us: int) -> Discharge:
        dry = flow_wet = flow_dry = False
        for name, witness in self._states.items():
            word = witness.word(mono_us, self._on_us, self._off_us)
            if word is None:
                continue
            if not word:
                dry = True
                flow_dry = flow_dry or name in self._flow
            elif name in self._flow:
                flow_wet = True
        if not dry:
            return Discharge.WET
        return Discharge.DISAGREE if flow_wet and not flow_dry else Discharge.NONE
