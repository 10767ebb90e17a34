"""How `check` shows what a primary device makes of a level: its rating at some heads, and where limits lie on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from gateway.check_words import print_table
from gateway.primary import Primary
from gateway.signals.diagnosis.standing import velocity_beside
from gateway.signals.flow import Rating
from gateway.signals.ratings import rating
from gateway.site import Channel, Site
from gateway.site_advice import threshold_of
from gateway.units import conversion, difference_conversion

__all__ = ["print_ratings", "ratings_data"]

_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the greatest head


@dataclass(frozen=True, slots=True)
class _Row:
    """One head: `level` is what the channel then reads, in its unit; `what` says why this head is of interest."""

    level: float
    head_ft: float
    flow: float
    uncertainty: float
    what: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    flow: Channel
    level: Channel
    primary: Primary
    rating: Rating
    compared: bool
    velocity: str = ""  # the channel that shows water that stands

    def row(self, head_ft: float, what: str = "") -> _Row:
        rated = self.rating
        level_ft = head_ft - rated.head_offset_ft
        to_ft = difference_conversion(self.level.unit, "ft")
        return _Row(
            level=conversion("ft", self.level.unit)(level_ft),
            head_ft=head_ft,
            flow=conversion("cfs", self.flow.unit)(rated.flow_cfs(head_ft)),
            uncertainty=rated.uncertainty(head_ft, to_ft(self.level.uncertainty or 0.0)),
            what=what,
        )

    def rows(self) -> Iterator[_Row]:
        """Some heads of the proven range."""
        rated = self.rating
        if rated.h_min_ft > 0:
            yield self.row(rated.h_min_ft, "least head")
        for share in _SHARES:
            head_ft = share * rated.h_max_ft
            if head_ft > rated.h_min_ft:
                yield self.row(head_ft, "greatest head" if share == 1 else "")

    def wanted(self, site: Site, pipe_gpm: float | None) -> Iterator[tuple[str, _Row | None]]:
        """What must be shown: the pipe's own capacity, and what rules ask for. None where the rating does not reach."""
        asked = [(f"{rule.alarm} {rule.comparison}", threshold_of(rule, site), rule.unit) for rule in _of(self, site)]
        if pipe_gpm is not None:
            asked.insert(0, ("the pipe full", pipe_gpm, "gpm"))
        for what, value, unit in asked:
            if value is None:
                continue
            gpm = conversion(unit, "gpm")(value)
            head_ft = self.rating.head_ft(gpm) if gpm <= self.most_gpm else None
            yield f"{what} {value:.4g} {unit}", None if head_ft is None else self.row(head_ft)

    @property
    def most_gpm(self) -> float:
        """The most that is believed."""
        crown = self.level.crown
        return self.rating.most_gpm(None if crown is None else conversion(self.level.unit, "ft")(crown))


def _of(sheet: _Sheet, site: Site) -> Iterator[Any]:
    for rule in site.rules:
        if rule.channel == sheet.flow.name and rule.kind in ("limit", "slug"):
            yield rule


def _sheets(site: Site) -> Iterator[_Sheet]:
    for flow in site.channels.values():
        if flow.primary is not None and flow.derived_from is not None:
            level = site.channels[flow.derived_from]
            beside = velocity_beside(level, site.channels)
            yield _Sheet(flow, level, flow.primary, rating(flow.primary), False, "" if beside is None else beside.name)
        if flow.cross_check is not None:
            check = flow.cross_check
            yield _Sheet(flow, site.channels[check.level], check.primary, rating(check.primary), compared=True)


def print_ratings(site: Site, pipe_gpm: float | None, out: TextIO) -> None:
    """One table for each primary device of the site."""
    for sheet in _sheets(site):
        rated, flow, level = sheet.rating, sheet.flow, sheet.level
        does = "compared with" if sheet.compared else "computed from"
        out.write(f"\nFlow {flow.name}, {does} {level.name}: {rated.name}\n")
        out.writelines(f"  {line}\n" for line in _facts(sheet))
        print_table([_cells(sheet, row) for row in sheet.rows()], out)
        out.writelines(f"  {what}: {_where(sheet, row)}\n" for what, row in sheet.wanted(site, pipe_gpm))


def _facts(sheet: _Sheet) -> Iterator[str]:
    rated = sheet.rating
    yield f"source: {rated.source}"
    if rated.head_offset_ft:
        yield f"head = level {rated.head_offset_ft:+.4g} ft"
    own = f"uncertainty: the device's {_percent(rated.accuracy)} of the flow"
    level = sheet.level.name
    yield f"{own}, {level} gives none" if sheet.level.uncertainty is None else f"{own}, and that of {level}"
    crown = sheet.level.crown
    if crown is not None:
        yield f"from {level} {crown:.4g} {sheet.level.unit} on the pipe is full, and no flow is believed"
    elif rated.full_ft is None and not sheet.compared:
        yield f"a full pipe cannot be seen: {level} has no crown"
    if rated.depth_only:
        seen = f"{sheet.velocity} shows" if sheet.velocity else "nothing here can see"
        yield f"from depth alone: backwater makes it read high, and {seen} it"
    elif sheet.primary.downstream is not None and rated.submergence_limit is not None:
        yield f"submergence: seen by {sheet.primary.downstream}, above {_percent(rated.submergence_limit)} of the head"
    else:
        limit = rated.submergence_limit
        upto = "" if limit is None else f" (free flow up to {_percent(limit)} of the head)"
        yield f"submergence cannot be seen: no level behind the device{upto}; look"


def _cells(sheet: _Sheet, row: _Row) -> tuple[str, ...]:
    return (
        f"{sheet.level.name} {row.level:.4g} {sheet.level.unit}",
        f"{row.flow:.4g} {sheet.flow.unit}",
        f"+- {_percent(row.uncertainty)}",
        row.what,
    )


def _where(sheet: _Sheet, row: _Row | None) -> str:
    if row is None:
        return "beyond what is believed of this device"
    return f"at {sheet.level.name} {row.level:.4g} {sheet.level.unit}, +- {_percent(row.uncertainty)}"


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"


def ratings_data(site: Site, pipe_gpm: float | None) -> list[dict[str, Any]]:
    """The same as data: heads in ft, levels and flows in the units of their channels, uncertainty as a share."""
    return [
        {
            "channel": sheet.flow.name, "level": sheet.level.name, "compared": sheet.compared,
            "device": sheet.rating.name, "source": sheet.rating.source, "h_min_ft": sheet.rating.h_min_ft,
            "h_max_ft": sheet.rating.h_max_ft, "depth_only": sheet.rating.depth_only,
            "submergence_limit": sheet.rating.submergence_limit, "downstream": sheet.primary.downstream,
            "points": [_point(row) for row in sheet.rows()],
            "asked": [{"what": w, "at": r and _point(r)} for w, r in sheet.wanted(site, pipe_gpm)],
        }
        for sheet in _sheets(site)
    ]  # fmt: skip


def _point(row: _Row) -> dict[str, float]:
    return {"level": row.level, "head_ft": row.head_ft, "flow": row.flow, "uncertainty": row.uncertainty}
