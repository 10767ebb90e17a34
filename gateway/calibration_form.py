"""A calibration record as people and programs hand it in: from a mapping to a `Calibration`, every mistake at once."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any, TypeVar

from gateway.calibration import PROCESS, Calibration, Phase, Reason, Standard, Taken
from gateway.spelling import did_you_mean

__all__ = ["calibration_body", "calibration_from"]

_LONGEST = 1000
_MOST = 50  # standards or readings of one visit
_YEARS_US = (631_152_000 * 10**6, 4_102_444_800 * 10**6)  # 1990 to 2100
_YEARS = range(1990, 2100)
_GREATEST = 1e9  # no instrument shows more, and what is computed from such numbers stays finite
_LONGEST_INTERVAL = timedelta(days=5 * 366)  # ours: a later date is a slip of the pen, and would say nothing for ever
_NEEDED = ("channel", "technician", "sensor_serial", "cleaning")
_WORDS = (
    *_NEEDED, "reference_instrument", "reference_serial", "remark", "attachment", "attachment_sha256", "corrects",
)  # fmt: skip
_DATES = ("reference_calibrated_on", "next_due")
_NUMBERS = ("response_s", "slope_percent", "offset_mv")
_TIMES = ("started_utc_us", "stopped_utc_us")
_KEYS = (*_WORDS, *_DATES, *_NUMBERS, *_TIMES, "reason", "accepted", "standards", "readings")
_T = TypeVar("_T")


def calibration_body(one: Calibration) -> dict[str, Any]:
    """The same as a mapping, JSON-able."""
    body = asdict(one)
    rows = {key: [dict(row) for row in body[key]] for key in ("standards", "readings")}
    return {**body, "reason": one.reason.value, **rows}


def calibration_from(body: Mapping[str, Any]) -> Calibration:
    """The record of a mapping: the fields of `Calibration`, with `standards` and `readings` as lists of mappings.

    `accepted` is True or False, never left out: somebody has to say it. ValueError lists every mistake in words.
    """
    form = _Form()
    form.keys("", body, _KEYS)
    words = {name: form.word(name, body.get(name, "")) for name in _WORDS}
    for name in _NEEDED:
        if not words[name]:
            form.wrong(name, "is required")
    dates = {name: form.day(name, body.get(name, "")) for name in _DATES}
    numbers = {name: form.number(name, body.get(name)) for name in _NUMBERS}
    times = {name: form.moment(name, body.get(name)) for name in _TIMES}
    if times["stopped_utc_us"] < times["started_utc_us"]:
        form.wrong("stopped", "is before it started")
    form.due(dates["next_due"], times["stopped_utc_us"])
    accepted = body.get("accepted")
    if not isinstance(accepted, bool):
        form.wrong("accepted", "is required: true or false")
    reason = form.choice("reason", body.get("reason"), Reason)
    standards = tuple(form.rows("standards", body.get("standards", []), _standard))
    readings = tuple(form.rows("readings", body.get("readings", []), _taken))
    if not readings:
        form.wrong("readings", "is required: at least one")
    if len({standard.name for standard in standards}) < len(standards):
        form.wrong("standards", "name one twice")
    if any(taken.reference is not None for taken in readings) and not words["reference_instrument"]:
        form.wrong("reference_instrument", "is required: a reading stands beside it")
    if words["attachment"] and len(words["attachment_sha256"]) != 64:
        form.wrong("attachment_sha256", "is required: the hash of the file, as 64 hexadecimal digits")
    form.settle()
    fields: dict[str, Any] = {**words, **dates, **numbers, **times}
    return Calibration(**fields, reason=reason, accepted=bool(accepted), standards=standards, readings=readings)


class _Form:
    """Reads fields and gathers what is wrong with them."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []

    def wrong(self, name: str, words: str) -> None:
        self.mistakes.append(f"{name.removesuffix('_utc_us')} {words}")

    def settle(self) -> None:
        if self.mistakes:
            raise ValueError("; ".join(self.mistakes))

    def keys(self, where: str, row: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in row:
            if key not in known:
                self.wrong(f"{where}{key}", f"is no field of it{did_you_mean(str(key), known)}")

    def word(self, name: str, given: Any) -> str:
        if not isinstance(given, str):
            self.wrong(name, "is text")
            return ""
        if not given.isprintable() or len(given) > _LONGEST:
            self.wrong(name, f"holds a character that cannot be printed, or more than {_LONGEST}")
        return given.strip()

    def day(self, name: str, given: Any) -> str:
        word = self.word(name, given)
        try:
            given = date.fromisoformat(word) if word else None
        except ValueError:
            self.wrong(name, f"is a date as 2026-11-30, not {word!r}")
            return ""
        if given is not None and given.year not in _YEARS:
            self.wrong(name, "lies before 1990 or after 2099")
            return ""
        return "" if given is None else given.isoformat()

    def due(self, next_due: str, stopped_utc_us: int) -> None:
        if not next_due or not stopped_utc_us:
            return
        after = date.fromisoformat(next_due) - (date(1970, 1, 1) + timedelta(microseconds=stopped_utc_us))
        if after < timedelta(days=-1):  # a day of grace: this is the day of UTC
            self.wrong("next_due", "is before it stopped")
        elif after > _LONGEST_INTERVAL:
            self.wrong("next_due", "is more than five years away")

    def number(self, name: str, given: Any) -> float | None:
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) <= _GREATEST:
            self.wrong(name, f"is a finite number, no greater than {_GREATEST:g}")
            return None
        return float(given)

    def moment(self, name: str, given: Any) -> int:
        if given is None:
            self.wrong(name, "is required: when it was")
        elif isinstance(given, bool) or not isinstance(given, int) or not _YEARS_US[0] <= given < _YEARS_US[1]:
            self.wrong(name, "lies before 1990 or after 2100")
        else:
            return given
        return 0

    def choice(self, name: str, given: Any, words: Callable[[Any], _T]) -> _T:
        try:
            return words(given)
        except ValueError:
            known = [str(word) for word in words]  # type: ignore[attr-defined]  # every caller gives an enumeration
            self.wrong(name, f"is one of {', '.join(known)}")
            return words(known[0])

    def rows(self, name: str, given: Any, read: "Callable[[_Form, str, Mapping[str, Any]], _T]") -> list[_T]:
        if not isinstance(given, list) or len(given) > _MOST or not all(isinstance(row, Mapping) for row in given):
            self.wrong(name, f"is a list of at most {_MOST} tables")
            return []
        return [read(self, f"{name}.{index}.", row) for index, row in enumerate(given, 1)]


def _standard(form: _Form, where: str, row: Mapping[str, Any]) -> Standard:
    form.keys(where, row, ("name", "temperature_c", "nominal", "lot", "expires"))
    name = form.word(f"{where}name", row.get("name", ""))
    if not name or name == PROCESS:
        form.wrong(f"{where}name", f"is required, and cannot be {PROCESS!r}")
    return Standard(
        name,
        form.number(f"{where}temperature_c", row.get("temperature_c")),
        form.number(f"{where}nominal", row.get("nominal")),
        form.word(f"{where}lot", row.get("lot", "")),
        form.day(f"{where}expires", row.get("expires", "")),
    )


def _taken(form: _Form, where: str, row: Mapping[str, Any]) -> Taken:
    form.keys(where, row, ("phase", "place", "value", "reference", "temperature_c", "mv"))
    value = form.number(f"{where}value", row.get("value"))
    if row.get("value") is None:
        form.wrong(f"{where}value", "is required")
    return Taken(
        form.choice(f"{where}phase", row.get("phase"), Phase),
        form.word(f"{where}place", row.get("place", PROCESS)),
        value or 0.0,
        form.number(f"{where}reference", row.get("reference")),
        form.number(f"{where}temperature_c", row.get("temperature_c")),
        form.number(f"{where}mv", row.get("mv")),
    )
