"""The sampler of the site file, checked: its pace, its bottle against the water that is expected, its events."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gateway.outputs.sizing import bounds_gal
from gateway.outputs.wired import CompositePlan, GrabPlan, Output, OutputRole, Sampler
from gateway.problems import Problems
from gateway.site import Channel, Discharging, Rule
from gateway.site_channels import convert
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import conversion, format_duration

if TYPE_CHECKING:
    from gateway.config_outputs import CompositeTable, GrabTable
    from gateway.config_shape import SiteFile

__all__ = ["build_sampler"]

_LOCKOUT_US = 3_600_000_000
_WORTH_A_BOTTLE = frozenset({"pH", "temperature", "conductivity"})


def build_sampler(
    tree: "SiteFile",
    outputs: Mapping[str, Output],
    channels: Mapping[str, Channel],
    discharging: Discharging,
    rules: Sequence[Rule],
    problems: Problems,
    *,
    complete: bool,
) -> Sampler:
    """The sampler; its parts that cannot be built are left out after saying why."""
    table = tree.sampler
    if table is None:
        return Sampler()
    reader = _Reader(tree, outputs, channels, discharging, problems)
    return Sampler(
        None if table.composite is None else reader.composite(table.composite),
        None if table.grab is None else reader.grab(table.grab, rules, complete=complete),
    )


class _Reader:
    """[sampler] on its way to a Sampler."""

    def __init__(
        self,
        tree: "SiteFile",
        outputs: Mapping[str, Output],
        channels: Mapping[str, Channel],
        discharging: Discharging,
        problems: Problems,
    ) -> None:
        self.tree = tree
        self.outputs = outputs
        self.channels = channels
        self.idle_below = {witness.channel: witness.wet_at for witness in discharging.witnesses}
        self.problems = problems

    def composite(self, table: "CompositeTable") -> CompositePlan | None:
        path: Path = ("sampler", "composite")
        output = self._output(table.output, OutputRole.SAMPLER_PACE, path)
        flow = self._flow(table.flow, path)
        if (table.volume is None) == (table.every is None):
            self.problems.error((*path, "volume"), "a composite has a volume, or a time with every, per pulse")
            return None
        if table.volume is not None and table.flow is None:
            self.problems.error((*path, "flow"), "is required: which channel paces the composite")
        amounts = [convert(q, "L", self.problems, (*path, key)) for key, q in self._amounts(table)]
        volume_gal = None if table.volume is None else convert(table.volume, "gal", self.problems, (*path, "volume"))
        if None in amounts or (table.volume is not None and volume_gal is None):
            return None
        aliquot_ml, bottle_ml = (1000.0 * (amount or 0.0) for amount in amounts[:2])
        for key, value in (("aliquot", aliquot_ml), ("bottle", bottle_ml), ("volume", volume_gal)):
            if value is not None and value <= 0:
                self.problems.error((*path, key), "must be above zero")
                return None
        if bottle_ml < aliquot_ml:
            self.problems.error((*path, "bottle"), "does not hold one aliquot")
        for key in ("every", "cycle", "duration"):
            if getattr(table, key) == 0:
                self.problems.error((*path, key), "must be above zero")
                return None
        spacing_us = -(-table.cycle // table.pulses_per_aliquot)
        if output is not None:
            spacing_us = max(spacing_us, output.min_interval_us)
        if table.every is not None and table.every < spacing_us:
            often = format_duration(spacing_us)
            self.problems.error((*path, "every"), f"is faster than the sampler and its output can: {often}")
        self._sizing(table, aliquot_ml, bottle_ml, volume_gal, spacing_us, path)
        if output is None or (table.flow is not None and flow is None):
            return None
        return CompositePlan(
            output=output.name,
            flow=table.flow,
            volume_gal=volume_gal,
            every_us=table.every,
            spacing_us=spacing_us,
            aliquot_ml=aliquot_ml,
            bottle_ml=bottle_ml,
            duration_us=table.duration,
            pulses_per_aliquot=table.pulses_per_aliquot,
            gpm_per_unit=1.0 if flow is None else conversion(flow.unit, "gpm").gain,
            idle_below=self.idle_below.get(table.flow or "", 0.0),
            hold_us=37_500_000 if flow is None else flow.hold_us,
        )

    def _amounts(self, table: "CompositeTable") -> list[tuple[str, tuple[float, str]]]:
        amounts = [("aliquot", table.aliquot), ("bottle", table.bottle)]
        return amounts if table.needed is None else [*amounts, ("needed", table.needed)]

    def _sizing(
        self,
        table: "CompositeTable",
        aliquot_ml: float,
        bottle_ml: float,
        volume_gal: float | None,
        spacing_us: int,
        path: Path,
    ) -> None:
        """Whether the largest flow overfills the bottle, or the smallest leaves too little for the laboratory."""
        if table.needed is None:
            return
        needed_ml = 1000.0 * (convert(table.needed, "L", self.problems, (*path, "needed")) or 0.0)
        if volume_gal is None:
            aliquots = table.duration // (table.every or table.duration) // table.pulses_per_aliquot
            if not needed_ml <= aliquots * aliquot_ml <= bottle_ml:
                text = f"{aliquots} aliquots make {aliquots * aliquot_ml:g} mL; needed are {needed_ml:g}"
                self.problems.warning((*path, "every"), f"{text}, and the bottle holds {bottle_ml:g}")
            return
        if table.expected is None:
            self.problems.warning((*path, "expected"), "is missing: nobody can tell whether the bottle suits the flow")
            return
        ends = [convert(end, "gal", self.problems, (*path, "expected")) for end in table.expected]
        if None in ends:
            return
        smallest, largest = (end or 0.0 for end in ends)
        try:
            bounds = bounds_gal(aliquot_ml, bottle_ml, needed_ml, smallest, largest)
        except ValueError as error:
            self.problems.error((*path, "expected"), str(error))
            return
        per_aliquot = volume_gal * table.pulses_per_aliquot
        between = f"between {bounds.least_gal:.1f} and {bounds.greatest_gal:.1f} gal"
        if not bounds.possible:
            text = (
                f"no volume suits: the bottle asks for {bounds.least_gal:.1f} gal per aliquot or more, the laboratory"
            )
            self.problems.warning((*path, "aliquot"), f"{text} for {bounds.greatest_gal:.1f} or less")
        elif per_aliquot < bounds.least_gal:
            text = f"{per_aliquot:g} gal per aliquot overfills the bottle at the largest flow"
            self.problems.warning((*path, "volume"), f"{text}; it must lie {between}")
        elif per_aliquot > bounds.greatest_gal:
            text = f"{per_aliquot:g} gal per aliquot leaves too little for the laboratory at the smallest flow"
            self.problems.warning((*path, "volume"), f"{text}; it must lie {between}")
        fastest_us = volume_gal * table.duration / largest
        if fastest_us < spacing_us:
            text = f"the largest flow asks for a pulse every {fastest_us / 1e6:.1f} s on average"
            self.problems.warning((*path, "volume"), f"{text}, the sampler takes {format_duration(spacing_us)}")

    def grab(self, table: "GrabTable", rules: Sequence[Rule], *, complete: bool) -> GrabPlan | None:
        path: Path = ("sampler", "grab")
        output = self._output(table.output, OutputRole.SAMPLER_GRAB, path)
        flow = self._flow(table.flow, path)
        known = {rule.id for rule in rules}
        if table.rules is not None:
            chosen = frozenset(table.rules)
            for rule in sorted(chosen - known) if complete else ():
                self.problems.error(
                    (*path, "rules"), f"there is no rule {rule!r} at this site{did_you_mean(rule, known)}"
                )
        else:
            chosen = frozenset(rule.id for rule in rules if not rule.laboratory and _is_worth_a_bottle(rule))
        if any(after == 0 for after in table.follow_ups):
            self.problems.error((*path, "follow_ups"), "must lie after the event")
        if output is None:
            return None
        return GrabPlan(
            output=output.name,
            rules=chosen,
            bottles=table.bottles,
            follow_ups_us=tuple(table.follow_ups),
            lockout_us=_LOCKOUT_US if table.lockout is None else table.lockout,
            hold_times_us=dict(table.hold_times),
            flow=None if flow is None else flow.name,
            idle_below=self.idle_below.get(table.flow or "", 0.0),
            hold_us=37_500_000 if flow is None else flow.hold_us,
        )

    def _output(self, name: str, role: OutputRole, path: Path) -> Output | None:
        output = self.outputs.get(name)
        if output is None:
            if name not in self.tree.outputs:
                hint = did_you_mean(name, self.tree.outputs)
                self.problems.error((*path, "output"), f"there is no output {name!r}{hint}")
            return None
        if output.role is not role:
            self.problems.error((*path, "output"), f"output {name!r} is a {output.role}; here belongs a {role}")
            return None
        return output

    def _flow(self, name: str | None, path: Path) -> Channel | None:
        if name is None:
            return None
        channel = self.channels.get(name)
        if channel is None:
            if name not in self.tree.channels:
                hint = did_you_mean(name, self.tree.channels)
                self.problems.error((*path, "flow"), f"there is no channel {name!r}{hint}")
            return None
        if channel.quantity != "flow":
            self.problems.error((*path, "flow"), f"{name} measures {channel.quantity}, not flow")
            return None
        return channel


def _is_worth_a_bottle(rule: Rule) -> bool:
    return rule.kind == "slug" or (rule.kind == "limit" and rule.quantity in _WORTH_A_BOTTLE)
