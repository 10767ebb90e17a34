"""The watches of a site: everything beside the rules that listens to readings, built in one place."""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.judgement import unreadable
from gateway.model import Finding, Instant, Reading, Resume
from gateway.signals.watch import FAR_US, Watch
from gateway.site import Site
from gateway.step import Step

__all__ = ["Watches"]


class Watches:
    """All watches of one site, heard in the order they are built in."""

    def __init__(self, site: Site, start: Instant) -> None:
        self._all = _build(site, start)
        self.by_channel: dict[str, tuple[Watch, ...]] = {
            name: tuple(watch for watch in self._all if name in watch.channels) for name in site.channels
        }

    @property
    def deadline_us(self) -> int:
        """The earliest deadline of any watch."""
        return min((watch.deadline_us for watch in self._all), default=FAR_US)

    def found(self, findings: Iterable[Finding], step: Step) -> None:
        """Let every watch take what the rules found."""
        for finding in findings:
            for watch in self._all:
                watch.found(finding, step)

    def tick(self, now: Instant, step: Step) -> None:
        """Let every watch whose deadline has passed discover it."""
        for watch in self._all:
            if watch.deadline_us <= now.mono_us:
                watch.tick(now, step)

    def snapshot(self) -> dict[str, Any]:
        """What the watches remember by durable key, as of the last reading."""
        return {key: value for watch in self._all for key, value in watch.snapshot().items()}

    def refeed(self, reading: Reading, weight: int) -> None:
        """Let the watches hear a reading of the record again; what they say is on record already."""
        unsaid = Step()
        for watch in self.by_channel[reading.channel]:
            watch.hear(reading, weight, unsaid)

    def restore(self, state: Mapping[str, Any], resume: Resume, step: Step) -> None:
        """Bring every watch back; one whose state cannot be read starts afresh, and that is written down."""
        for watch in self._all:
            own = {key: value for key, value in state.items() if key.startswith(watch.key)}
            try:
                watch.restore(own, resume, step)
            except (LookupError, TypeError, ValueError) as error:
                step.notes.append(unreadable(watch.key, error, resume))


def _build(site: Site, start: Instant) -> list[Watch]:  # noqa: ARG001 - the first watch will want both
    return []
