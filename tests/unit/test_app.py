"""The gateway as a whole, without a bus: commands over its socket, the journal, the texts, a restart, a full disk."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway.app import GatewayApp, resume_from
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.control import NotRunningError, ask, socket_path
from gateway.errors import ConfigError
from gateway.model import Instant, Sample
from gateway.operator_actions import run_list
from gateway.shipped import shipped
from gateway.site import Duty, Part, Site
from gateway.store.journal import Recovered
from tests.support.journal_rows import events, texts

S = 1_000_000
EXAMPLE = Path(str(shipped("examples", "little-valley")))


def site(folder: Path) -> Site:
    """Little Valley without buses and broker; texts are filed, and nobody is called again: an hour takes seconds."""
    phone = Part("bench", "bench", {"folder": folder / "texts"})
    return replace(load(EXAMPLE, for_replay=True), buses={}, sinks=(), notifiers=(phone,), duty=Duty())


def acid(app: GatewayApp, seconds: range, ph: float = 3.1) -> None:
    """pH samples every 15 s of those seconds, judged as if a probe had sent them; each at its own moment."""
    start = app.started
    for second in seconds:
        at = Instant(start.utc_us + second * S, start.mono_us + second * S, True)
        app._deliver((Sample("ph", at, (), ph),), at)


async def with_app(folder: Path, body: Callable[[GatewayApp], Awaitable[None]], **options: Any) -> None:
    """Run a gateway around a body."""
    app = GatewayApp(site(folder), ScaledClock(100), folder / "state", **options)
    running = asyncio.create_task(app.run())
    await app.ready.wait()
    try:
        await body(app)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def call(app: GatewayApp, command: str, **args: Any) -> Awaitable[dict[str, Any]]:
    """One request over the control socket."""
    request = {"command": command, "actor": args.pop("actor", "R. Miller"), "id": args.pop("id", ""), "args": args}
    return ask(socket_path(app.state_directory), request)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where everything of one gateway goes."""
    return tmp_path


def test_an_exceedance_is_on_record_before_it_is_told(folder: Path) -> None:
    """Finding, alarm, text owed and text delivered, each in the journal, once."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        await app.quiesce()

    asyncio.run(with_app(folder, body))
    journal = folder / "state" / "journal.db"
    assert [f["event"] for f in events(journal, "finding") if f["rule"] == "lv-ph-low"] == ["raised"]
    assert [(a["alarm"], a["edge"]) for a in events(journal, "alarm")] == [("lv-ph-low", "raised")]
    (text,) = texts(journal)
    assert text["status"] == "delivered"
    filed = (folder / "texts" / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in filed] == [text["text"]]
    assert "194-6C(7)" in text["text"]


def test_an_alarm_is_named_by_the_code_of_its_text_too(folder: Path) -> None:
    """`1-1` is the first alarm's first occurrence; a code that was never given says so; an old one takes nothing."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        assert "no alarm was ever sent" in (await call(app, "ack", alarm="7-1"))["error"]
        assert not (await call(app, "ack", alarm="1-2"))["ok"]
        answer = await call(app, "ack", alarm="1-1")
        assert (answer["alarm"]["id"], answer["alarm"]["state"]) == ("lv-ph-low", "acknowledged")

    asyncio.run(with_app(folder, body))


def test_an_acknowledgement_is_signed_recorded_and_answered_alike_when_repeated(folder: Path) -> None:
    """The same id gives the same answer; a second person is told who was first; nobody acts without a name."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        nameless = await call(app, "ack", alarm="lv-ph-low", actor=" ")
        assert (nameless["ok"], "signed" in nameless["error"]) == (False, True)
        first = await call(app, "ack", alarm="lv-ph-low", occurrence=1, id="one")
        assert first["ok"]
        assert (first["alarm"]["state"], first["alarm"]["acknowledged_by"]) == ("acknowledged", "R. Miller")
        assert await call(app, "ack", alarm="lv-ph-low", occurrence=1, id="one") == first
        late = await call(app, "ack", alarm="lv-ph-low", occurrence=1, actor="J. Doe")
        assert late["ok"]
        assert late["alarm"]["acknowledged_by"] == "R. Miller"
        stale = await call(app, "ack", alarm="lv-ph-low", occurrence=7)
        assert not stale["ok"]

    asyncio.run(with_app(folder, body))
    journal = folder / "state" / "journal.db"
    acknowledged = [a for a in events(journal, "alarm") if a["edge"] == "acknowledged"]
    assert [a["actor"] for a in acknowledged] == ["R. Miller"]
    commands = [n["body"] for n in events(journal, "note") if n["kind"] == "command"]
    assert [c["actor"] for c in commands] == ["R. Miller", "J. Doe", "R. Miller"]


@pytest.mark.parametrize(
    ("command", "args", "why"),
    [
        ("ack", {"alarm": "no-such-alarm"}, "no-such-alarm"),
        ("shelve", {"alarm": "lv-ph-low", "for": "1 h"}, "reason"),
        ("shelve", {"alarm": "lv-ph-low", "for": "soon", "reason": "x"}, "soon"),
        ("out-of-service", {"alarm": "lv-ph-low"}, "reason"),
        ("dance", {}, "unknown command"),
        ("resend", {"sink": "mqtt", "from_seq": 1, "to_seq": 2}, "no sink"),
        ("ack", {"alarm": "lv-ph-low", "occurrence": "first"}, "first"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(command: str, args: dict, why: str, folder: Path) -> None:
    """A refusal names what is wrong and changes nothing."""

    async def body(app: GatewayApp) -> None:
        answer = await call(app, command, **args)
        assert not answer["ok"]
        assert why in answer["error"]

    asyncio.run(with_app(folder, body))


def test_a_shelf_an_unshelf_and_an_alarm_out_of_service(folder: Path) -> None:
    """The operator's other actions reach the engine, and the list says who did it and why."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        shelved = await call(app, "shelve", alarm="lv-ph-low", reason="probe swap", **{"for": "1 h"})
        assert shelved["alarm"]["letter"] == "G"
        assert (await call(app, "unshelve", alarm="lv-ph-low"))["alarm"]["letter"] == "B"
        out = await call(app, "out-of-service", alarm="lv-ph-low", reason="probe on order")
        assert out["alarm"]["letter"] == "I"
        assert (await call(app, "return", alarm="lv-ph-low"))["alarm"]["letter"] == "B"
        listed = (await call(app, "alarms"))["alarms"]
        assert {line["id"] for line in listed} == set(app.site.alarms)

    asyncio.run(with_app(folder, body))


def test_the_list_names_who_acknowledged_and_who_put_aside_and_speaks_local_time(folder: Path) -> None:
    """A shelf is its own person's, until a time of the site's zone; nobody is credited with another's action."""

    async def body(app: GatewayApp) -> None:
        async def listed() -> str:
            out = io.StringIO()
            await asyncio.to_thread(run_list, app.state_directory, out, as_json=False, everything=False)
            lines = out.getvalue().splitlines(keepends=True)
            return "".join(line for line in lines if "no sample" not in line)  # the others have no probe at all

        acid(app, range(0, 60, 15))
        began = f" since {local(app.started.utc_us)} high: "
        await call(app, "ack", alarm="lv-ph-low", actor="R. Miller")
        assert (await listed()).startswith(f"C lv-ph-low #1 (1-1) acknowledged by R. Miller{began}below 5.5 pH")
        shelved = await call(app, "shelve", alarm="lv-ph-low", actor="J. Doe", reason="probe swap", **{"for": "2 h"})
        until = local(shelved["alarm"]["shelved_until_utc_us"])
        assert await listed() == f"G lv-ph-low #1 (1-1) shelved until {until}{began}J. Doe: probe swap\n"
        await call(app, "out-of-service", alarm="sensor-ph", actor="J. Doe", reason="on order")
        assert (await listed()).splitlines()[1] == "I sensor-ph #0 out of service warning: J. Doe: on order"

    asyncio.run(with_app(folder, body))


def local(utc_us: int) -> str:
    """A moment as people in Little Valley say it."""
    return datetime.fromtimestamp(utc_us // S, ZoneInfo("America/New_York")).strftime("%Y-%m-%d %H:%M %Z")


def test_a_line_that_is_no_request_is_answered(folder: Path) -> None:
    """Garbage on the socket is an answer, never the end of the gateway."""

    async def body(app: GatewayApp) -> None:
        reader, writer = await asyncio.open_unix_connection(socket_path(app.state_directory))
        writer.write(b'not json\n[1]\n{"command": "status"}\n')
        await writer.drain()
        answers = [json.loads(await reader.readline()) for _ in range(3)]
        writer.close()
        assert [a["ok"] for a in answers] == [False, False, True]

    asyncio.run(with_app(folder, body))


def test_an_alarm_and_its_acknowledgement_survive_a_restart_and_nobody_is_told_twice(folder: Path) -> None:
    """The second gateway finds the alarm as the first left it, says it started, and sends nothing again."""

    async def first(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        await call(app, "ack", alarm="lv-ph-low")
        await app.quiesce()

    async def second(app: GatewayApp) -> None:
        (line,) = [a for a in (await call(app, "alarms"))["alarms"] if a["id"] == "lv-ph-low"]
        assert (line["letter"], line["acknowledged_by"]) == ("C", "R. Miller")

    asyncio.run(with_app(folder, first))
    asyncio.run(with_app(folder, second))
    journal = folder / "state" / "journal.db"
    assert [n["kind"] for n in events(journal, "note") if n["kind"] in ("started", "stopped")] == [
        "started", "stopped", "started", "stopped",
    ]  # fmt: skip
    assert [text["alarm"] for text in texts(journal)].count("lv-ph-low") == 1  # a slow machine adds silent sensors


def test_a_full_disk_stops_no_text(folder: Path) -> None:
    """The journal can take nothing more: the text goes out all the same, and says that it is not on record."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        filed = folder / "texts" / "texts.jsonl"
        async with asyncio.timeout(10):
            # A file is written by the notifier's own task: there is nothing to wait on but the file.
            while not filed.exists() or "not recorded" not in filed.read_text(encoding="utf-8"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        status = (await call(app, "status"))["status"]
        assert status["unrecorded_commits"] > 0
        assert "journal" in status["faults"]

    asyncio.run(with_app(folder, body, journal_max_bytes=4096))


def test_status_says_what_stands_and_names_nobody(folder: Path) -> None:
    """Channels, alarms, texts and clock in one mapping that JSON can write, without phone or name."""

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        await app.quiesce()
        status = (await call(app, "status"))["status"]
        assert status["channels"]["ph"]["value"] == 3.1
        assert status["channels"]["flow"] == {
            "value": None, "unit": "gpm", "quality": "missing", "letter": "F", "age_s": None,
        }  # fmt: skip
        assert [a["id"] for a in status["alarms"]] == ["lv-ph-low"]
        assert status["texts"] == {"owed": 0, "accepted": 1, "failed": 0}
        (contact,) = app.site.contacts
        assert contact.name not in json.dumps(status)
        assert contact.phone not in json.dumps(status)

    asyncio.run(with_app(folder, body))


def test_a_state_directory_too_deep_for_a_socket_is_a_mistake_and_said_at_once(tmp_path: Path) -> None:
    """A socket's path holds 107 bytes; a gateway that cannot be commanded does not start in silence."""
    deep = tmp_path / ("d" * 120)
    app = GatewayApp(site(tmp_path), ScaledClock(1000), deep)
    with pytest.raises(ConfigError, match="too long for a socket"):
        asyncio.run(app.run())


def test_nobody_at_home(tmp_path: Path) -> None:
    """A socket that is not there is said in words."""
    with pytest.raises(NotRunningError, match="no gateway answers"):
        asyncio.run(ask(tmp_path / "control.sock", {"command": "status"}))


@pytest.mark.parametrize(
    ("sentence", "same_boot", "last", "now", "offset_us"),
    [
        ("Within a boot stamps stay as they are.", True, Instant(10, 5, False), Instant(99, 7, False), 0),
        ("A new journal has nothing to carry.", False, None, Instant(99, 7, True), 0),
        ("Another boot: 30 s by trusted UTC, however the axes run.", False, Instant(100 * S, 900 * S, True),
         Instant(130 * S, 4 * S, True), 4 * S - 30 * S - 900 * S),
        ("An untrusted clock on either side: nobody can tell.", False, Instant(100 * S, 900 * S, False),
         Instant(130 * S, 4 * S, True), None),
        ("The same the other way round.", False, Instant(100 * S, 900 * S, True), Instant(130 * S, 4 * S, False), None),
    ],
)  # fmt: skip
def test_how_stamps_come_onto_this_boot(
    sentence: str, same_boot: bool, last: Instant | None, now: Instant, offset_us: int | None
) -> None:
    """The offset of the monotonic axis after a restart."""
    recovered = Recovered({}, last, same_boot, "boot", None, 0)
    assert resume_from(recovered, now).offset_us == offset_us, sentence
