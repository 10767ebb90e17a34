"""`calibrate CHANNEL --guide`: a visit step by step, with the values taken live from the running gateway.

Before cleaning, after cleaning, check in the standards, recalibrate, final reading: the order that keeps fouling and
drift apart. A value is offered once it has stood still; a person always has the last word.
"""

import json
import math
from collections.abc import Callable
from datetime import date
from typing import Any

from gateway.calibration_actions import found_lines
from gateway.errors import InputError

__all__ = ["Guide"]

_LOOK_EVERY_S = 1.0
_PATIENCE_LOOKS = 600
_PROCESS = "process"
_YES_OR_NO = ("y", "yes", "n", "no")
_REASONS = ("routine", "failed check", "replacement")


class Guide:
    """One visit to one channel.

    `ask` puts a request (an action and its arguments) to the gateway, `prompt` a question to the technician, `say`
    prints a line, `attach` turns a file's name into its path and hash, `wait` lets some seconds pass and returns early
    what was typed meanwhile. When `prompt` or `wait` raises EOFError or KeyboardInterrupt the calibration is given up,
    and that is on record.
    """

    def __init__(
        self,
        ask: Callable[..., dict[str, Any]],
        prompt: Callable[[str], str],
        say: Callable[[str], object],
        attach: Callable[[str], dict[str, str]],
        wait: Callable[[float], str | None],
    ) -> None:
        self._ask = ask
        self._prompt = prompt
        self._say = say
        self._attach = attach
        self._wait = wait

    def run(self) -> int:
        """The whole visit: 0 when a record of it was taken, accepted or rejected; 1 when not."""
        reason = ""
        while reason not in _REASONS:
            reason = self._words(f"reason: {', '.join(_REASONS)}", "routine")
        begun = self._ask("begin", reason=reason)
        if not begun["ok"]:
            self._say(f"refused: {begun['error']}")
            return 1
        self._say("in calibration: recorded, flagged C, and judged by no rule until the record is taken")
        try:
            return self._visit(reason, begun["live"]["unit"])
        except (EOFError, KeyboardInterrupt):
            answer = self._ask("abandon")
            self._say("given up, nothing recorded" if answer["ok"] else f"refused: {answer['error']}")
            return 1

    def _visit(self, reason: str, unit: str) -> int:
        record: dict[str, Any] = {"reason": reason, "sensor_serial": self._words("serial number of the sensor")}
        record["reference_instrument"] = self._words("reference instrument (empty for none)", "")
        if record["reference_instrument"]:
            record["reference_serial"] = self._words("its serial number")
            record["reference_calibrated_on"] = self._day("the day it was calibrated, as 2026-11-30")
        has_reference = bool(record["reference_instrument"])
        standards = [self._standard(number + 1, unit) for number in range(self._count("how many standards", 2))]
        readings = [self._reading("before cleaning", _PROCESS, has_reference=has_reference)]
        record["cleaning"] = self._words("clean the sensor now; what was done", "none")
        readings.append(self._reading("after cleaning", _PROCESS, has_reference=has_reference))
        readings += [self._reading("check", standard["name"], ph=unit == "pH") for standard in standards]
        self._words("recalibrate the instrument now, or leave it as it is; then press Enter", "")
        readings += [self._reading("final", standard["name"], ph=unit == "pH") for standard in standards]
        readings.append(self._reading("final", _PROCESS, has_reference=has_reference))
        record["standards"] = standards
        record["readings"] = [reading for reading in readings if reading is not None]
        record["response_s"] = self._number("response time in s (empty when not timed)")
        if unit == "pH":
            record["slope_percent"] = self._number("slope in % that the instrument shows (empty for none)")
            record["offset_mv"] = self._number("offset in mV that it shows (empty for none)")
        record |= self._attachment()
        record["remark"] = self._words("remark (empty for none)", "")
        return self._settle(record)

    def _settle(self, record: dict[str, Any]) -> int:
        """Show what it comes to, and record it by the technician's word."""
        tried = self._ask("record", record={**record, "accepted": True}, check=True)
        if not tried["ok"]:
            self._say(f"this is no record yet: {tried['error']}")
            self._say(json.dumps({**record, "accepted": True}))
            self._say("that is what was entered: keep it as FILE.json, mend it, and hand it in by --file FILE.json")
            return 1
        for line in found_lines(tried["found"]):
            self._say(line)
        while True:
            accepted = self._yes("accept it? y or n (n keeps it on record as rejected)")
            answer = self._ask("record", record={**record, "accepted": accepted})
            if answer["ok"]:
                word = "accepted" if accepted else "REJECTED"
                due = f", next due {answer['due']}" if answer.get("due") else ""
                self._say(f"recorded as {answer['calibration']['id']}, {word}{due}")
                return 0
            self._say(f"refused: {answer['error']}")

    def _standard(self, number: int, unit: str) -> dict[str, Any]:
        standard: dict[str, Any] = {"name": self._words(f"standard {number}: its name, as 4 or 7 or 10")}
        standard["lot"] = self._words("  lot (empty when it does not say)", "")
        standard["expires"] = self._day("  expires on, as 2027-11-30 (empty when it does not say)")
        standard["temperature_c"] = self._number("  its temperature now in degC")
        table = "empty: from the table of buffers" if unit == "pH" else "required"
        standard["nominal"] = self._number(f"  its value at that temperature in {unit} ({table})")
        return standard

    def _reading(
        self, phase: str, place: str, *, has_reference: bool = False, ph: bool = False
    ) -> dict[str, Any] | None:
        """One reading, taken live; None when it is skipped."""
        where = "in the discharge" if place == _PROCESS else f"in standard {place}"
        if self._words(f"{phase}: the sensor {where}, then Enter (s to skip)", "").lower() == "s":
            return None
        reading: dict[str, Any] = {"phase": phase, "place": place, "value": self._live()}
        if has_reference:
            reading["reference"] = self._number("  the reference instrument beside it (empty for none)")
        if ph:
            reading["mv"] = self._number("  mV, where the instrument shows them (empty for none)")
        return reading

    def _live(self) -> float:
        """The value once it stands still, or what the technician says instead."""
        live, shown = self._ask("live", fresh=True)["live"], ""
        self._say("  it is offered when it has stood still for a minute; Enter, or a value, does not wait for that")
        while True:
            for _ in range(_PATIENCE_LOOKS):
                live = self._ask("live")["live"]
                line = f"  {_said(live)} {live['unit']}, steady for {live['steady_s']:.0f} s"
                if line != shown:
                    self._say(line)
                    shown = line
                if live["steady"]:
                    break
                typed = self._wait(_LOOK_EVERY_S)
                if typed is not None:
                    number = _number(typed.strip())
                    if number is not None:
                        return number
                    break
            else:
                self._say("  it does not stand still")
            word = self._prompt(f"  take {_said(live)}? Enter, another value, or w to wait on: ").strip()
            if word.lower() == "w":
                continue
            if not word and live["value"] is not None:
                return float(live["value"])
            number = _number(word)
            if number is not None:
                return number
            self._say("  a number, please")

    def _attachment(self) -> dict[str, str]:
        while name := self._words("photograph or other file (empty for none)", ""):
            try:
                return self._attach(name)
            except InputError as error:
                self._say(f"  {error}")
        return {}

    def _words(self, question: str, usual: str | None = None) -> str:
        """An answer in words; `usual` where there is none, and no end without either."""
        hint = f" [{usual}]" if usual else ""
        while True:
            word = self._prompt(f"{question}{hint}: ").strip()
            if word or usual is not None:
                return word or usual or ""
            self._say("  this one is needed (Control-D gives the calibration up)")

    def _yes(self, question: str) -> bool:
        """A plain yes or no: a record is never changed, so no slip of the finger is taken for either."""
        while True:
            word = self._prompt(f"{question}: ").strip().lower()
            if word in _YES_OR_NO:
                return word.startswith("y")
            self._say("  y or n, please")

    def _day(self, question: str) -> str:
        """A date, or nothing."""
        while True:
            word = self._words(question, "")
            try:
                return date.fromisoformat(word).isoformat() if word else ""
            except ValueError:
                self._say("  a date as 2026-11-30, please")

    def _number(self, question: str) -> float | None:
        while True:
            word = self._prompt(f"{question}: ").strip()
            number = _number(word)
            if number is not None or not word:
                return number
            self._say("  a number, please")

    def _count(self, question: str, usual: int) -> int:
        while True:
            word = self._words(question, str(usual))
            if word.isdecimal() and int(word) <= 10:
                return int(word)
            self._say("  a whole number up to 10, please")


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _said(live: dict[str, Any]) -> str:
    return "nothing" if live["value"] is None else f"{live['value']:.4g}"
