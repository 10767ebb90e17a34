"""The texts in English."""

from gateway.alarms.phrases import Phrases
from gateway.model import Severity

__all__ = ["PHRASES"]

PHRASES = Phrases(
    severity={
        Severity.NOTICE: "NOTICE",
        Severity.WARNING: "WARNING",
        Severity.HIGH: "HIGH",
        Severity.CRITICAL: "CRITICAL",
    },
    ongoing="ONGOING",
    suspected="SUSPECTED",
    prealarm="PRE-ALARM",
    prealarm_left="PRE-ALARM {left} left",
    ended="ENDED",
    since="since {time}",
    untrusted="?",
    baseline="({factor}x{baseline})",
    sensor_ok="Sensor OK.",
    sensor_near="Sensor OK, within its error.",
    sensor_fault="SENSOR FAULT.",
    reminder="Reminder {number}.",
    acknowledge="ACK {code}",
    reference="Alarm {code}",
    sensor="sensor {channel}",
    sensor_action="Check sensor.",
    back="back {value}",
    back_to_normal="back to normal",
    limit="(limit {limit})",
    end_not_seen="End not seen",
    at="at {time}",
    lowest="min {value}",
    highest="max {value}",
    after_restart="Found after restart.",
    seconds="{s}s",
    minutes="{m}min",
    hours="{h}h{m:02d}min",
    days="{d}d{h}h",
    acknowledged="ACK {code} taken. It stays on the list until it ends.",
    shelved="{code} shelved for {duration}.",
    not_done="NOT DONE {what}: {why}",
    which="Which one? Send one of: {codes}",
    pin_wanted="Add your PIN, as: ACK 4-17 1234",
    help="Send ACK 4-17 (the code of the text), SH 4-17 2H to shelve, S for how the station is.",
    status_head="OK {time}",
    status_alarms="Alarms: {number}",
    nothing_told="You were told of nothing that waits. Send the code of the text.",
)
