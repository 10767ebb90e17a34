"""What the station says of itself: faults of its own that last are alarms, told to people, and end when they end."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway import config
from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.model import AlarmState
from gateway.station_alarms import JOURNAL, StationWatch, bus_alarm, station_policies
from simulators.instruments import HamiltonPhArc
from simulators.modbus import TcpServer
from tests.support.http_provider import TOKEN, Provider
from tests.support.mosquitto import free_port
from tests.support.small_site import small_site

SPEED = 100
SITE = """
[site]
id = "lv-mh3"
name = "Manhole 3"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []
[buses.lan]
kind = "modbus-tcp"
host = "127.0.0.1"
tcp_port = {port}
[devices.probe]
bus = "lan"
unit = 1
profile = "hamilton-ph-arc"
[channels.ph]
quantity = "pH"
device = "probe"
point = "pH"
poll = "5 s"
[contacts.ray]
name = "Ray"
phone = "+17165550100"
notify = ["sms"]
[notify.sms]
kind = "http-sms"
url = "{url}"
account = "AC0123"
token_file = "{token}"
number = "+17165550199"
[alarms."sensor-ph"]
enabled = false
"""


class Station:
    """A running gateway of that site, with its provider."""

    def __init__(self, app: GatewayApp, provider: Provider) -> None:
        self.app, self.provider = app, provider

    def state(self, alarm: str) -> AlarmState:
        """How an alarm stands."""
        return next(view.state for view in self.app.pipeline.engine.view() if view.id == alarm)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait, a minute at most, until something holds."""
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - the alarms are the gateway's own
                await asyncio.sleep(0.02)

    def told(self) -> list[str]:
        """The texts that the provider took."""
        return [message["body"] for message in self.provider.messages]


def story(folder: Path, tell: Callable[[Station, int], Awaitable[None]], more: str = "", **options: int) -> None:
    """Run a story; the port of the bus is free until the story listens there."""
    (folder / "token").write_text(TOKEN, encoding="utf-8")

    async def run() -> None:
        with Provider() as provider:
            port, path = free_port(), folder / "site.toml"
            text = (SITE + more).format(port=port, url=provider.url, token=folder / "token")
            path.write_text(text, encoding="utf-8")
            app = GatewayApp(config.load(path), ScaledClock(SPEED), folder / "state", **options)
            running = asyncio.create_task(app.run())
            await app.ready.wait()
            try:
                await tell(Station(app, provider), port)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


def test_a_line_where_nobody_listens_is_an_alarm_that_ends_when_somebody_answers(tmp_path: Path) -> None:
    """Port down: a text with what to check. The instrument comes up: the alarm returns, and so says another text."""

    async def tell(station: Station, port: int) -> None:
        await station.until(lambda: any("line lan" in text and "Check adapter" in text for text in station.told()))
        assert station.state("bus-lan") is AlarmState.UNACKNOWLEDGED
        server = TcpServer([HamiltonPhArc(1)], port=port)
        await server.start()
        try:
            await station.until(lambda: station.state("bus-lan") is AlarmState.RETURNED_UNACKNOWLEDGED)
            await station.until(lambda: any("ENDED line lan" in text for text in station.told()))
        finally:
            await server.stop()

    story(tmp_path, tell)


def test_a_text_that_reached_nobody_is_an_alarm_of_its_own(tmp_path: Path) -> None:
    """Refused for good: the next thing anybody hears is that a text was not sent, with the duty roster behind it."""

    async def tell(station: Station, port: int) -> None:
        station.provider.script.append(400)
        await station.until(lambda: station.state("texts") is AlarmState.UNACKNOWLEDGED)
        await station.until(lambda: any("HIGH text not sent" in text for text in station.told()))

    story(tmp_path, tell)


def test_a_record_that_cannot_be_written_calls_people_although_it_cannot_be_recorded(tmp_path: Path) -> None:
    """The journal takes nothing more: the text says so, and is marked as not recorded."""

    async def tell(station: Station, port: int) -> None:
        await station.until(lambda: any("HIGH record" in text and "(not recorded)" in text for text in station.told()))

    story(tmp_path, tell, journal_max_bytes=4096)


def test_a_provider_that_takes_no_token_is_an_alarm(tmp_path: Path) -> None:
    """An account that is refused lasts fifteen minutes: then the way is in alarm, with the provider's own reason."""

    async def tell(station: Station, port: int) -> None:
        (tmp_path / "token").write_text("another", encoding="utf-8")
        await station.until(lambda: station.state("way-sms") is AlarmState.UNACKNOWLEDGED)
        reason = next(view.reason for view in station.app.pipeline.engine.view() if view.id == "way-sms")
        assert "401" in reason

    story(tmp_path, tell)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (["", ""], [False]),
        (["down", "down", "still down"], [True]),
        (["down", ""], [True, False]),
        (["down", None, ""], [True, None, False]),
        ([None, None], [None]),
        (["", "down", "", "down"], [False, True, False, True]),
    ],
)
def test_a_condition_is_told_when_it_changes_and_not_when_only_its_words_do(
    seen: list[str | None], told: list[bool | None]
) -> None:
    """What cannot be told neither raises nor clears."""
    site = replace(small_site(), alarms=station_policies(["lan"], [], []))
    watch = StationWatch(site)
    said = [condition.active for wrong in seen for condition in watch.see({bus_alarm("lan"): wrong})]
    assert said == told


def test_what_the_site_has_no_alarm_for_is_not_told() -> None:
    """A replay has no station."""
    assert StationWatch(small_site()).see({JOURNAL: "full"}) == ()


def test_a_kill_is_told_of_at_the_next_start_and_an_ordered_stop_is_not(tmp_path: Path) -> None:
    """Stopped in order: silence. Killed, seen by what it left on disk: the people of [signs] hear that it is back."""
    signs = '[signs]\ntell = ["ray"]\n'

    async def nothing(station: Station, port: int) -> None:
        await station.app.texts.drained()
        assert not any("BACK" in text for text in station.told())

    async def killed(station: Station, port: int) -> None:
        await station.until(lambda: any("BACK" in text for text in station.told()))

    story(tmp_path, nothing, more=signs)
    story(tmp_path, nothing, more=signs)
    journal = tmp_path / "state" / "journal.db"
    with closing(sqlite3.connect(journal)) as database, database:  # as a process that had no time to say goodbye
        database.execute(
            "INSERT INTO state(key, body, boot_id, mono_us, utc_us, synced) "
            "VALUES ('signs:running', 'true', 'x', 0, 0, 1)"
        )
    story(tmp_path, killed, more=signs)


def test_the_beat_stops_when_nothing_is_measured(tmp_path: Path) -> None:
    """An outside watcher hears the station while it polls, whatever the polls bring, and no more once nobody polls."""

    async def tell(station: Station, port: int) -> None:
        await station.until(lambda: station.provider.beats >= 2)  # nobody listens on the bus: that is measured too
        for task in station.app._acquisition:
            task.cancel()
        await station.app.clock.sleep(360_000_000)
        heard = station.provider.beats
        await station.app.clock.sleep(300_000_000)
        assert station.provider.beats == heard

    story(tmp_path, tell, more='[signs]\ntell = ["ray"]\nping = "{url}/beat"\nping_every = "1 min"\n')
