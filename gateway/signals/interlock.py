"""Whether the probes are in the discharge: flow and level witnesses with on- and off-delay (docs/judging.md 2.3)."""

from enum import StrEnum

from gateway.model import Mode, Quality, Reading
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

    def is_witness(self, channel: str) -> bool:
        """Whether this channel's readings are heard here."""
        return channel in self._states

    def hear(self, reading: Reading) -> None:
        """Take a witness's reading; one that is failed, missing or in maintenance takes no part."""
        usable = reading.quality is Quality.GOOD or reading.quality is Quality.SUSPECT
        self._asked_us = -1
        if usable and reading.mode is Mode.RUN and reading.value is not None:
            self._states[reading.channel].hear(reading.value, reading.at.mono_us, self._on_us, self._off_us)

    def discharging(self, channel: str, mono_us: int) -> bool | None:
        """What one witness says of itself; None when it is silent or no witness."""
        state = self._states.get(channel)
        return None if state is None else state.word(mono_us, self._on_us, self._off_us)

    def state(self, mono_us: int) -> Discharge:
        """What the witnesses say together at a moment; with no word from any of them, WET (the probes are judged)."""
        if mono_us != self._asked_us:
            self._answer = self._ask(mono_us)
            self._asked_us = mono_us
        return self._answer

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
