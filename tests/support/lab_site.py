"""Laboratory rules and results built by hand: the toxic table of both towns, grease, reviews."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from gateway.model import Instant, LabResult, SampleType, Severity
from gateway.rules.laboratory import Laboratory
from gateway.site import Rule

ZONE = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_ONE = date(2026, 1, 5)
UNSPECIFIED = "The average is not to pass this; averaging period unspecified in law."
CONTROL = "Beyond it the establishment is subject to control by the Town Engineer: a control trigger."

# Substance: 30-day average, 24-hour average, in mg/L; the same in both towns.
TOXIC = {
    "cadmium": (0.4, 0.8), "hex-chromium": (0.2, 0.4), "total-chromium": (4.0, 8.0), "copper": (0.8, 1.6),
    "lead": (0.2, 0.4), "mercury": (0.2, 0.4), "nickel": (4.0, 8.0), "zinc": (1.2, 2.4), "arsenic": (0.2, 0.4),
    "chlorine": (50.0, 50.0), "cyanide-free": (0.4, 0.8), "cyanide-complex": (1.6, 3.2), "selenium": (0.2, 0.4),
    "sulfide": (6.0, 12.0), "barium": (4.0, 8.0), "manganese": (4.0, 8.0), "gold": (0.2, 0.4), "silver": (0.2, 0.4),
    "fluoride": (4.0, 8.0), "phenol": (4.0, 8.0),
}  # fmt: skip


def utc_us(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def local(day: date | int, hour: float = 0) -> int:
    """A local moment of a day (a number counts from the first Monday of 2026), in microseconds of UTC."""
    if isinstance(day, int):
        day = DAY_ONE + timedelta(days=day)
    return utc_us(datetime(day.year, day.month, day.day, tzinfo=ZONE) + timedelta(hours=hour))


def now(day: date | int = 400, hour: float = 12) -> Instant:
    """A moment of entering results; long after the sampling unless told otherwise."""
    at = local(day, hour)
    return Instant(at, at - local(-1000), True)


def rule(quantity: str = "copper", **changes: object) -> Rule:
    """Little Valley's copper, 24-hour average, unless told otherwise."""
    window = changes.get("window", "day")
    suffix = {"day": "24h", "30-day": "30d", "month": "month", "": "grab"}[str(window)]
    name = f"lv-tox-{quantity}-{suffix}"
    facts: dict[str, object] = {
        "id": name, "alarm": name, "clause": "194-6C(8)", "title": f"{quantity}", "text": "", "kind": "average",
        "channel": f"lab:{quantity}", "comparison": ">", "unit": "mg/L", "severity": Severity.HIGH,
        "pack": "little-valley", "pack_version": "1", "pack_hash": "ph", "limit": 1.6, "window": "day",
        "laboratory": True, "quantity": quantity, "trc": 1.2,
    }  # fmt: skip
    return Rule(**(facts | changes))  # type: ignore[arg-type]  # facts are typed by their names above


def toxic(quantity: str, window: str = "day", town: str = "lv", **changes: object) -> Rule:
    """One row of the toxic table."""
    limit = TOXIC[quantity][0 if window == "30-day" else 1]
    name = f"{town}-tox-{quantity}-{'30d' if window == '30-day' else '24h'}"
    words = {"mb": CONTROL, "lv": ""}[town]
    facts: dict[str, object] = {"id": name, "alarm": name, "limit": limit, "window": window, "text": words}
    facts["advisory"] = town == "mb"
    return rule(quantity, **(facts | changes))


def fog(town: str, **changes: object) -> Rule:
    """Oil and grease: each grab over 100 mg/L in Little Valley, a mean of the day over 50 ppm in Marlborough."""
    facts: dict[str, object] = {"id": f"{town}-fog", "alarm": f"{town}-fog", "trc": 1.4}
    if town == "lv":
        facts |= {"kind": "limit", "window": "", "limit": 100.0, "unit": "mg/L"}
    else:
        facts |= {"limit": 50.0, "unit": "ppm", "text": UNSPECIFIED}
    return rule("fog", **(facts | changes))


def review(quantity: str, limit: float) -> Rule:
    """A Marlborough review trigger (118-39), in ppm."""
    name = f"mb-review-{quantity}"
    return rule(quantity, id=name, alarm=name, limit=limit, unit="ppm", advisory=True, trc=None)


def result(value: float | str | None = 1.0, day: date | int = 0, **changes: object) -> LabResult:
    """A 24-h composite of copper from midnight to midnight; `"<0.005"` is a less-than result."""
    ceiling = float(value[1:]) if isinstance(value, str) else None
    facts: dict[str, object] = {
        "id": f"R{day}", "version": 1, "analyte": "copper", "value": None if isinstance(value, str) else value,
        "unit": "mg/L", "sample_type": SampleType.COMPOSITE, "start_utc_us": local(day), "stop_utc_us": local(day, 24),
        "method": "EPA 200.7", "laboratory": "Olean Lab", "entered_by": "P. Coordinator", "detection_limit": ceiling,
    }  # fmt: skip
    return LabResult(**(facts | changes))  # type: ignore[arg-type]  # as above


def grab(value: float | str | None = 1.0, day: date | int = 0, hour: float = 10, **changes: object) -> LabResult:
    """A grab of oil and grease at an hour of a local day."""
    at = local(day, hour)
    facts: dict[str, object] = {
        "id": f"G{day}-{hour:g}", "analyte": "fog", "sample_type": SampleType.GRAB, "start_utc_us": at,
        "stop_utc_us": at, "method": "EPA 1664B",
    }  # fmt: skip
    return result(value, day, **(facts | changes))


def laboratory(*rules: Rule, **options: object) -> Laboratory:
    """A laboratory of these rules."""
    return Laboratory(rules, ZONE, **options)  # type: ignore[arg-type]  # options are typed where they are given
