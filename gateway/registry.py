"""Sinks and notifiers by name: `module:Class`, imported when a site asks for it.

Others register as entry points in the groups `manhole_gateway.sinks` and `manhole_gateway.notifiers`. A provider is a
callable taking a `Part`, the `Site`, the `Clock` and the state directory.
"""

from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from gateway.clock import Clock
from gateway.errors import ConfigError, Problem
from gateway.site import Part, Site

__all__ = ["notifier", "sink"]

_SINKS = {"mqtt": "gateway.sinks.mqtt_sink:provide"}
_NOTIFIERS = {
    "bench": "gateway.alarms.bench_text:provide",
    "gammu-smsd": "gateway.alarms.smsd:provide",
    "http-sms": "gateway.alarms.http_sms:provide",
    "mail": "gateway.alarms.mail:provide",
    "modem": "gateway.alarms.modem:provide",
}
_EXTRAS = {"urllib3": "sms", "dbus_fast": "modem"}  # which extra brings a library that most sites do without


def sink(part: Part, site: Site, clock: Clock, state_directory: Path) -> Any:
    """The sink a site file names. ConfigError when nobody provides its kind."""
    return _provider("sinks", _SINKS, part)(part, site, clock, state_directory)


def notifier(part: Part, site: Site, clock: Clock, state_directory: Path) -> Any:
    """The notifier a site file names. ConfigError when nobody provides its kind."""
    return _provider("notifiers", _NOTIFIERS, part)(part, site, clock, state_directory)


def _provider(group: str, table: dict[str, str], part: Part) -> Any:
    target = table.get(part.kind)
    if target is not None:
        module, _, name = target.partition(":")
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            text = f"kind {part.kind!r} needs {error.name}: install manhole-gateway[{extra}]"
            raise ConfigError([Problem("site", f"{group}.{part.name}", None, text)]) from error
    for point in entry_points(group=f"manhole_gateway.{group}"):
        if point.name == part.kind:
            return point.load()
    known = ", ".join(sorted(table))
    raise ConfigError([Problem("site", f"{group}.{part.name}", None, f"unknown kind {part.kind!r}; known are {known}")])
