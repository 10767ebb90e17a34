"""What every way to a person promises, whatever carries the text: each runs against its real other side."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.alarms.notifier import Fate
from gateway.errors import InDoubt, Refused, TryLater
from tests.support.notifier_rigs import CONTACT, RIGS, Rig

TEXT = "LV-MH3 Acme Dairy HIGH pH 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. ACK 4-17"
KEY = "lv-ph-low:17:raised:1:ray"


@pytest.fixture(params=RIGS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each way in turn."""
    return str(request.param)


def on(kind: str, folder: Path, story: Callable[[Rig], Awaitable[None]]) -> None:
    """Run a story with one way and its other side."""

    async def run() -> None:
        async with RIGS[kind](folder) as rig, asyncio.timeout(60):
            await story(rig)
            await rig.notifier.close()
            await rig.notifier.close()  # harmless

    asyncio.run(run())


def test_a_text_arrives_once_at_the_right_address_in_the_right_words(kind: str, tmp_path: Path) -> None:
    """The other side has one text, to that person, word for word, and there is a receipt."""

    async def story(rig: Rig) -> None:
        receipt = await rig.notifier.send(CONTACT, TEXT, KEY)
        assert receipt.provider_ref
        assert rig.received() == [(rig.address, TEXT)]

    on(kind, tmp_path, story)


def test_the_same_key_twice_is_told_apart_from_two_texts(kind: str, tmp_path: Path) -> None:
    """Another key with the same words is another text; both arrive."""

    async def story(rig: Rig) -> None:
        await rig.notifier.send(CONTACT, TEXT, KEY)
        await rig.notifier.send(CONTACT, TEXT, KEY.replace(":1:", ":2:"))
        assert rig.received() == [(rig.address, TEXT)] * 2

    on(kind, tmp_path, story)


def test_nobody_at_the_other_end_is_a_reason_to_try_later(kind: str, tmp_path: Path) -> None:
    """The failure says so, leaves no doubt that the text did not go out, and nothing arrives."""

    async def story(rig: Rig) -> None:
        with pytest.raises(TryLater) as told:
            await rig.absent.send(CONTACT, TEXT, KEY)
        assert not isinstance(told.value, InDoubt)
        assert str(told.value)
        assert rig.received() == []
        await rig.absent.close()

    on(kind, tmp_path, story)


def test_a_recipient_that_is_refused_for_good_is_refused(kind: str, tmp_path: Path) -> None:
    """A permanent error is Refused with its reason, once, and the next text goes out all the same."""

    async def story(rig: Rig) -> None:
        if rig.refuse is None:
            return
        rig.refuse()
        with pytest.raises(Refused, match=r"\w+"):
            await rig.notifier.send(CONTACT, TEXT, KEY)
        assert rig.received() == []
        await rig.notifier.send(CONTACT, TEXT, KEY)
        assert rig.received() == [(rig.address, TEXT)]

    on(kind, tmp_path, story)


def test_a_transient_error_is_a_reason_to_try_later_and_leaves_no_doubt(kind: str, tmp_path: Path) -> None:
    """What the other side says it did not take is kept, and goes out at the second attempt, once."""

    async def story(rig: Rig) -> None:
        if rig.later is None:
            return
        rig.later()
        with pytest.raises(TryLater) as told:
            await rig.notifier.send(CONTACT, TEXT, KEY)
        assert not isinstance(told.value, InDoubt)
        await rig.notifier.send(CONTACT, TEXT, KEY)
        assert rig.received() == [(rig.address, TEXT)]

    on(kind, tmp_path, story)


def test_an_answer_that_is_lost_leaves_a_doubt(kind: str, tmp_path: Path) -> None:
    """Taken without an answer: nobody can say, and where an account is kept the question has an answer."""

    async def story(rig: Rig) -> None:
        if rig.lose is None:
            return
        rig.lose()
        with pytest.raises(InDoubt):
            await rig.notifier.send(CONTACT, TEXT, KEY)
        assert rig.received() == [(rig.address, TEXT)]
        fate = await rig.notifier.fate(CONTACT, TEXT, KEY, "")
        assert fate is (Fate.PENDING if rig.keeps_account else Fate.UNKNOWN)

    on(kind, tmp_path, story)


@pytest.mark.parametrize("delivered", [True, False], ids=["delivered", "given up"])
def test_a_delivery_report_becomes_the_fate_of_the_text(kind: str, tmp_path: Path, delivered: bool) -> None:
    """Pending until the network reports, then delivered or failed."""

    async def story(rig: Rig) -> None:
        if rig.report is None:
            return
        receipt = await rig.notifier.send(CONTACT, TEXT, KEY)
        assert await rig.notifier.fate(CONTACT, TEXT, KEY, receipt.provider_ref) is Fate.PENDING
        rig.report(delivered)
        fate = await rig.notifier.fate(CONTACT, TEXT, KEY, receipt.provider_ref)
        assert fate is (Fate.DELIVERED if delivered else Fate.FAILED)

    on(kind, tmp_path, story)


def test_a_text_that_was_never_handed_over_is_absent_where_an_account_is_kept(kind: str, tmp_path: Path) -> None:
    """It may go out without the mark of a repeat; without an account nobody can say."""

    async def story(rig: Rig) -> None:
        fate = await rig.notifier.fate(CONTACT, TEXT, KEY, "")
        assert fate is (Fate.ABSENT if rig.keeps_account else Fate.UNKNOWN)

    on(kind, tmp_path, story)


def test_a_reply_is_shown_until_it_is_settled_and_under_one_key(kind: str, tmp_path: Path) -> None:
    """Sender and words come through; the same text brought twice has the same key, and settling it ends both."""

    async def story(rig: Rig) -> None:
        assert await rig.notifier.inbound() == ()
        if rig.reply is None:
            return
        rig.reply(CONTACT.phone, "ACK 4-17")
        first, again = await rig.notifier.inbound(), await rig.notifier.inbound()
        assert {(text.sender, text.text) for text in first} == {(CONTACT.phone, "ACK 4-17")}
        assert first == again
        assert len({text.key for text in first}) == 1
        await rig.notifier.settle(first[0].key)
        left = await rig.notifier.inbound()
        assert left in {(), first}  # a provider's list goes on showing it: the key tells
        if kind != "http-sms":
            assert left == ()

    on(kind, tmp_path, story)


def test_health_says_whether_texts_can_go_out_and_why_not(kind: str, tmp_path: Path) -> None:
    """Usable with the other side there; without it not, with a reason. A folder is always usable."""

    async def story(rig: Rig) -> None:
        assert (await rig.notifier.health()).usable
        lost = await rig.absent.health()
        await rig.absent.close()
        if kind != "bench":
            assert not lost.usable
            assert lost.why

    on(kind, tmp_path, story)
