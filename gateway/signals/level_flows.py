"""Which flows of a site hang on which levels: computed from one, drowned by another, compared with a third."""

from gateway.signals.cross_check import FlowComparison
from gateway.signals.derived import FlowFrom
from gateway.site import Site

__all__ = ["LevelFlows"]


class LevelFlows:
    """By the name of a level: flows computed from it, and who else listens. By that of a flow: its comparison.

    `measured` names derived flows whose own values are supplied, so they are not computed.
    """

    def __init__(self, site: Site, measured: frozenset[str]) -> None:
        self.computed: dict[str, list[FlowFrom]] = {name: [] for name in site.channels}
        self.heard: dict[str, list[FlowFrom | FlowComparison]] = {name: [] for name in site.channels}
        self.compared: dict[str, FlowComparison] = {}
        for flow in site.channels.values():
            if flow.quantity == "flow" and flow.derived_from is not None and flow.name not in measured:
                behind = None if flow.primary is None else flow.primary.downstream
                downstream = None if behind is None else site.channels[behind]
                flow_from = FlowFrom(flow, site.channels[flow.derived_from], downstream)
                self.computed[flow.derived_from].append(flow_from)
                if behind is not None:
                    self.heard[behind].append(flow_from)
            elif flow.cross_check is not None:
                behind = flow.cross_check.primary.downstream
                downstream = None if behind is None else site.channels[behind]
                comparison = FlowComparison(flow, site.channels[flow.cross_check.level], downstream)
                self.compared[flow.name] = comparison
                self.heard[flow.cross_check.level].append(comparison)
                if behind is not None:
                    self.heard[behind].append(comparison)
