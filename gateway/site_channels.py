"""Channels of the site file, checked: units, conversions, spans and durations as the core wants them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gateway.config_words import Measured
from gateway.drivers.profile import Point
from gateway.problems import Problems
from gateway.site import Channel, Conversion, Counter, CrossCheck, Primary, Span
from gateway.site_counter import build_counter, volume_source
from gateway.site_primary import build_cross_check, build_primary, check_level
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import (
    SUBSTANCES,
    canonical_unit,
    conversion,
    difference_conversion,
    quantity_units,
    two_point_conversion,
    water_column_conversion,
)

if TYPE_CHECKING:
    from gateway.config_shape import ChannelTable, SiteFile

__all__ = ["DEFAULT_FAIL_SPANS", "IN_THE_LIQUID", "build_channels", "convert"]

DEFAULT_POLL_US = 15_000_000

# What no instrument in a sewer can truly read, for channels whose file gives no fail span: wider than any real range,
# narrow enough to catch a swapped word or an unlisted "no value". pH by the glass electrode's scale, current by
# NAMUR NE 43; every other row is an engineering choice.
DEFAULT_FAIL_SPANS: Mapping[str, tuple[float, float, str]] = {
    "pH": (0, 14, "pH"),
    "temperature": (-20, 150, "degC"),
    "flow": (-1_000, 100_000, "gpm"),
    "level": (-10, 100, "ft"),
    "velocity": (-33, 33, "ft/s"),
    "pressure": (-1, 100, "bar"),
    "conductivity": (-10, 1_000_000, "uS/cm"),
    "turbidity": (-10, 100_000, "NTU"),
    "tss": (-10, 1_000_000, "mg/L"),
    "bod": (-10, 1_000_000, "mg/L"),
    "cod": (-10, 1_000_000, "mg/L"),
    "ammonium": (-10, 100_000, "mg/L"),
    "chlorine": (-10, 100_000, "mg/L"),
    "fluoride": (-10, 100_000, "mg/L"),
    "sulfide": (-10, 100_000, "mg/L"),
    "oxygen": (-1, 100, "mg/L"),
    "orp": (-2_000, 2_000, "mV"),
    "h2s-gas": (-10, 10_000, "ppm"),
    "voltage": (-100, 100, "V"),
    "current": (3.6, 21, "mA"),
    "share": (-10, 110, "%"),
    "volume": (0, 1e12, "gal"),
    "load": (-1e6, 1e6, "kg/d"),
    "contact": (0, 1, "state"),
    **dict.fromkeys(SUBSTANCES, (-10, 100_000, "mg/L")),
}

# Quantities a probe measures only while it is in the discharge.
IN_THE_LIQUID = frozenset(
    {"pH", "temperature", "conductivity", "turbidity", "tss", "bod", "cod", "ammonium", "chlorine", "fluoride"}
    | {"sulfide", "oxygen", "orp"}
    | set(SUBSTANCES)
)


def build_channels(
    tree: "SiteFile",
    points: Mapping[str, Mapping[str, Point]],
    devices: Iterable[str],
    problems: Problems,
) -> dict[str, Channel]:
    """Every channel that can be built; mistakes go to `problems`.

    `points` by device, where its profile could be read; `devices` are the names the file gives, broken ones included.
    """
    channels: dict[str, Channel] = {}
    declared = frozenset(devices)
    for name, table in tree.channels.items():
        reader = _ChannelReader(name, table, tree, problems)
        channel = reader.channel(points, declared)
        if channel is not None:
            channels[name] = channel
    return channels


def convert(measured: Measured, unit: str, problems: Problems, path: Path, *, difference: bool = False) -> float | None:
    """A quantity of the file in another unit, or None after saying why not."""
    value, given = measured
    try:
        return (difference_conversion if difference else conversion)(given, unit)(value)
    except ValueError as error:
        problems.error(path, str(error))
        return None


class _ChannelReader:
    """One [channels.NAME] table on its way to a Channel."""

    def __init__(self, name: str, table: "ChannelTable", tree: "SiteFile", problems: Problems) -> None:
        self.name = name
        self.table = table
        self.tree = tree
        self.problems = problems
        self.unit = ""

    def error(self, key: str, text: str) -> None:
        self.problems.error(("channels", self.name, key), text)

    def channel(self, points: Mapping[str, Mapping[str, Point]], devices: frozenset[str]) -> Channel | None:
        table = self.table
        if not self._quantity():
            return None
        source_unit = self._source(points, devices)
        poll_us = table.poll if table.poll is not None else self._poll_of_level()
        if poll_us <= 0:
            self.error("poll", "must be above zero")
        hold_us = table.hold if table.hold is not None else poll_us * 5 // 2
        stale_after_us = table.stale_after if table.stale_after is not None else hold_us
        for key, value in (("hold", hold_us), ("stale_after", stale_after_us)):
            if value < poll_us:
                self.error(key, "is shorter than the poll: no two samples would ever join")
        if table.flat_fail_after is not None and table.flat_fail_after < (table.flat_after or 0):
            self.error("flat_fail_after", "is before flat_after")
        to_unit = self._conversion(source_unit)
        return Channel(
            name=self.name,
            quantity=table.quantity,
            unit=self.unit,
            poll_us=poll_us,
            hold_us=hold_us,
            stale_after_us=stale_after_us,
            source_unit=source_unit,
            device=table.device,
            point=table.point,
            derived_from=table.derived_from,
            primary=self._primary(),
            totalizer=self._totalizer(points, poll_us),
            cross_check=self._cross_check(),
            crown=self._crown(),
            conversion=to_unit,
            full_scale=self._full_scale(),
            fail_span=self._fail_span(source_unit, to_unit),
            suspect_span=self._span("suspect_span", table.suspect_span) or Span(),
            sentinels=tuple(table.sentinels),
            spike=self._difference("spike", table.spike),
            rate_per_min=self._difference("rate", table.rate),
            flat_after_us=table.flat_after,
            flat_fail_after_us=table.flat_fail_after,
            flat_tolerance=self._difference("flat_tolerance", table.flat_tolerance) or 0.0,
            uncertainty=self._difference("uncertainty", table.uncertainty),
            label=table.label,
            fast_poll_us=table.fast_poll,
        )

    def _quantity(self) -> bool:
        try:
            known = quantity_units(self.table.quantity)
        except ValueError as error:
            self.error("quantity", str(error))
            return False
        if self.table.unit is None and len(known) > 1:
            self.error("unit", f"is required: {self.table.quantity} is measured in {', '.join(known)}")
            return False
        try:
            self.unit = canonical_unit(self.table.unit) if self.table.unit is not None else known[0]
        except ValueError as error:
            self.error("unit", str(error))
            return False
        if self.unit not in known:
            self.error("unit", f"{self.table.quantity} is measured in {', '.join(known)}, not in {self.unit}")
            return False
        return True

    def _source(self, points: Mapping[str, Mapping[str, Point]], devices: frozenset[str]) -> str:
        """The unit in which the channel's numbers arrive, after checking where they come from."""
        table = self.table
        if table.derived_from is not None:
            if table.device is not None or table.point is not None:
                self.error("from", "a derived channel has no device and no point")
            if table.quantity == "volume":
                return volume_source(table.derived_from, ("channels", self.name, "from"), self.tree, self.problems)
            if table.quantity != "flow":
                self.error("from", f"only flow and volume can be derived, not {table.quantity}")
                return self.unit
            self._check_level()
            return "gpm"  # what the rating of a primary device gives
        if (table.device is None) != (table.point is None):
            self.error("point" if table.point is None else "device", "device and point belong together")
        told = self._told_source_unit()
        if table.device is None or table.point is None:
            return told or self.unit
        if table.device not in devices:
            self.error("device", f"there is no device {table.device!r}{did_you_mean(table.device, devices)}")
        offered = points.get(table.device)
        if offered is None:  # the device or its profile has its own mistake
            return told or self.unit
        point = offered.get(table.point)
        if point is None:
            self.error("point", f"the profile has no point {table.point!r}{did_you_mean(table.point, offered)}")
            return told or self.unit
        if not point.unit and not told:
            self.error("source_unit", "is required: the profile leaves this point's unit to the device's menu")
        sent = point.unit or ""
        if point.unit_register is not None and told and told not in point.unit_register.units.values():
            self.error("source_unit", f"the device cannot send {told}")
        if sent and not told and not _known_unit(sent):
            self.error("point", f"{table.point} is in {sent}, which no channel takes")
        return told or _known_unit(sent) or self.unit

    def _told_source_unit(self) -> str:
        if self.table.source_unit is None:
            return ""
        try:
            return canonical_unit(self.table.source_unit)
        except ValueError as error:
            self.error("source_unit", str(error))
            return ""

    def _check_level(self) -> None:
        check_level(self.table.derived_from or "", ("channels", self.name, "from"), self.tree, self.problems)
        if self.table.primary is None:
            self.error("primary", "is required: which flume or weir turns the level into flow")

    def _poll_of_level(self) -> int:
        level = self.tree.channels.get(self.table.derived_from or "")
        return level.poll if level is not None and level.poll is not None else DEFAULT_POLL_US

    def _primary(self) -> Primary | None:
        table = self.table.primary
        if table is None:
            return None
        if self.table.derived_from is None:
            self.error("primary", "needs `from`, the level channel it turns into flow")
        at: Path = ("channels", self.name, "primary")
        if table.downstream is not None and table.downstream == self.table.derived_from:
            self.problems.error((*at, "downstream"), "is the level before the device: it takes one behind it")
        return build_primary(table, at, self.tree, self.problems)

    def _cross_check(self) -> CrossCheck | None:
        table = self.table.cross_check
        if table is None:
            return None
        if self.table.quantity != "flow" or self.table.derived_from is not None:
            self.error("cross_check", "is for a flow that its transmitter computes")
        return build_cross_check(table, ("channels", self.name, "cross_check"), self.tree, self.problems)

    def _totalizer(self, points: Mapping[str, Mapping[str, Point]], poll_us: int) -> Counter | None:
        table = self.table
        if table.totalizer is None:
            return None
        at: Path = ("channels", self.name, "totalizer")
        if table.quantity != "volume" or table.derived_from is not None:
            self.error("totalizer", "is for a volume that an instrument counts")
            return None
        point = points.get(table.device or "", {}).get(table.point or "")
        return build_counter(table.totalizer, at, self.unit, poll_us, point, self.tree, self.problems)

    def _crown(self) -> float | None:
        if self.table.crown is None:
            return None
        if self.table.quantity != "level":
            self.error("crown", f"only a level has a crown above it, not {self.table.quantity}")
            return None
        return convert(self.table.crown, self.unit, self.problems, ("channels", self.name, "crown"))

    def _conversion(self, source_unit: str) -> Conversion:
        table = self.table
        try:
            if table.scale is not None and table.conversion is not None:
                self.error("scale", "scale and conversion are two ways to say the same: keep one")
            if table.scale is not None:
                first = self._scale(source_unit)
            elif table.conversion == "water-column":
                first = water_column_conversion(source_unit, self.unit)
            else:
                first = conversion(source_unit, self.unit)
        except ValueError as error:
            key = "scale" if table.scale else "conversion" if table.conversion else "unit"
            pressure_to_level = table.quantity == "level" and key == "unit" and "pressure" in str(error)
            hint = '; say conversion = "water-column" if that is meant' if pressure_to_level else ""
            self.error(key, f"{error}{hint}")
            return Conversion()
        calibration = table.calibration
        if calibration is None:
            return first
        at: Path = ("channels", self.name, "calibration")
        if calibration.gain == 0:
            self.problems.error((*at, "gain"), "must not be zero")
        offset = 0.0
        if calibration.offset is not None:
            offset = convert(calibration.offset, self.unit, self.problems, (*at, "offset"), difference=True) or 0.0
        return Conversion(first.gain * calibration.gain, first.offset * calibration.gain + offset)

    def _scale(self, source_unit: str) -> Conversion:
        scale = self.table.scale
        assert scale is not None  # noqa: S101 - the caller looked
        low, high = [
            (conversion(i[1], source_unit)(i[0]), conversion(o[1], self.unit)(o[0]))
            for i, o in zip(scale.input, scale.output, strict=True)
        ]
        return two_point_conversion(low, high)

    def _fail_span(self, source_unit: str, to_unit: Conversion) -> Span:
        if self.table.fail_span is not None:
            return self._span("fail_span", self.table.fail_span) or Span()
        if self.table.scale is not None and source_unit == "mA":
            low, high, _ = DEFAULT_FAIL_SPANS["current"]
            return Span(*sorted((to_unit(low), to_unit(high))))
        default = DEFAULT_FAIL_SPANS.get(self.table.quantity)
        if default is None:
            return Span()
        low, high, unit = default
        from_default = conversion(unit, self.unit)
        return Span(from_default(low), from_default(high))

    def _span(self, key: str, span: tuple[Measured | None, Measured | None] | None) -> Span | None:
        if span is None:
            return None
        path: Path = ("channels", self.name, key)
        low, high = (None if end is None else convert(end, self.unit, self.problems, path) for end in span)
        if low is not None and high is not None and low >= high:
            self.error(key, "low is not below high")
        return Span(low, high)

    def _full_scale(self) -> float | None:
        if self.table.full_scale is None:
            return None
        return convert(self.table.full_scale, self.unit, self.problems, ("channels", self.name, "full_scale"))

    def _difference(self, key: str, measured: Measured | None) -> float | None:
        if measured is None:
            return None
        value = convert(measured, self.unit, self.problems, ("channels", self.name, key), difference=True)
        if value is not None and value < 0:
            self.error(key, "must not be negative")
        return value


def _known_unit(sent: str) -> str:
    try:
        return canonical_unit(sent)
    except ValueError:
        return ""
