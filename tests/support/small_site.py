"""The smallest site a part can be built for."""

from collections.abc import Mapping
from typing import Any

from gateway.model import Severity
from gateway.site import Baseline, Channel, Contact, Discharging, Part, Rule, Site

__all__ = ["mqtt_part", "small_site"]

BASELINE = Baseline("flow", "flow", "declared", 10.0, "gpm", "Superintendent", "2015-01-01", "b-hash")
SLUG = Rule(
    id="lv-slug-flow", alarm="lv-slug-flow", clause="§ 194-6C(13)(d)", title="Slug: flow", text="", kind="slug",
    channel="flow", comparison=">", unit="gpm", severity=Severity.HIGH, pack="little-valley", pack_version="3",
    pack_hash="p-hash", factor=5.0, baseline=BASELINE, duration_us=900_000_000,
)  # fmt: skip


def small_site(site_id: str = "lv-mh3", contacts: tuple[Contact, ...] = ()) -> Site:
    """Two channels, one rule, whatever contacts are given."""
    return Site(
        id=site_id, name="Manhole 3, Mill Street", discharger="Acme Dairy", time_zone="America/New_York",
        channels={
            "ph": Channel("ph", "pH", "pH", 15_000_000, 37_500_000, 60_000_000, label="pH"),
            "flow": Channel("flow", "flow", "gpm", 15_000_000, 37_500_000, 60_000_000),
        },
        rules=(SLUG,), discharging=Discharging(), alarms={}, contacts=contacts, buses={}, devices={}, sinks=(),
        notifiers=(), baselines={"flow": BASELINE}, config_hash="c-hash",
    )  # fmt: skip


def mqtt_part(port: int, **options: Any) -> Part:
    """An MQTT sink for the loopback that reconnects fast; options given win."""
    quick: Mapping[str, Any] = {"host": "127.0.0.1", "port": port, "retry_base": "50 ms", "retry_cap": "200 ms"}
    return Part("mqtt", "mqtt", {**quick, **options})
