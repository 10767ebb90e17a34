"""Texts from a real journal's outbox to people: once, in order of severity, and again when nobody can say."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateway.alarms.bench_text import BenchText, provide
from gateway.alarms.gsm7 import septets
from gateway.alarms.notifier import Fate, Notifier, Receipt
from gateway.alarms.notify import NOT_RECORDED, REPEAT, TextCounts, TextDelivery, marked
from gateway.clock import SystemClock
from gateway.config import load
from gateway.errors import DeliveryError, DiskFull, Refused, TryLater
from gateway.model import Instant, Message, MessageKind, Outcome, Severity
from gateway.shipped import shipped
from gateway.site import Contact, Part
from gateway.store.journal import Journal

NOW = Instant(1_796_040_000_000_000, 1_000_000)
RAY = Contact("ray", "Ray Miles", ("modem",), "+17165550100")
KIM = Contact("kim", "Kim Ortiz", ("modem", "http"), "+17165550101")


def message(n: int, recipient: str = "ray", severity: Severity = Severity.HIGH) -> Message:
    """The text of one alarm's n-th occurrence to one person."""
    key = f"lv-slug-flow:{n}:raised:0:{recipient}"
    return Message(recipient, f"slug #{n}", key, NOW, MessageKind.RAISED, severity, "lv-slug-flow", n)


@dataclass
class Phone(Notifier):
    """A notifier that answers as told, once per call, and keeps what it was given."""

    answers: list[DeliveryError | Exception] = field(default_factory=list)
    during: Callable[[str], Coroutine[Any, Any, None]] | None = None
    given: list[tuple[str, str]] = field(default_factory=list)
    knows: Fate = Fate.UNKNOWN

    async def fate(self, contact: Contact, text: str, dedupe_key: str, provider_ref: str) -> Fate:
        """As it was told."""
        return self.knows

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Take it, or raise the next answer."""
        self.given.append((contact.id, text))
        if self.during is not None:
            await self.during(dedupe_key)
        if self.answers:
            raise self.answers.pop(0)
        return Receipt(f"ref-{len(self.given)}")


@dataclass
class FailingOutbox:
    """A journal whose next writes fail."""

    journal: Journal
    failing_writes: int = 0
    written: list[tuple[str, str]] = field(default_factory=list)

    async def outbox_due(self) -> Any:
        """As the journal says."""
        return await self.journal.outbox_due()

    async def set_message_status(
        self, dedupe_key: str, status: str, at: Instant, provider_ref: str = "", error: str = ""
    ) -> None:
        """Fail, or write."""
        if self.failing_writes:
            self.failing_writes -= 1
            raise DiskFull("no room")
        self.written.append((dedupe_key, status))
        await self.journal.set_message_status(dedupe_key, status, at, provider_ref, error)


async def opened(folder: Path, *messages: Message) -> Journal:
    """A journal that owes these texts."""
    journal = Journal(folder / "journal.sqlite", "lv-mh3", "boot-1")
    await journal.open(NOW)
    journal.add(Outcome(messages=messages))
    await journal.commit(NOW)
    return journal


def texts(outbox: Any, **notifiers: Notifier) -> TextDelivery:
    """A delivery to Ray and Kim with quick retries."""
    return TextDelivery(outbox, (RAY, KIM), notifiers, SystemClock(), retry_base_s=0.01, retry_cap_s=0.02)


async def during(delivery: TextDelivery, test: Coroutine[Any, Any, Any]) -> None:
    """Run the delivery while the test goes on."""
    task = asyncio.create_task(delivery.run())
    try:
        await asyncio.wait_for(test, 10)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def statuses(folder: Path) -> dict[str, tuple[str, int, str]]:
    """Status, attempts and last error of every text, read from the file itself."""
    import sqlite3

    with sqlite3.connect(folder / "journal.sqlite") as database:
        rows = database.execute("SELECT dedupe_key, status, attempts, last_error FROM outbox").fetchall()
    database.close()
    return {key: (status, attempts, error) for key, status, attempts, error in rows}


def test_a_text_goes_out_once_and_its_receipt_is_recorded(tmp_path: Path) -> None:
    """Queued, sending on disk before the call, accepted after it, and never again."""

    async def run() -> None:
        journal = await opened(tmp_path, message(1), message(1, "kim"))
        seen: list[str] = []

        async def look(key: str) -> None:
            seen.append(statuses(tmp_path)[key][0])

        phone = Phone(during=look)
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        await during(delivery, delivery.drained())
        assert sorted(phone.given) == [("kim", "slug #1"), ("ray", "slug #1")]
        assert seen == ["sending", "sending"]
        assert delivery.counts == TextCounts(attempts=2, accepted=2)
        await journal.close(NOW)

    asyncio.run(run())
    assert statuses(tmp_path) == {message(1, who).dedupe_key: ("accepted", 1, "") for who in ("ray", "kim")}


def test_the_most_severe_goes_first_and_nobody_waits_for_another(tmp_path: Path) -> None:
    """One person's texts go by severity; a person whose way is down holds up nobody else."""

    async def run() -> None:
        journal = await opened(
            tmp_path, message(1, severity=Severity.WARNING), message(2, severity=Severity.CRITICAL), message(3, "kim")
        )

        async def ray_waits(key: str) -> None:
            if key.endswith("ray"):
                await asyncio.wait_for(kim_told.wait(), 5)
            else:
                kim_told.set()

        kim_told = asyncio.Event()
        phone = Phone(during=ray_waits)
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        assert [text for who, text in phone.given if who == "ray"] == ["slug #2", "slug #1"]
        assert ("kim", "slug #3") in phone.given
        await journal.close(NOW)

    asyncio.run(run())


def test_an_outbox_read_while_a_text_goes_out_does_not_send_it_twice(tmp_path: Path) -> None:
    """A list that was read before the text was recorded as sent is out of date when it arrives, and is not believed."""

    @dataclass
    class SlowOutbox(FailingOutbox):
        """Reads at once and answers late."""

        reads: int = 0

        async def outbox_due(self) -> Any:
            """The second list arrives after the text went out."""
            self.reads += 1
            due = await self.journal.outbox_due()
            if self.reads == 2:
                second_read.set()
                await asyncio.sleep(0.05)
            return due

    async def run() -> None:
        outbox = SlowOutbox(await opened(tmp_path, message(1)))

        async def wait_for_second_read(_: str) -> None:
            await asyncio.wait_for(second_read.wait(), 5)

        phone = Phone(during=wait_for_second_read)
        delivery = texts(outbox, modem=phone)

        async def test() -> None:
            while not phone.given:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.001)
            # The disk still says queued, as it does when the record of `sending` could not be written.
            await outbox.journal.set_message_status(message(1).dedupe_key, "queued", NOW)
            delivery.wake()
            while not delivery.counts.accepted:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.001)
            await delivery.drained()
            assert phone.given == [("ray", "slug #1")]

        await during(delivery, test())
        await outbox.journal.close(NOW)

    second_read = asyncio.Event()
    asyncio.run(run())


def test_a_refused_text_has_failed_and_is_counted(tmp_path: Path) -> None:
    """A permanent no is recorded with its reason and not tried again; so is a contact nobody knows."""

    async def run() -> None:
        journal = await opened(tmp_path, message(1), message(2, "gone"))
        phone = Phone([Refused("number barred")])
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        assert delivery.counts == TextCounts(attempts=1, failed=2)
        await journal.close(NOW)

    asyncio.run(run())
    assert statuses(tmp_path) == {
        message(1).dedupe_key: ("failed", 1, "modem: number barred"),
        message(2, "gone").dedupe_key: ("failed", 0, "no such contact in the site file"),
    }


def test_a_kept_text_is_tried_again_and_the_log_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """TryLater keeps it queued; the text is not marked, since it surely did not go out."""
    caplog.set_level(logging.DEBUG, logger="gateway.alarms.notify")

    async def run() -> None:
        journal = await opened(tmp_path, message(1))
        phone = Phone([TryLater("no signal"), TryLater("no signal"), TryLater("no signal")])
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        assert phone.given == [("ray", "slug #1")] * 4
        assert delivery.counts == TextCounts(attempts=4, accepted=1)
        await journal.close(NOW)

    asyncio.run(run())
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "DEBUG", "INFO"]
    assert "555" not in caplog.text
    assert "Ray" not in caplog.text


def test_the_second_way_takes_what_the_first_does_not(tmp_path: Path) -> None:
    """Each attempt goes through the contact's notifiers in order, past an outage and past a fault in one of them."""

    async def run() -> None:
        journal = await opened(tmp_path, message(1, "kim"), message(2, "kim"), message(3, "kim"))
        modem, http = Phone([TryLater("no signal"), Refused("barred"), ZeroDivisionError("a bug")]), Phone()
        delivery = texts(journal, modem=modem, http=http)
        await during(delivery, delivery.drained())
        assert len(modem.given) == 3
        assert [text for _, text in http.given] == ["slug #1", "slug #2", "slug #3 (rpt)"]  # a fault may come after
        assert delivery.counts.accepted == 3
        await journal.close(NOW)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("fate", "sent", "status"),
    [
        (Fate.PENDING, [], "accepted"),
        (Fate.DELIVERED, [], "delivered"),
        (Fate.ABSENT, ["slug #1"], "accepted"),
        (Fate.FAILED, ["slug #1"], "accepted"),
        (Fate.UNKNOWN, ["slug #1 (rpt)"], "accepted"),
    ],
)
def test_a_way_that_keeps_an_account_is_asked_before_a_doubtful_text_goes_again(
    tmp_path: Path, fate: Fate, sent: list[str], status: str
) -> None:
    """Known to be out it is settled; known not to be it goes plain; only where nobody can say is it a repeat."""

    async def run() -> None:
        journal = await opened(tmp_path, message(1))
        await journal.set_message_status(message(1).dedupe_key, "unknown", NOW)
        phone = Phone(knows=fate)
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        assert [text for _, text in phone.given] == sent
        await journal.close(NOW)

    asyncio.run(run())
    assert statuses(tmp_path)[message(1).dedupe_key][0] == status


def test_a_text_nobody_can_say_went_out_is_marked_as_a_repeat(tmp_path: Path) -> None:
    """Stopped in the middle of the call, the next process sends it again marked, and only it."""

    async def interrupted() -> None:
        journal = await opened(tmp_path, message(1))
        called = asyncio.Event()

        async def hang(_: str) -> None:
            called.set()
            await asyncio.Event().wait()

        await during(texts(journal, modem=Phone(during=hang)), called.wait())
        await journal.close(NOW)

    async def restarted() -> None:
        journal = await opened(tmp_path, message(2))
        phone = Phone([TryLater("no signal")])
        delivery = texts(journal, modem=phone)
        await during(delivery, delivery.drained())
        assert sorted(phone.given) == [("ray", "slug #1 (rpt)"), ("ray", "slug #1 (rpt)"), ("ray", "slug #2")]
        assert delivery.counts.repeated == 2
        await journal.close(NOW)

    asyncio.run(interrupted())
    assert statuses(tmp_path)[message(1).dedupe_key][0] == "sending"
    asyncio.run(restarted())
    assert {status for status, _, _ in statuses(tmp_path).values()} == {"accepted"}


def test_a_disk_that_cannot_be_written_leaves_nobody_untold_and_nobody_told_twice(tmp_path: Path) -> None:
    """Without `sending` on disk the text goes out all the same; its outcome is written when the disk is back."""

    async def run() -> None:
        outbox = FailingOutbox(await opened(tmp_path, message(1)), failing_writes=4)
        phone = Phone()
        delivery = texts(outbox, modem=phone)
        await during(delivery, delivery.drained())
        assert phone.given == [("ray", "slug #1")]
        assert outbox.written == [(message(1).dedupe_key, "accepted")]
        await outbox.journal.close(NOW)

    asyncio.run(run())


def test_an_outcome_the_disk_missed_is_written_later(tmp_path: Path) -> None:
    """`sending` is on disk, the outcome is not: it is written again until it is, without a second text."""

    async def run() -> None:
        outbox = FailingOutbox(await opened(tmp_path, message(1)))

        async def fill_disk(_: str) -> None:
            outbox.failing_writes = 3

        phone = Phone(during=fill_disk)
        delivery = texts(outbox, modem=phone)
        await during(delivery, delivery.drained())
        assert phone.given == [("ray", "slug #1")]
        assert [status for _, status in outbox.written] == ["sending", "accepted"]
        await outbox.journal.close(NOW)

    asyncio.run(run())


def test_texts_the_journal_could_not_take_go_out_marked_and_once(tmp_path: Path) -> None:
    """With the store broken the text says it is not recorded; recorded later after all, it is not sent again."""

    async def run() -> None:
        journal = await opened(tmp_path)
        phone = Phone([TryLater("no signal")])
        delivery = texts(journal, modem=phone)

        async def test() -> None:
            delivery.tell_unrecorded([message(1)])
            await delivery.drained()
            assert phone.given == [("ray", "slug #1 (not recorded)")] * 2
            journal.add(Outcome(messages=(message(1),)))
            await journal.commit(NOW)
            delivery.wake()
            await delivery.drained()
            assert len(phone.given) == 2

        await during(delivery, test())
        await journal.close(NOW)

    asyncio.run(run())
    assert statuses(tmp_path)[message(1).dedupe_key][0] == "accepted"


def test_the_bench_files_each_text_once(tmp_path: Path) -> None:
    """One JSON line per key however often it is sent, also by the next process; every new one is shown."""
    shown: list[tuple[str, str]] = []

    async def run(keys: list[str]) -> None:
        bench = BenchText(tmp_path / "texts", SystemClock(), lambda contact, text: shown.append((contact.id, text)))
        for key in keys:
            receipt = await bench.send(RAY, f"text {key}", key)
            assert receipt.delivered

    asyncio.run(run(["a", "b", "a"]))
    asyncio.run(run(["b", "c"]))
    lines = [json.loads(line) for line in (tmp_path / "texts" / "texts.jsonl").read_text("utf-8").splitlines()]
    assert [line["dedupe_key"] for line in lines] == ["a", "b", "c"]
    assert {key: lines[0][key] for key in ("to", "name", "phone", "text")} == {
        "to": "ray", "name": "Ray Miles", "phone": "+17165550100", "text": "text a",
    }  # fmt: skip
    assert shown == [("ray", "text a"), ("ray", "text b"), ("ray", "text c")]


def test_on_site_the_bench_prints_each_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With nobody to show it to, `run` prints the text with its diagnostics: once, when it is filed."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)

    async def run() -> None:
        bench = provide(Part("bench", "bench", {}), site, SystemClock(), tmp_path)
        for key in ("a", "a", "b"):
            await bench.send(RAY, f"text {key}", key)

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert caplog.messages == ["text to Ray Miles: text a", "text to Ray Miles: text b"]


def test_a_line_torn_by_a_power_cut_is_filed_anew(tmp_path: Path) -> None:
    """Half a line was never answered for: it is cut off, and the text it began is filed whole."""
    file = tmp_path / "texts.jsonl"
    file.write_text('{"dedupe_key":"a"}\n{"dedupe_key":"b', encoding="utf-8")
    asyncio.run(BenchText(tmp_path, SystemClock()).send(RAY, "text", "b"))
    assert [json.loads(line)["dedupe_key"] for line in file.read_text("utf-8").splitlines()] == ["a", "b"]


def test_a_folder_that_cannot_be_written_is_tried_later(tmp_path: Path) -> None:
    """An OSError becomes TryLater that names the file."""
    (tmp_path / "texts").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(TryLater, match=r"texts\.jsonl"):
        asyncio.run(BenchText(tmp_path / "texts", SystemClock()).send(RAY, "text", "a"))


@pytest.mark.parametrize("marks", [REPEAT, NOT_RECORDED, REPEAT + NOT_RECORDED, ""])
@pytest.mark.parametrize("length", [20, 139, 146, 160])
def test_a_marked_text_is_one_segment_and_keeps_its_code(length: int, marks: str) -> None:
    """A second segment may be lost alone; both the beginning and the code to send back survive the mark."""
    text = ("LV-MH3 HIGH " + "x" * 160)[: length - len(" ACK 4-17")] + " ACK 4-17"
    told = marked(text, marks)
    assert septets(told) <= 160
    assert told.startswith("LV-MH3")
    assert told.endswith("ACK 4-17" + marks)
