"""Drivers, rules, sinks and notifiers by name: `module:Class`, imported when a site asks for it.

Others register as entry points in the groups `manhole_gateway.sinks` and `manhole_gateway.notifiers`.
"""

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from gateway.errors import ConfigError, Problem
from gateway.site import Part, Site

__all__ = ["notifier", "sink"]

_SINKS = {"mqtt": "gateway.sinks.mqtt:MqttSink"}
_NOTIFIERS = {"bench": "gateway.alarms.bench_text:BenchText"}


def sink(part: Part, site: Site) -> Any:
    """The sink a site file names. ConfigError when nobody provides its kind."""
    return _load("sinks", _SINKS, part)(part, site)


def notifier(part: Part) -> Any:
    """The notifier a site file names. ConfigError when nobody provides its kind."""
    return _load("notifiers", _NOTIFIERS, part)(part)


def _load(group: str, table: dict[str, str], part: Part) -> Any:
    target = table.get(part.kind)
    if target is not None:
        module, _, name = target.partition(":")
        return getattr(import_module(module), name)
    for point in entry_points(group=f"manhole_gateway.{group}"):
        if point.name == part.kind:
            return point.load()
    known = ", ".join(sorted(table))
    raise ConfigError([Problem("site", f"{group}.{part.name}", None, f"unknown kind {part.kind!r}; known are {known}")])
