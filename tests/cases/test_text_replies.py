"""Stories of people who answer the station by text: over a real HTTP provider, into the real journal, and back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gateway.alarms.inbox import Inbox
from gateway.alarms.notifier import Inbound, Notifier
from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.model import Message, MessageKind, Sample, Severity
from gateway.shipped import shipped
from gateway.site import NO_DUTY, Contact, Part, Site
from tests.support.http_provider import ACCOUNT, NUMBER, TOKEN, Provider
from tests.support.journal_rows import events

S = 1_000_000
SPEED = 100  # the gateway looks at its path every 0.1 s, and an hour takes 36 s
PAT, KIM = "+17165550100", "+17165550101"
STRANGER = "+12125550199"


@dataclass
class Station:
    """A running gateway, the provider, and the folder of its state."""

    app: GatewayApp
    provider: Provider
    folder: Path

    async def acid(self) -> None:
        """pH 3.1 every 15 s: the third sample proves the exceedance."""
        for _ in range(4):
            now = self.app.now()
            self.app._deliver((Sample("ph", now, (), 3.1),), now)
            await self.app.clock.sleep(15 * S)

    async def settled(self) -> None:
        """Everything that is owed has gone out."""
        await self.app._commit()
        async with asyncio.timeout(20):
            await self.app.texts.drained()

    async def says(self, sender: str, text: str, ago_s: float = 0) -> list[str]:
        """Somebody texts the station, so long ago; what they get back."""
        before = len(self.provider.messages)
        self.provider.inbound(sender, text, self.app.now().utc_us / 1e6 - ago_s)
        await self.look()
        return [m["body"] for m in self.provider.messages[before:] if m["to"] == sender]

    async def look(self) -> None:
        """The station looks at its path once, and sends what it owes."""
        (name,) = self.app.inbox._notifiers
        await self.app.inbox.look(name, self.app.inbox._notifiers[name])
        await self.settled()

    def alarm(self, alarm: str = "lv-ph-low") -> tuple[str, str]:
        """State and acknowledger of an alarm."""
        view = next(view for view in self.app.pipeline.engine.view() if view.id == alarm)
        return view.state.name.lower(), view.acked_by

    def heard(self) -> list[dict[str, object]]:
        """The notes of texts received."""
        notes = events(self.folder / "state" / "journal.db", "note")
        return [note["body"] for note in notes if note["kind"] == "text_received"]


def story(folder: Path, tell: Callable[[Station], Awaitable[None]], pin: str = "") -> None:
    """Run a story around a gateway whose two people are reached through the provider."""
    (folder / "token").write_text(TOKEN, encoding="utf-8")
    (folder / "pin").write_text("4711\n", encoding="utf-8")

    async def run() -> None:
        with Provider() as provider:
            app = GatewayApp(site(folder, provider.url, pin), ScaledClock(SPEED), folder / "state")
            running = asyncio.create_task(app.run())
            await app.ready.wait()
            try:
                await tell(Station(app, provider, folder))
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


def site(folder: Path, url: str, pin: str) -> Site:
    """Little Valley without buses and broker."""
    options = {"url": url, "account": ACCOUNT, "token_file": str(folder / "token"), "number": NUMBER}
    people = (
        Contact("superintendent", "Pat Doe", ("sms",), PAT, pin=pin and str(folder / pin)),
        Contact("operator", "Kim Ortiz", ("sms",), KIM),
    )
    example = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    notifiers = (Part("sms", "http-sms", options),)
    return replace(example, buses={}, sinks=(), notifiers=notifiers, contacts=people, duty=NO_DUTY)


def test_alarm_text_ack_by_code_confirmed_second_person_hears_who_was_first(tmp_path: Path) -> None:
    """Both are told; Kim acknowledges by the code of her text; Pat hears that she has it; both are on record."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        texts = {m["to"]: m["body"] for m in station.provider.messages}
        assert set(texts) == {PAT, KIM}
        code = texts[KIM].rpartition("ACK ")[2]
        (confirmed,) = await station.says(KIM, f"ack {code}")
        assert confirmed == f"LV-MH3 ACK {code} taken. It stays on the list until it ends."
        assert station.alarm() == ("acknowledged", "Kim Ortiz")
        (late,) = await station.says(PAT, "A")
        assert late.startswith("LV-MH3 already by Kim Ortiz at ")
        assert station.alarm() == ("acknowledged", "Kim Ortiz")
        assert [(h["from"], h["asked"], h["done"]) for h in station.heard()] == [
            ("operator", "ack", True),
            ("superintendent", "ack", True),
        ]

    story(tmp_path, tell)


def test_the_same_text_twice_is_acted_on_and_answered_once(tmp_path: Path) -> None:
    """A provider that goes on listing a text, and a gateway that is started anew, change nothing."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        assert len(await station.says(PAT, "ACK")) == 1
        sent = len(station.provider.messages)
        for _ in range(3):
            await station.look()
        assert len(station.provider.messages) == sent
        again = GatewayApp(station.app.site, ScaledClock(SPEED), tmp_path / "other")
        again.conversation.restore(station.app.conversation.done("another", station.app.now()))
        assert all(again.conversation.is_known(m["sid"]) for m in station.provider.messages if m["to"] == NUMBER)
        assert len(station.heard()) == 1

    story(tmp_path, tell)


def test_a_stranger_is_written_down_by_four_digits_and_never_answered(tmp_path: Path) -> None:
    """A number that is nobody's of this site acknowledges nothing and gets no text, whatever it sends."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        for words in ("ACK", "ACK 1-1", "S", "HELP", "win a prize"):
            assert await station.says(STRANGER, words) == []
        assert station.alarm() == ("unacknowledged", "")
        assert {h["from"] for h in station.heard()} == {"...0199"}
        assert not any(h["done"] for h in station.heard())

    story(tmp_path, tell)


def test_a_stale_code_cannot_take_the_next_occurrence(tmp_path: Path) -> None:
    """An acknowledgement of an occurrence that never was, or of no alarm at all, is refused with the reason."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        code = station.provider.messages[0]["body"].rpartition("ACK ")[2]
        number, _, occurrence = code.partition("-")
        (refused,) = await station.says(PAT, f"ACK {number}-{int(occurrence) + 1}")
        assert "NOT DONE" in refused
        (unknown,) = await station.says(PAT, "ACK 99-1")
        assert "no alarm was ever sent" in unknown
        assert station.alarm() == ("unacknowledged", "")
        (by_number,) = await station.says(PAT, f"ACK {occurrence}")
        assert f"ACK {code} taken" in by_number
        assert station.alarm() == ("acknowledged", "Pat Doe")

    story(tmp_path, tell)


def test_without_the_pin_nothing_is_done_and_with_it_everything_is(tmp_path: Path) -> None:
    """A number can be forged: where a PIN is configured a text without it, or with another, is asked for it."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        code = station.provider.messages[0]["body"].rpartition("ACK ")[2]
        for words in (f"ACK {code}", f"ACK {code} 4712", "ACK", "ACK 1111"):
            (asked,) = await station.says(PAT, words)
            assert "PIN" in asked
            assert station.alarm() == ("unacknowledged", "")
        assert "4711" not in str(station.heard())
        (taken,) = await station.says(PAT, "ACK 4711")
        assert "taken" in taken
        assert station.alarm() == ("acknowledged", "Pat Doe")

    story(tmp_path, tell, pin="pin")


def test_five_wrong_pins_close_the_door_for_an_hour(tmp_path: Path) -> None:
    """A forged number tries PINs: after the fifth not even the right one is taken, and the answer says so."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        for wrong in range(4700, 4705):
            (asked,) = await station.says(PAT, f"ACK {wrong}")
            assert "PIN" in asked
        (closed,) = await station.says(PAT, "ACK 4711")
        assert "wrong PINs" in closed
        assert station.alarm() == ("unacknowledged", "")
        await station.app.clock.sleep(3_600 * S)
        (taken,) = await station.says(PAT, "ACK 4711")
        assert "taken" in taken

    story(tmp_path, tell, pin="pin")


def test_a_pin_that_cannot_be_read_lets_nobody_through(tmp_path: Path) -> None:
    """A missing file of the PIN is no permission."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        (asked,) = await station.says(PAT, "ACK")
        assert "PIN" in asked
        assert station.alarm() == ("unacknowledged", "")

    story(tmp_path, tell, pin="no-such-file")


@pytest.mark.parametrize("words", ["SH {code} 2H", "SH {code} 30 min"])
def test_what_calls_people_out_is_not_shelved_by_text(tmp_path: Path, words: str) -> None:
    """An alarm of high severity stays where it is, and the reason goes back."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        code = station.provider.messages[0]["body"].rpartition("ACK ")[2]
        (refused,) = await station.says(PAT, words.format(code=code))
        assert "not shelved by text" in refused
        assert station.alarm() == ("unacknowledged", "")

    story(tmp_path, tell)


def test_status_and_help_are_answered_from_live_data(tmp_path: Path) -> None:
    """`S` says the time, what waits and the last values; `HELP` and nonsense say what can be asked."""

    async def tell(station: Station) -> None:
        (quiet,) = await station.says(PAT, "S")
        assert quiet.startswith("LV-MH3 OK ")
        assert "Alarms: 0" in quiet
        assert "ph -" in quiet
        await station.acid()
        await station.settled()
        code = station.provider.messages[-1]["body"].rpartition("ACK ")[2]
        (loud,) = await station.says(PAT, "status")
        assert f"Alarms: 1 ({code})" in loud
        assert "ph 3.1" in loud
        for words in ("HELP", "I am on my way"):
            (told,) = await station.says(PAT, words)
            assert "Send ACK" in told
        (nothing,) = await station.says(KIM, "ACK 77")
        assert "Which one?" in nothing or "nothing that waits" in nothing

    story(tmp_path, tell)


def test_a_chatterbox_is_answered_twelve_times_an_hour_and_still_obeyed(tmp_path: Path) -> None:
    """Two machines that answer each other stop; an acknowledgement among them still counts."""

    async def tell(station: Station) -> None:
        answers = [len(await station.says(PAT, "HELP")) for _ in range(15)]
        assert answers == [1] * 12 + [0] * 3
        await station.acid()
        await station.settled()
        assert await station.says(PAT, "ACK") == []
        assert station.alarm() == ("acknowledged", "Pat Doe")

    story(tmp_path, tell)


def test_an_answer_that_was_on_its_way_takes_no_alarm_that_came_after_it(tmp_path: Path) -> None:
    """A bare ACK from before the text it would answer is asked which one it means; the code takes it."""

    async def tell(station: Station) -> None:
        await station.acid()
        await station.settled()
        code = station.provider.messages[0]["body"].rpartition("ACK ")[2]
        (asked,) = await station.says(PAT, "ACK", ago_s=7200)
        assert "Which one?" in asked
        assert station.alarm() == ("unacknowledged", "")
        number, _, occurrence = code.partition("-")
        again = Message("superintendent", "", "again", station.app.now(), MessageKind.ESCALATED, Severity.HIGH, "", 0)
        first = station.app.conversation.told((replace(again, alarm="lv-ph-low", occurrence=int(occurrence)),))
        assert first == {}  # a call again is no other text to answer
        (taken,) = await station.says(PAT, f"ACK {number}-{occurrence}", ago_s=7200)
        assert f"ACK {code} taken" in taken

    story(tmp_path, tell)


@pytest.mark.parametrize("sender", ["+527165550100", "+447165550100", "BANK7165550100", "7165550100x", ""])
def test_the_same_digits_of_another_country_or_a_name_are_a_stranger(tmp_path: Path, sender: str) -> None:
    """Ten digits that agree make nobody the Superintendent."""

    async def tell(station: Station) -> None:
        assert await station.says(sender, "HELP") == []
        assert [h["why"] for h in station.heard()] == ["not a number of this site"]

    story(tmp_path, tell)


@pytest.mark.parametrize("sender", ["7165550100", "17165550100", "+1 (716) 555-0100"])
def test_a_number_without_its_country_is_known(tmp_path: Path, sender: str) -> None:
    """As some networks write it."""

    async def tell(station: Station) -> None:
        assert len(await station.app.inbox._notifiers["sms"].inbound()) == 0
        station.provider.inbound(sender, "HELP")
        await station.look()
        assert [h["from"] for h in station.heard()] == ["superintendent"]

    story(tmp_path, tell)


def test_a_path_that_hangs_or_breaks_takes_no_reply_of_another(tmp_path: Path) -> None:
    """Beside a modem that never answers, and a path with a fault of its own, the provider's ACK is taken at once."""

    class Hanging(Notifier):
        async def inbound(self) -> tuple[Inbound, ...]:
            await asyncio.Event().wait()
            return ()

    class Broken(Notifier):
        async def inbound(self) -> tuple[Inbound, ...]:
            raise KeyError("a fault of ours")

    async def tell(station: Station) -> None:
        app = station.app
        await station.acid()
        await station.settled()
        paths = {"modem": Hanging(), "broken": Broken(), **app.inbox._notifiers}
        heard = asyncio.Event()
        app.watch(lambda outcome: heard.set() if any(n.kind == "text_received" for n in outcome.notes) else None)
        inbox = Inbox(app, app.conversation, paths, app._by_text)
        running = asyncio.create_task(inbox.run())
        station.provider.inbound(PAT, "ACK", app.now().utc_us / 1e6)
        async with asyncio.timeout(10):
            await heard.wait()
        assert station.alarm()[0] == "acknowledged"
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    story(tmp_path, tell)
