"""A disk that is stuck, or takes nothing from the start: the gateway measures, judges and tells all the same."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway import app as application
from gateway.__main__ import main
from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.errors import NotOurs, StoreError
from gateway.model import Instant, Sample
from gateway.shipped import shipped
from gateway.site import Part, Site
from gateway.store.journal import Journal
from tests.support.journal_rows import events, texts

S = 1_000_000
EXAMPLE = Path(str(shipped("examples", "little-valley")))


def site(folder: Path) -> Site:
    """Little Valley without buses and broker; texts are filed."""
    phone = Part("bench", "bench", {"folder": folder / "texts"})
    return replace(load(EXAMPLE, for_replay=True), buses={}, sinks=(), notifiers=(phone,))


def acid(app: GatewayApp, seconds: range, ph: float = 3.1) -> None:
    """pH samples every 15 s of those seconds, judged as if a probe had sent them."""
    for second in seconds:
        at = Instant(app.started.utc_us + second * S, app.started.mono_us + second * S, True)
        app._deliver((Sample("ph", at, (), ph),), at)


async def with_app(folder: Path, body: Callable[[GatewayApp], Awaitable[None]], **options: Any) -> None:
    """Run a gateway around a body, with little patience for its disk."""
    app = GatewayApp(site(folder), ScaledClock(1000), folder / "state", **options)
    app.texts._disk_patience_s = 0.05
    running = asyncio.create_task(app.run())
    await asyncio.wait((running, asyncio.create_task(app.ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    try:
        await body(app)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  # threads and files are waited for
            await asyncio.sleep(0.01)


def filed(folder: Path) -> list[str]:
    """The texts about pH that a person has; the other probes are silent here, and say so too."""
    path = folder / "texts" / "texts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [text for line in lines if "pH too low" in (text := json.loads(line)["text"])]


def recorded(folder: Path) -> list[str]:
    """Where the texts about pH stand in the journal."""
    return [text["status"] for text in texts(folder / "state" / "journal.db") if "pH too low" in text["text"]]


def test_a_stuck_disk_holds_up_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit never comes back: raise and return are told, marked; when it does, all is on record and told once."""
    monkeypatch.setattr(application, "_DISK_PATIENCE_S", 0.05)
    freed = threading.Event()

    async def body(app: GatewayApp) -> None:
        append = app.journal._writer.append
        monkeypatch.setattr(app.journal._writer, "append", lambda *args: (freed.wait(30), append(*args))[1])
        try:
            acid(app, range(0, 60, 15))
            await until(lambda: len(filed(tmp_path)) == 1)
            acid(app, range(60, 240, 15), ph=7.0)
            await until(lambda: len(filed(tmp_path)) == 2)
            assert "no answer" in app.faults["journal"]
        finally:
            freed.set()
        await app.quiesce()
        assert "journal" not in app.faults

    asyncio.run(with_app(tmp_path, body))
    told = filed(tmp_path)
    assert all(text.endswith("(not recorded)") for text in told)
    assert recorded(tmp_path) == ["delivered", "delivered"]
    assert len(filed(tmp_path)) == 2


def test_a_disk_that_takes_nothing_at_the_start_stops_no_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal cannot be opened: the exceedance is told, marked; once the disk is back it is all on record."""
    broken = threading.Event()
    broken.set()
    whole = Journal.__init__

    def init(journal: Journal, *args: Any, **options: Any) -> None:
        whole(journal, *args, **options)
        opened = journal._writer._open

        def _open(now: Instant) -> Any:
            if broken.is_set():
                raise StoreError("journal.db: Read-only file system")
            return opened(now)

        monkeypatch.setattr(journal._writer, "_open", _open)

    monkeypatch.setattr(Journal, "__init__", init)

    async def body(app: GatewayApp) -> None:
        acid(app, range(0, 60, 15))
        await until(lambda: filed(tmp_path))
        broken.clear()
        acid(app, range(60, 120, 15))
        await app.quiesce()

    asyncio.run(with_app(tmp_path, body))
    assert len(filed(tmp_path)) == 1
    assert filed(tmp_path)[0].endswith("(not recorded)")
    assert recorded(tmp_path) == ["delivered"]


def test_a_journal_that_is_somebody_elses_stops_the_start(tmp_path: Path) -> None:
    """Two gateways on one state directory: the second does not run, and the first is not disturbed."""

    async def body(app: GatewayApp) -> None:
        second = GatewayApp(site(tmp_path), ScaledClock(1000), tmp_path / "state")
        with pytest.raises(NotOurs, match="another gateway"):
            await second.run()
        acid(app, range(0, 60, 15))
        await app.quiesce()

    asyncio.run(with_app(tmp_path, body))
    assert len(filed(tmp_path)) == 1


def test_a_failing_disk_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A hundred commits that fail alike are one line of the log: it lies on the same disk."""
    caplog.set_level(logging.INFO)

    async def body(app: GatewayApp) -> None:
        for second in range(0, 1500, 15):
            acid(app, range(second, second + 15, 15))
            await app._commit()
        assert app.unrecorded >= 100

    asyncio.run(with_app(tmp_path, body, journal_max_bytes=4096))
    assert sum("journal:" in record.message for record in caplog.records if record.name == "gateway.app") == 1


@pytest.mark.parametrize("state", ["file", "file/below"])
def test_a_state_directory_that_is_none_is_a_mistake(tmp_path: Path, state: str, capsys: pytest.CaptureFixture) -> None:
    """A file where the directory should be: exit 78 and one line, no traceback."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["run", str(EXAMPLE), "--state", str(tmp_path / state)]) == 78
    assert "--state" in capsys.readouterr().err


def test_an_action_that_could_not_be_recorded_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full: maintenance begins all the same, and whoever began it learns that it is not on record yet."""
    commit = Journal.commit

    async def full(journal: Journal, now: Instant) -> Any:
        raise StoreError("no space left on device")

    async def body(app: GatewayApp) -> None:
        words = ["start", "ph", "--by", "J. Tech", "--reason", "clean", "--state", str(app.state_directory), "--json"]
        monkeypatch.setattr(Journal, "commit", full)
        assert await asyncio.to_thread(main, ["maintenance", *words]) == 0
        assert app.pipeline.maintenance.held("ph")
        assert "NOT ON RECORD YET" in caplog.text
        assert "no space left on device" in caplog.text
        monkeypatch.setattr(Journal, "commit", commit)
        caplog.clear()
        words[:2] = ["stop", "ph"]
        del words[4:6]
        assert await asyncio.to_thread(main, ["maintenance", *words]) == 0
        assert "NOT ON RECORD" not in caplog.text

    asyncio.run(with_app(tmp_path, body))
    assert [note["body"]["event"] for note in events(tmp_path / "state" / "journal.db", "note")
            if note["kind"] == "maintenance"] == ["started", "stopped"]  # fmt: skip
