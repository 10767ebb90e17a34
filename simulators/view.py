"""What the demo shows: channels with their limits and baselines, alarms as they rise, texts as on a phone."""

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self
from zoneinfo import ZoneInfo

from rich import box
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gateway.model import AlarmEdge, AlarmEvent, Instant, Outcome, Reading, Severity
from gateway.quality_letter import quality_letter
from gateway.site import Contact, Rule, Site

__all__ = ["View"]

_PHONE_WIDTH = 44
_ROOMY_LINES = 36  # a whole picture; a lower terminal gets the latest of each instead of a cut-off bottom
_STYLES = {AlarmEdge.RAISED: "bold red", AlarmEdge.SEVERITY_UP: "bold red", AlarmEdge.CLEARED: "green"}


@dataclass
class View:
    """A live picture where there is a terminal, plain lines where there is none."""

    site: Site
    console: Console
    title: str
    broker: str
    latest: dict[str, Reading] = field(default_factory=dict)
    alarms: deque[Text] = field(default_factory=lambda: deque(maxlen=8))
    texts: deque[Panel] = field(default_factory=lambda: deque(maxlen=4))
    now: Instant = field(default_factory=lambda: Instant(0, 0))
    stored: int = 0
    acknowledged: int = 0
    received: int = 0
    _live: Live | None = None
    _shown_us: int = 0

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(self.glance(), console=self.console, refresh_per_second=4, transient=False)
            self._live.start()
        else:
            self.console.print(f"{self.title}  [{self.site.name}; broker: {self.broker}]", markup=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.update(self.picture(), refresh=True)  # the last one may scroll
            self._live.stop()

    def take(self, outcome: Outcome) -> None:
        """Remember what came of one step of the pipeline."""
        for reading in outcome.readings:
            self.latest[reading.channel] = reading
        for event in outcome.alarm_events:
            line = self._alarm_line(event)
            self.alarms.append(line)
            self._say(line.plain)

    def text(self, contact: Contact, text: str, at: Instant) -> None:
        """Show a text that was delivered, as the phone would."""
        self.texts.append(Panel(text, title=contact.name, width=_PHONE_WIDTH, box=box.ROUNDED))
        self._say(f"{self._local(at)} TEXT to {contact.name}: {text}")

    def refresh(self, now: Instant, *, stored: int, acknowledged: int, received: int) -> None:
        """Draw the present moment; without a terminal, one line of readings every virtual five minutes."""
        self.now, self.stored, self.acknowledged, self.received = now, stored, acknowledged, received
        if self._live is not None:
            self._live.update(self.glance())
        elif now.mono_us - self._shown_us >= 300_000_000 and self.latest:
            self._shown_us = now.mono_us
            values = [f"{name} {self._value(name)} {self._letter(name)}".rstrip() for name in self.site.channels]
            self._say(f"{self._local(now)} {'  '.join(values)}")

    def glance(self) -> RenderableType:
        """What fits: the whole view, or on a low terminal its table with the latest alarms and the latest text."""
        if self.console.height >= _ROOMY_LINES:
            return self.picture()
        latest = [line.copy() for line in self.alarms][-2:] or [Text("no alarm yet", style="dim")]
        for line in latest:
            line.truncate(self.console.width, overflow="ellipsis")
        phone = [Panel(text.renderable, title=text.title, box=box.ROUNDED) for text in self.texts][-1:]
        return Group(*self._head(), self._table(), *latest, *phone, self._counts())

    def picture(self) -> RenderableType:
        """The whole view."""
        phone = Columns(list(self.texts), equal=True) if self.texts else Text("no text yet", style="dim")
        alarms = Group(*self.alarms) if self.alarms else Text("no alarm yet", style="dim")
        return Group(
            *self._head(),
            self._table(),
            Panel(alarms, title="alarms", title_align="left", box=box.SIMPLE),
            Panel(phone, title="the Superintendent's phone", title_align="left", box=box.SIMPLE),
            self._counts(),
        )

    def _head(self) -> tuple[Text, Text]:
        where = f"{self.site.name}, {self.site.discharger}   {self._local(self.now, date=True)}"
        return Text(where, style="bold"), Text(self.title, style="dim")

    def _counts(self) -> Text:
        counts = f"{self.stored} readings, {self.acknowledged} records acknowledged by {self.broker}"
        return Text(f"{counts}, {self.received} at the consumer", style="dim")

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name, justify in (("channel", "left"), ("value", "right"), ("unit", "left"), ("q", "left")):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]  # rich's own literal of these words
        table.add_column("limit")
        table.add_column("baseline")
        for name, channel in self.site.channels.items():
            rules = [rule for rule in self.site.rules if rule.channel == name]
            limits = ", ".join(filter(None, map(_limit, rules)))
            baseline = self.site.baselines.get(name)
            signed = "" if baseline is None or baseline.value is None else f"{baseline.value:g} {baseline.unit}"
            letter = self._letter(name)
            value = Text(self._value(name), style="red" if letter == "F" else "")
            table.add_row(channel.name, value, channel.unit, letter, limits, signed)
        return table

    def _value(self, name: str) -> str:
        reading = self.latest.get(name)
        return "-" if reading is None or reading.value is None else f"{reading.value:.4g}"

    def _letter(self, name: str) -> str:
        reading = self.latest.get(name)
        return "" if reading is None else quality_letter(reading)

    def _alarm_line(self, event: AlarmEvent) -> Text:
        words = f"{self._local(event.at)} {event.alarm} #{event.occurrence} {event.edge.value.replace('_', ' ')}"
        level = f" {event.severity.name}" if event.edge is not AlarmEdge.CLEARED else ""
        style = "yellow" if event.severity is Severity.NOTICE else _STYLES.get(event.edge, "")
        return Text(f"{words}{level}: {event.reason}".rstrip(": "), style=style)

    def _local(self, at: Instant, *, date: bool = False) -> str:
        stamp = datetime.fromtimestamp(at.utc_us / 1e6, UTC).astimezone(ZoneInfo(self.site.time_zone))
        return stamp.strftime("%Y-%m-%d %H:%M:%S %Z" if date else "%H:%M:%S")

    def _say(self, line: str) -> None:
        if self._live is None:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _limit(rule: Rule) -> str:
    if rule.factor is not None:
        if rule.baseline is None or rule.baseline.value is None:
            return "cannot tell: no baseline"
        limit, duration = rule.factor * rule.baseline.value, f" for {rule.duration_us / 60e6:g} min"
    else:
        limit, duration = rule.limit or 0.0, ""
    return f"{rule.comparison} {limit:g} {rule.unit}{duration}"
