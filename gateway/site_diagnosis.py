"""What the site file asks sensor diagnosis to look for, with each quantity's own defaults (docs/quality.md 4)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.diagnosed import Agreement, Diagnosed, Heat, Tamper
from gateway.drivers.profile import Point
from gateway.outputs.wired import ContactInput, ContactRole
from gateway.problems import Problems
from gateway.signals.pipe import CAPACITY_MARGIN
from gateway.site import Channel, Discharging
from gateway.site_channels import convert
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import conversion, difference_conversion

if TYPE_CHECKING:
    from gateway.config_diagnosis import AgreementTable
    from gateway.config_shape import ChannelTable, SiteFile

__all__ = ["build_tamper", "diagnosed_channels"]

_JUMP_CM = 10.0
_DRY_US = 24 * 3_600_000_000
_EXACTLY = 1 + 1e-6  # one step of the display is within one step, whatever a float makes of it
_INTEGERS = ("u8", "u16", "s16", "u24", "u32", "s32", "u48", "u64", "s64", "i16", "i32", "i64", "bcd")


def diagnosed_channels(
    channels: Mapping[str, Channel],
    points: Mapping[str, Mapping[str, Point]],
    tree: "SiteFile",
    discharging: Discharging,
    pipe_gpm: float | None,
    problems: Problems,
) -> dict[str, Channel]:
    """The channels with what is looked for in each; mistakes go to `problems`."""
    built = {}
    for name, channel in channels.items():
        reader = _Reader(channel, tree.channels[name], channels, tree, problems)
        point = points.get(channel.device or "", {}).get(channel.point or "")
        diagnosed = reader.diagnosed(point, discharging, pipe_gpm)
        tolerance = channel.flat_tolerance
        if tree.channels[name].flat_tolerance is None and diagnosed.resolution is not None:
            tolerance = diagnosed.resolution * _EXACTLY
        built[name] = replace(channel, diagnosed=diagnosed, flat_tolerance=tolerance, crown=diagnosed.crown)
    return built


class _Reader:
    """One channel's diagnosis on its way from its table."""

    def __init__(
        self,
        channel: Channel,
        table: "ChannelTable",
        channels: Mapping[str, Channel],
        tree: "SiteFile",
        problems: Problems,
    ) -> None:
        self.channel = channel
        self.table = table
        self.channels = channels
        self.tree = tree
        self.problems = problems

    def diagnosed(self, point: Point | None, discharging: Discharging, pipe_gpm: float | None) -> Diagnosed:
        table, channel = self.table, self.channel
        asked = table.diagnosis
        ph, level = channel.quantity == "pH", channel.quantity == "level"
        wired = channel.device is not None
        for key, wanted, known in (("glass", asked.glass, ph), ("held", asked.held, wired)):
            if wanted and not known:
                self._error(("diagnosis", key), f"is for {'pH' if key == 'glass' else 'what a device measures'} only")
        at_manhole = table.place == "manhole"
        return Diagnosed(
            loop=channel.source_unit == "mA" and wired,
            resolution=self._resolution(point),
            attenuation=asked.attenuation_share if _asked(asked.attenuation, default=ph) else None,
            attenuation_hours=asked.attenuation_hours,
            held_us=asked.held_after if wired and _asked(asked.held, default=level) else None,
            glass=ph and _asked(asked.glass, default=True),
            jump=self._jump(default=level and wired),
            dry_us=self._dry(default=ph and channel.name in discharging.applies_to),
            heat=self._heat(),
            night=asked.night or None,
            agreement=None if table.agrees_with is None else self._agreement(table.agrees_with),
            compensated_by=self._compensated_by(),
            capacity=self._capacity(pipe_gpm) if at_manhole else None,
            crown=channel.crown if channel.crown is not None else self._crown() if at_manhole else None,
            overflow_at=self._overflow(),
        )

    def _error(self, keys: Path, text: str) -> None:
        self.problems.error(("channels", self.channel.name, *keys), text)

    def _resolution(self, point: Point | None) -> float | None:
        """What the site says, else the profile, else one count of a register that holds whole numbers."""
        channel = self.channel
        if self.table.resolution is not None:
            path: Path = ("channels", channel.name, "resolution")
            value = convert(self.table.resolution, channel.unit, self.problems, path, difference=True)
            if value is not None and value <= 0:
                self._error(("resolution",), "must be above zero")
            return value
        if point is None:
            return None
        if point.resolution is not None:
            return abs(point.resolution * channel.conversion.gain)
        whole = point.register.type.startswith(_INTEGERS) and not point.terms and point.listing is None
        return abs(point.scale * channel.conversion.gain) if whole else None

    def _jump(self, *, default: bool) -> float | None:
        jump = self.table.diagnosis.jump
        if jump is not None:
            path: Path = ("channels", self.channel.name, "diagnosis", "jump")
            return convert(jump, self.channel.unit, self.problems, path, difference=True)
        return difference_conversion("cm", self.channel.unit)(_JUMP_CM) if default else None

    def _dry(self, *, default: bool) -> int | None:
        return (
            self.table.diagnosis.dry_after
            if self.table.diagnosis.dry_after is not None
            else _DRY_US
            if default
            else None
        )

    def _heat(self) -> Heat | None:
        table = self.table.diagnosis.heat
        if table is None:
            return None
        other = self.channels.get(table.channel)
        if self.channel.quantity != "pH":
            self._error(("diagnosis", "heat"), "is for pH only")
        elif other is None:
            if table.channel not in self.tree.channels:
                hint = did_you_mean(table.channel, self.channels)
                self._error(("diagnosis", "heat", "channel"), f"there is no channel {table.channel!r}{hint}")
        elif other.quantity != "temperature":
            self._error(("diagnosis", "heat", "channel"), f"{other.name} measures {other.quantity}, not temperature")
        else:
            path: Path = ("channels", self.channel.name, "diagnosis", "heat", "above")
            above = convert(table.above, other.unit, self.problems, path)
            return None if above is None else Heat(other.name, above, table.hours)
        return None

    def _agreement(self, table: "AgreementTable") -> Agreement | None:
        other = self.channels.get(table.channel)
        if other is None or other.name == self.channel.name:
            if table.channel not in self.tree.channels or other is not None:
                hint = did_you_mean(table.channel, self.channels)
                self._error(("agrees_with", "channel"), f"there is no other channel {table.channel!r}{hint}")
            return None
        if other.quantity != self.channel.quantity:
            self._error(
                ("agrees_with", "channel"), f"{other.name} measures {other.quantity}, not {self.channel.quantity}"
            )
            return None
        path: Path = ("channels", self.channel.name, "agrees_with", "within")
        within = convert(table.within, self.channel.unit, self.problems, path, difference=True)
        if within is None or within < 0:
            self._error(("agrees_with", "within"), "must not be negative")
            return None
        to_mine = conversion(other.unit, self.channel.unit)
        return Agreement(other.name, within, table.lasting, to_mine.gain, to_mine.offset)

    def _compensated_by(self) -> str | None:
        name = self.table.compensated_by
        if name is None:
            return None
        other = self.channels.get(name)
        if other is None:
            if name not in self.tree.channels:
                hint = did_you_mean(name, self.channels)
                self._error(("compensated_by",), f"there is no channel {name!r}{hint}")
            return None
        if other.quantity != "temperature":
            self._error(("compensated_by",), f"{name} measures {other.quantity}, not temperature")
            return None
        return name

    def _capacity(self, pipe_gpm: float | None) -> float | None:
        if pipe_gpm is None or self.channel.quantity != "flow":
            return None
        return conversion("gpm", self.channel.unit)(CAPACITY_MARGIN * pipe_gpm)

    def _crown(self) -> float | None:
        """The pipe's own diameter above its invert, which is the zero of a level."""
        pipe = self.tree.pipe
        if self.channel.quantity != "level" or pipe is None:
            return None
        try:
            return conversion(pipe.diameter[1], self.channel.unit)(pipe.diameter[0])
        except ValueError:  # told where the pipe is read
            return None

    def _overflow(self) -> float | None:
        if self.table.overflow_at is None:
            return None
        if self.channel.quantity != "level":
            self._error(("overflow_at",), f"only a level runs over, not {self.channel.quantity}")
            return None
        path: Path = ("channels", self.channel.name, "overflow_at")
        return convert(self.table.overflow_at, self.channel.unit, self.problems, path)


def build_tamper(tree: "SiteFile", inputs: Mapping[str, ContactInput], problems: Problems) -> Tamper | None:
    """What is called tampering at this station; None when nothing is looked at."""
    table = tree.tamper
    if table is None:
        return None
    plain = Tamper()
    given = {
        key: convert(value, unit, problems, ("tamper", key), difference=difference)
        for key, value, unit, difference in (
            ("ph_step", table.ph_step, "pH", True),
            ("tap_conductivity", table.tap_conductivity, "uS/cm", False),
            ("temperature_step", table.temperature_step, "degC", True),
            ("ambient", table.ambient, "degC", False),
        )
        if value is not None
    }
    return Tamper(
        contacts=tuple(
            (name, spec.normal) for name, spec in inputs.items() if spec.role in (ContactRole.DOOR, ContactRole.LID)
        ),
        ph_step=_or(given.get("ph_step"), plain.ph_step),
        conductivity_share=table.conductivity_step,
        tap_us_cm=_or(given.get("tap_conductivity"), plain.tap_us_cm),
        temperature_step_c=_or(given.get("temperature_step"), plain.temperature_step_c),
        ambient_c=_or(given.get("ambient"), plain.ambient_c),
        flow_share=table.flow_within,
        channels=table.channels,
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _asked(said: bool | None, *, default: bool) -> bool:
    return default if said is None else said
