"""Builds the gateway of one site and runs it in one TaskGroup. The only place that knows all parts.

Buses deliver samples; the pipeline judges them; the journal commits; then the sinks and the texts are woken.
Acquisition waits for nothing northbound, and a disk that fails stops no alarm.
"""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway import __version__, registry
from gateway.alarms.conversation import Conversation
from gateway.alarms.inbox import Inbox
from gateway.alarms.notify import TextDelivery
from gateway.alarms.signs import RUNNING_KEY, Signs
from gateway.clock import Clock
from gateway.commands import Command, execute
from gateway.control import serve, socket_path
from gateway.drivers.bus import PollBus
from gateway.drivers.outputs import OutputLines
from gateway.errors import ConfigError, NotOurs, Problem, StoreError
from gateway.heartbeat import Heartbeat
from gateway.judgement import unreadable
from gateway.long_memory import LongMemory
from gateway.model import Instant, Message, Note, Order, Outcome, Reading, Resume, Sample
from gateway.outputs.wired import Carried
from gateway.pipeline import Pipeline
from gateway.sinks.delivery import Delivery
from gateway.site import Site
from gateway.station_alarms import StationWatch
from gateway.station_facts import StationFacts
from gateway.status import status_of
from gateway.store.journal import Journal, Recovered
from gateway.supervise import supervise

__all__ = ["GatewayApp", "resume_from"]

_log = logging.getLogger(__name__)

_TICK_US = 1_000_000
_TICK_LAG_US = 5_000_000
"""Ticks run this far behind, so that an answer still on the wire is never overtaken by its own silence. Findings are
stamped at their deadlines all the same."""
_HEALTH_EVERY_US = 60_000_000
_STATION_EVERY_US = 10_000_000
_WELL_US = 300_000_000  # a gateway whose newest reading is older does not say that it is well
_MOST_UNRECORDED = 1000
_DISK_PATIENCE_S = 15.0  # a memory card may think for seconds; one that thinks longer is taken for broken
_DISK_FAULTS = frozenset({errno.EROFS, errno.EIO, errno.ENOSPC})


class GatewayApp:
    """One site, running. Construct, then `await run()`; cancel to stop: what is pending is committed first."""

    def __init__(
        self, site: Site, clock: Clock, state_directory: Path, *, journal_max_bytes: int | None = None
    ) -> None:
        self.site = site
        self.clock = clock
        self.state_directory = state_directory
        self.journal = Journal(state_directory / "journal.db", site.id, clock.axis, max_bytes=journal_max_bytes)
        self.pipeline = Pipeline(site, clock.now())
        self.memory = LongMemory(self.pipeline, self.journal)
        self.answered: dict[str, dict[str, Any]] = {}
        self.latest: dict[str, Reading] = {}
        self.faults: dict[str, str] = {}
        self.ready = asyncio.Event()
        self.unrecorded = 0
        self.started = clock.now()
        self.sinks = [registry.sink(part, site, clock, state_directory) for part in site.sinks]
        self.deliveries = [Delivery(sink, self.journal, clock, sink.pace) for sink in self.sinks]
        notifiers = {part.name: registry.notifier(part, site, clock, state_directory) for part in site.notifiers}
        self.texts = TextDelivery(self.journal, site.contacts, notifiers, clock)
        self.conversation = Conversation(site, self.pipeline.engine)
        self.inbox = Inbox(self, self.conversation, notifiers, self._by_text)
        self.station = StationFacts(self, notifiers)
        self.signs = Signs(site)
        self._station_watch = StationWatch(site)
        self.buses = [self._bus(name) for name in site.buses]
        self.outputs = OutputLines(
            site, self.buses, clock, self._carried, self._noted, lambda: self.pipeline.watches.latched
        )
        self._orders: list[Order] = []  # given, and not on record yet
        self._acquisition: list[asyncio.Task[None]] = []
        self._observers: list[Callable[[Outcome], None]] = []
        self._urgent = asyncio.Event()
        self._health_changed = asyncio.Event()
        self._under_way: frozenset[str] = frozenset()  # channels that the buses poll faster
        self._unrecorded_messages: list[Message] = []

    def now(self) -> Instant:
        """The present moment."""
        return self.clock.now()

    async def run(self) -> None:
        """Run until cancelled. Raises ConfigError or NotOurs, only before the first poll.

        A journal that cannot be opened for the disk's sake stops nothing: every commit tries again.
        """
        recovered = await self._open_journal()
        self._restore(recovered)
        await self.memory.rebuild(recovered.state, resume_from(recovered, self.now()))
        await self._commit()
        try:
            async with serve(socket_path(self.state_directory), self._answer), asyncio.TaskGroup() as group:
                self._acquisition = [self._start(group, f"bus {bus.bus.name}", bus.run) for bus in self.buses]
                self._acquisition.append(self._start(group, "tick", self._tick_loop))
                self._start(group, "commit", self._commit_loop)
                if self.site.outputs:
                    self._start(group, "outputs", self.outputs.run)
                self._start(group, "texts", self.texts.run)
                self._start(group, "replies", self.inbox.run)
                for delivery in self.deliveries:
                    self._start(group, f"delivery {delivery.name}", delivery.run)
                self._start(group, "health", self._health_loop)
                self._start(group, "station", self._station_loop)
                if self.site.signs.ping:
                    beat = Heartbeat(self.site.signs.ping, self.site.signs.ping_every_us, self.clock, self._is_well)
                    self._start(group, "heartbeat", beat.run)
                self.ready.set()
        finally:
            await self._stop()

    async def record(self, outcome: Outcome) -> None:
        """Commit an outcome at once and tell the world."""
        self._accept(outcome)
        await self._commit()

    async def status(self) -> dict[str, Any]:
        """Health at a glance, JSON-able."""
        return await status_of(self)

    async def resend(self, sink: str, from_seq: int, to_seq: int) -> dict[str, Any]:
        """Send a range of the journal to one sink again, for a receiver that lost what it had acknowledged."""
        for delivery in self.deliveries:
            if delivery.name == sink:
                replayed = await delivery.replay(from_seq, to_seq)
                return {"acknowledged": replayed.acknowledged, "rejected": replayed.rejected}
        raise LookupError(f"no sink {sink!r}; known are {', '.join(d.name for d in self.deliveries) or 'none'}")

    def _bus(self, name: str) -> PollBus:
        devices = [device for device in self.site.devices.values() if device.bus == name]
        names = {device.name for device in devices}
        channels = [channel for channel in self.site.channels.values() if channel.device in names]
        return PollBus(
            self.site.buses[name],
            devices,
            channels,
            self.clock,
            self._deliver,
            alarm_channels=self.site.alarm_channels,
            tell=self._bus_changed,
        )

    def _bus_changed(self, note: Note) -> None:
        """A port or a device went down or came back: on record, and told to the world at once."""
        self._accept(Outcome(notes=(note,), urgent=True))
        self._health_changed.set()

    def _start(self, group: asyncio.TaskGroup, name: str, task: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return group.create_task(
            supervise(name, task, lambda why: self._fault(name, why), lambda: self._sound(name)), name=name
        )

    def _fault(self, name: str, why: str) -> None:
        """A task fell over: remembered for `status`, and written into the journal."""
        self.faults[name] = why
        self._accept(Outcome(notes=(Note("task_fault", self.now(), {"task": name, "why": why}),), urgent=True))

    def _sound(self, name: str) -> None:
        """A task has lasted: what `status` said of its last fall is over; the journal keeps it."""
        self.faults.pop(name, None)

    async def _open_journal(self) -> Recovered:
        try:
            self.state_directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            if error.errno not in _DISK_FAULTS:
                text = f"{self.state_directory} cannot be the state directory: {error.strerror}"
                raise ConfigError([Problem("command line", "--state", None, text)]) from error
        try:
            return await self.journal.open(self.now())
        except NotOurs:
            raise
        except StoreError as error:
            self._journal_failed(error)
            return Recovered({}, None, False, None, None, 0)

    def _restore(self, recovered: Recovered) -> None:
        """Runs and alarms come back before the first sample; the start itself is written down."""
        now = self.now()
        resume = resume_from(recovered, now)
        away_us = None if resume.offset_us is None or recovered.last is None else _away_us(recovered.last, resume)
        body = {
            "version": __version__,
            "config": self.site.config_hash,
            "same_boot": recovered.same_boot,
            "away_us": away_us,
            "quarantined": None if recovered.quarantined is None else recovered.quarantined.name,
        }
        outcome = self.pipeline.restore(recovered.state, resume)
        try:
            self.conversation.restore(recovered.state)
        except (TypeError, ValueError, AttributeError) as error:  # a text may be acted on twice, which does no harm
            outcome = replace(outcome, notes=(*outcome.notes, unreadable("texts", error, resume)))
        self.signs.restore(recovered.state)
        messages = outcome.messages
        if recovered.state.get(RUNNING_KEY):
            messages += self.signs.back(now, away_us)
        notes, state = (Note("started", now, body), *outcome.notes), {**outcome.state, RUNNING_KEY: True}
        self._accept(replace(outcome, notes=notes, messages=messages, state=state, urgent=True))
        self._hasten()

    def _deliver(self, samples: Sequence[Sample], now: Instant) -> None:
        """A poll came in: judge it, keep it, show it; what a rule has under way is then polled faster."""
        self._accept(self.pipeline.process(samples, now))
        self._hasten()

    def _hasten(self) -> None:
        under_way = self.pipeline.under_way
        if under_way != self._under_way:
            self._under_way = under_way
            for bus in self.buses:
                bus.hasten(under_way)

    def _carried(self, carried: Carried) -> None:
        """An order was carried out, or was not."""
        self._accept(self.pipeline.carried(carried, self.now()))

    def _noted(self, note: Note) -> None:
        self._accept(Outcome(notes=(note,), urgent=True))

    def _accept(self, outcome: Outcome) -> None:
        if outcome.messages:
            told = self.conversation.told(outcome.messages)
            outcome = replace(outcome, state={**outcome.state, **told})
        self.journal.add(outcome)
        self._orders.extend(outcome.orders)
        for observer in self._observers:
            observer(outcome)
        for reading in outcome.readings:
            self.latest[reading.channel] = reading
            for sink in self.sinks:
                sink.live(reading)
        if outcome.messages:
            self._unrecorded_messages.extend(outcome.messages)
            del self._unrecorded_messages[:-_MOST_UNRECORDED]
        if outcome.urgent:
            self._urgent.set()

    def watch(self, observer: Callable[[Outcome], None]) -> None:
        """Show every outcome to an observer, for a bench that draws."""
        self._observers.append(observer)

    async def quiesce(self) -> None:
        """Stop polling and ticking, commit, and wait until every sink has settled what was committed."""
        for task in self._acquisition:
            task.cancel()
        await self._commit()
        for delivery in self.deliveries:
            await delivery.drained()
        await self.texts.drained()

    async def _commit(self) -> None:
        """One transaction for everything pending; then, and only then, the world is told."""
        orders, self._orders = self._orders, []
        commit = asyncio.create_task(self.journal.commit(self.now()), name="journal commit")
        messages: list[Message] = []
        try:
            while not commit.done():
                messages, self._unrecorded_messages = self._unrecorded_messages, []
                await asyncio.wait((commit,), timeout=_DISK_PATIENCE_S)
                if not commit.done():
                    self._journal_failed(StoreError(f"no answer from the disk within {_DISK_PATIENCE_S:g} s"), messages)
                    orders = self.outputs.take_unrecorded(orders)
            commit.result()
        except asyncio.CancelledError:
            self._orders[:0] = orders
            commit.cancel()
            await asyncio.wait((commit,))
            raise
        except StoreError as error:
            self.unrecorded += 1
            self._journal_failed(error, messages)
            self._orders[:0] = self.outputs.take_unrecorded(orders)
            return
        self.outputs.take(orders)
        if self.faults.pop("journal", None) is not None:
            _log.info("journal: written again after %d failed commits", self.unrecorded)
        self.texts.wake()
        for delivery in self.deliveries:
            delivery.wake()
        await self.memory.keep(self.now())

    def _journal_failed(self, error: StoreError, messages: Sequence[Message] = ()) -> None:
        """A disk that fails stops no alarm: the texts go out, and say that they are not on record."""
        level = logging.DEBUG if self.faults.get("journal") == str(error) else logging.ERROR
        self.faults["journal"] = str(error)
        _log.log(level, "journal: %s", error)
        self.texts.tell_unrecorded(messages)

    async def _commit_loop(self) -> None:
        while True:
            await self._wait(self._urgent, self.site.commit_every_us)
            if self.journal.pending:
                await self._commit()

    async def _wait(self, event: asyncio.Event, most_us: int) -> None:
        """Until something has happened, and no longer than that."""
        try:
            async with asyncio.TaskGroup() as group:
                happened = group.create_task(event.wait(), name="event")
                timer = group.create_task(self.clock.sleep(most_us), name="timer")
                await asyncio.wait((happened, timer), return_when=asyncio.FIRST_COMPLETED)
                happened.cancel()
                timer.cancel()
        finally:
            event.clear()

    async def _tick_loop(self) -> None:
        while True:
            await self.clock.sleep(_TICK_US)
            now = self.now()
            lagged = Instant(now.utc_us - _TICK_LAG_US, now.mono_us - _TICK_LAG_US, now.synced)
            if lagged.mono_us > self.started.mono_us:
                self._accept(self.pipeline.tick(lagged))
                self._hasten()

    async def _health_loop(self) -> None:
        while True:
            health = await self.status()
            for sink in self.sinks:
                sink.publish_health(health)
            await self._wait(self._health_changed, _HEALTH_EVERY_US)

    async def _station_loop(self) -> None:
        """How the station itself is becomes alarms."""
        while True:
            conditions = self._station_watch.see(await self.station.gather())
            now = self.now()
            if conditions:
                self._accept(self.pipeline.station(conditions, now))
            messages, state = self.signs.daily(now, self.latest, self.pipeline.engine.view())
            if state:
                self._accept(Outcome(messages=messages, state=state, urgent=True))
            await self.clock.sleep(_STATION_EVERY_US)

    def _is_well(self) -> bool:
        """Whether readings come in and are recorded: what the outside watcher is told by the beat."""
        now_us = self.now().mono_us
        fresh = any(now_us - reading.at.mono_us < _WELL_US for reading in self.latest.values())
        return fresh and "journal" not in self.faults

    async def _by_text(self, name: str, actor: str, args: Mapping[str, Any], key: str) -> dict[str, Any]:
        return await execute(self, Command(name, actor, args, key, via="text"))

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        return await execute(
            self,
            Command(
                name=str(request.get("command", "")),
                actor=str(request.get("actor", "")),
                args=request.get("args") or {},
                id=str(request.get("id", "")),
            ),
        )

    async def _stop(self) -> None:
        await self.outputs.make_safe()
        self.outputs.abandon(self._orders)
        stopped = Note("stopped", self.now(), {"version": __version__})
        self.journal.add(Outcome(notes=(stopped,), state={RUNNING_KEY: None}))
        try:
            await self.journal.commit(self.now())
            await self.memory.keep(self.now(), at_once=True)
            await self.journal.commit(self.now())
        finally:
            await self.journal.close(self.now())


def resume_from(recovered: Recovered, now: Instant) -> Resume:
    """How stored stamps come onto this process's axis: as they are within a boot, by trusted UTC across boots.

    Nobody was away for less than no time: an axis or a UTC that ends up behind the last commit cannot be trusted.
    """
    last = recovered.last
    if last is None or (recovered.same_boot and now.mono_us >= last.mono_us):
        return Resume(now, 0)
    if not (last.synced and now.synced) or now.utc_us < last.utc_us:
        return Resume(now, None)
    return Resume(now, (now.mono_us - last.mono_us) - (now.utc_us - last.utc_us))


def _away_us(last: Instant, resume: Resume) -> int | None:
    stored_us = resume.mono(last.mono_us)
    return None if stored_us is None else resume.now.mono_us - stored_us
