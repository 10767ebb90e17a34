"""What is known to be wrong and not yet put right: each fails as it should until somebody mends it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.config import load
from gateway.config_files import read_toml
from gateway.errors import ConfigError
from gateway.model import Instant, Note, Outcome, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.store.journal import Journal

S = 1_000_000
UTC_US = 1_700_000_000_000_000


@pytest.mark.xfail(strict=True, raises=RecursionError, reason="the TOML reader's recursion is not translated")
def test_a_site_file_nested_without_end_is_a_mistake(tmp_path: Path) -> None:
    """Brackets by the hundred thousand are a mistake in a file, not a traceback."""
    path = tmp_path / "site.toml"
    path.write_text("a = " + "[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        read_toml(path)


@pytest.mark.xfail(strict=True, reason="the writer keeps on writing into the file that has no name any more")
def test_a_journal_deleted_under_a_running_gateway_is_noticed(tmp_path: Path) -> None:
    """Somebody removes the file: the next commit fails or makes a new one; it does not write where nobody can read."""

    async def story() -> None:
        path = tmp_path / "journal.db"
        journal = Journal(path, "site", "boot")
        await journal.open(Instant(UTC_US, 0))
        for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        journal.add(Outcome(notes=(Note("command", Instant(UTC_US, 1), {}),)))
        try:
            await journal.commit(Instant(UTC_US, 2))
        finally:
            await journal.close(Instant(UTC_US, 3))
        assert path.exists()

    asyncio.run(story())


@pytest.mark.xfail(strict=True, reason="the interlock's memory does not survive a restart")
def test_a_probe_that_just_became_wet_is_as_dry_after_a_restart_as_before() -> None:
    """Flow began 15 s ago, the on-delay is 60 s, the gateway restarts: the pH of the next poll is still out of it."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    flow_m3s = 20 * 0.003785411784 / 60

    def poll(pipeline: Pipeline, second: int, flow: float) -> Outcome:
        at = Instant(UTC_US + second * S, second * S)
        return pipeline.process([Sample("flow", at, (), flow), Sample("ph", at, (), 3.0 + second * 1e-4)], at)

    def after(*, restart: bool) -> bool:
        pipeline = Pipeline(site, Instant(UTC_US, 0))
        state: dict[str, Any] = {}
        for second in range(0, 300, 15):
            state |= poll(pipeline, second, 0.0).state
        state |= poll(pipeline, 300, flow_m3s).state
        if restart:
            now = Instant(UTC_US + 301 * S, 301 * S)
            pipeline = Pipeline(site, now)
            pipeline.restore({key: value for key, value in state.items() if value is not None}, Resume(now, 0))
        outcome = poll(pipeline, 315, flow_m3s * 1.01)
        return next(reading.dry for reading in outcome.readings if reading.channel == "ph")

    assert after(restart=False)
    assert after(restart=True)
