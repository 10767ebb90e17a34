"""The main job, end to end: instruments on real lines, the gateway, a broker, texts; each story's alarms, no others."""

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from gateway.config import load
from gateway.model import Fault, Instant, Sample, Severity
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Channel, Site
from simulators import scenario as scenarios
from simulators.demo import run_demo
from simulators.manhole import Manhole, Truth
from simulators.wiring import truth as sensed

SUMMARY = ("readings_stored", "mqtt_published", "mqtt_acknowledged", "alarms_raised", "alarms_cleared")
SUMMARY += ("texts_delivered", "polls_late")


def shown(scenario: str, speed: int) -> tuple[list[str], dict]:
    """What one demo prints, and its summary; the demo itself must say that nothing was lost."""
    command = [sys.executable, "-m", "gateway", "demo", "--scenario", scenario, "--speed", str(speed), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:] + ended.stdout[-3000:]
    *lines, last = ended.stdout.splitlines()
    return lines, json.loads(last)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("scenario", "speed", "alarms", "texts"),
    [
        (
            "demo",
            120,
            ["lv-slug-flow", "lv-ph-low"],
            ["HIGH Slug", "ENDED Slug", "HIGH pH too low", "ENDED pH too low"],
        ),
        ("hot-discharge", 120, ["lv-temperature"], ["HIGH", "ENDED"]),
        ("dead-ph-probe", 120, ["sensor-ph", "sensor-temperature"], ["WARNING sensor"] * 2 + ["ENDED sensor"] * 2),
        ("broker-outage", 120, ["lv-slug-flow"], ["HIGH Slug", "ENDED Slug"]),
    ],
)
def test_a_story_is_found_told_and_delivered(scenario: str, speed: int, alarms: list, texts: list) -> None:
    """Every record at the consumer, every text at the phone, and just the alarms the story tells of."""
    lines, summary = shown(scenario, speed)
    assert set(SUMMARY) <= set(summary)
    assert summary["consumer_received"] == summary["records"] == summary["mqtt_acknowledged"]
    assert summary["readings_stored"] > 500
    raised = [line for line in lines if " raised " in line]
    for alarm in alarms:
        assert sum(alarm in line for line in raised) == 1, raised
    assert len(raised) == summary["alarms_raised"] == len(alarms)
    phone = [line for line in lines if " TEXT to " in line]
    assert len(phone) == summary["texts_delivered"], phone
    once = [line for line in phone if " Reminder " not in line]  # nobody answers here, so the roster calls again
    for words, line in zip(texts, once, strict=True):
        assert words in line


def test_who_comes_back_after_the_gateway_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed broker forgets its subscribers: one that is slow to return is sent again what went to nobody."""
    delay = Client.reconnect_delay_set
    monkeypatch.setattr(Client, "reconnect_delay_set", lambda client, *_: delay(client, 5, 5))
    out = io.StringIO()
    options = {"scenario": "broker-outage", "speed": 300.0, "duration": None, "svg": None, "json": True}
    assert run_demo(argparse.Namespace(**options), out) == 0
    summary = json.loads(out.getvalue().splitlines()[-1])
    assert summary["consumer_received"] == summary["records"] == summary["mqtt_acknowledged"]
    assert summary["mqtt_resent"] > 0


@pytest.mark.parametrize("name", [n for n in scenarios.names() if not scenarios.load(n).recorded])
def test_each_scenario_raises_just_the_alarms_it_names(name: str) -> None:
    """The process model through the pipeline in virtual time: proven exceedances and sensor faults, nothing else."""
    scenario = scenarios.load(name)
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    manhole = Manhole(scenario.seed, scenario)
    start = Instant(scenario.starts_at_us, 0)
    pipeline = Pipeline(site, start)
    raised: set[str] = set()
    for second in range(0, round(scenario.duration_s), 15):
        at = Instant(start.utc_us + second * 1_000_000, second * 1_000_000)
        truth = manhole.at(second)
        outcome = pipeline.process([sample(site, channel, truth, at) for channel in site.channels.values()], at)
        raised |= {e.alarm for e in outcome.alarm_events if e.severity >= Severity.WARNING}
    assert raised == set(scenario.alarms)


def sample(site: Site, channel: Channel, truth: Truth, at: Instant) -> Sample:
    """What an instrument would have sent for a channel, in its own unit; nothing from one that is silent."""
    beside = {c.quantity for c in site.channels.values() if c.device == channel.device}
    if beside & set(truth.silent):
        return Sample(channel.name, at, fault=Fault.SILENT)
    shown = sensed(truth.sensed, channel, site)
    return Sample(
        channel.name, at, (), None if shown is None else (shown - channel.conversion.offset) / channel.conversion.gain
    )
