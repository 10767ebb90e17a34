"""What the running gateway does with the command `calibration`: begin, show live values, record, give up, list.

Whoever calls this commits what was said before answering.
"""

from collections.abc import Mapping
from typing import Any

from gateway.baseline_command import Signed
from gateway.calibration_book import CalibrationBook, Kept
from gateway.calibration_form import calibration_from
from gateway.maintenance import Maintenance
from gateway.maintenance_command import MaintenanceStep
from gateway.model import Mode
from gateway.site import Site
from gateway.spelling import did_you_mean
from gateway.step import Step
from gateway.units import parse_duration_us

__all__ = ["carry_out"]

_MOST_OF_ONE, _MOST_OF_EACH = 50, 3  # an answer is one line of the control socket


def carry_out(
    site: Site, maintenance: Maintenance, book: CalibrationBook, args: Mapping[str, Any], signed: Signed
) -> MaintenanceStep:
    """Carry out `begin`, `live`, `record`, `abandon` or `list`; each but the last needs a `channel`.

    `record` takes the fields of a calibration (`gateway.calibration_form`) and signs it with the actor's name; with
    `check` it is only worked out. A channel that was begun leaves the mode of calibration with its record.
    """
    said = Step()
    try:
        return MaintenanceStep({"ok": True, **_act(site, maintenance, book, args, signed, said)}, said)
    except (LookupError, TypeError, ValueError) as error:
        words = error.args[0] if error.args else str(error)
        return MaintenanceStep({"ok": False, "error": str(words)}, said)


def _act(
    site: Site,
    maintenance: Maintenance,
    book: CalibrationBook,
    args: Mapping[str, Any],
    signed: Signed,
    said: Step,
) -> dict[str, Any]:
    action = args.get("action", "list")
    channel = str(args.get("channel") or "")
    if channel and channel not in site.channels:
        raise LookupError(f"no channel {channel!r} at {site.id}{did_you_mean(channel, site.channels)}")
    if action == "list":
        names, most = ([channel], _MOST_OF_ONE) if channel else (list(site.channels), _MOST_OF_EACH)
        history = {name: listed for name in names if (listed := book.history(name, most)) or channel}
        return {"calibrations": history, "standing": book.standing()}
    if not channel:
        raise ValueError("say which channel")
    if action == "live":
        if args.get("fresh"):  # the sensor was put elsewhere: what it showed before counts no more
            book.unwatch(channel)
        return {"live": book.live(channel, signed.at)}
    if action == "begin":
        lasts = args.get("for")
        who = (signed.actor, str(args.get("reason", "")), signed.via, signed.id)
        lasts_us = None if lasts is None else parse_duration_us(str(lasts))
        maintenance.start([channel], Mode.CALIBRATION, who, lasts_us, signed.at, said)
        return {"live": book.live(channel, signed.at), "maintenance": maintenance.lines(signed.at)}
    if action == "abandon":
        maintenance.stop([channel], Mode.CALIBRATION, signed.actor, signed.via, signed.id, signed.at, said)
        book.unwatch(channel)
        return {"maintenance": maintenance.lines(signed.at)}
    if action == "record":
        return _record(maintenance, book, channel, args, signed, said)
    raise ValueError(f"calibration knows begin, live, record, abandon and list, not {action!r}")


def _record(
    maintenance: Maintenance,
    book: CalibrationBook,
    channel: str,
    args: Mapping[str, Any],
    signed: Signed,
    said: Step,
) -> dict[str, Any]:
    given = args.get("record")
    if not isinstance(given, Mapping):
        raise TypeError("a record is a table of fields")
    if not signed.actor.strip():
        raise ValueError("say who you are: a calibration is signed by its technician")
    repeat = book.by_command(channel, signed.id)
    if repeat is not None:
        return _answer(repeat)
    maintenance.tick(signed.at, said)
    stay = maintenance.standing(channel, Mode.CALIBRATION)
    open_ = stay is not None and (stay.is_open or stay.unsigned)
    body = {"channel": channel, "technician": signed.actor, **given}
    if stay is not None and open_:
        body = {"started_utc_us": stay.since.utc_us, "stopped_utc_us": signed.at.utc_us, **body}
    record = calibration_from(body)
    if record.channel != channel:
        raise ValueError(f"the record is of {record.channel}, not of {channel}")
    if record.technician != signed.actor.strip():
        raise ValueError(f"the record names {record.technician} and {signed.actor} signs it: it must be one person")
    if record.stopped_utc_us > signed.at.utc_us and signed.at.synced:
        raise ValueError("it has stopped in the future")
    found = book.evaluate(record)
    if args.get("check"):
        return {"check": True, "found": found.body()}
    if record.accepted and found.refused:
        raise ValueError(f"it cannot be accepted: {'; '.join(found.refused)}")
    kept = book.add(record, found, signed.id, signed.at, said)
    if open_:
        maintenance.stop([channel], Mode.CALIBRATION, signed.actor, signed.via, signed.id, signed.at, said)
    book.unwatch(channel)
    return {**_answer(kept), "due": book.standing()[channel]["due"], "maintenance": maintenance.lines(signed.at)}


def _answer(kept: Kept) -> dict[str, Any]:
    return {"calibration": kept.body(), "found": kept.found.body()}
