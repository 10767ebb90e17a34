"""The example sites carry the facts that replay's vectors stand on; the schema, the hashes and `check` say the same."""

import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import config
from gateway.check import run_check, wire_reads
from gateway.config_files import read_toml
from gateway.config_words import parse_rate, parse_span
from gateway.drivers import profiles
from gateway.errors import ConfigError
from gateway.model import Severity
from gateway.schema import run_schema
from gateway.shipped import names, shipped
from gateway.site import Contact, Conversion, Duty, DutyStep, Site, Span, Witness
from gateway.site_channels import DEFAULT_FAIL_SPANS
from gateway.site_outputs import output_alarms
from gateway.station_alarms import station_policies
from gateway.units import QUANTITIES, conversion

MINUTE_US = 60_000_000


def _example(name: str) -> Site:
    return config.load(shipped("examples", name))


@pytest.mark.parametrize("name", names("examples"))
@pytest.mark.parametrize("for_replay", [False, True])
def test_every_example_is_sound(name: str, for_replay: bool) -> None:
    """Each shipped example loads without a mistake, for the gateway and for a replay, into the same configuration."""
    site = config.load(shipped("examples", name), for_replay=for_replay)
    assert site.config_hash == _example(name).config_hash


@pytest.mark.parametrize(("name", "flow_high"), [("little-valley", 250.0), ("marlborough", 1500.0)])
def test_the_two_towns_share_their_facts(name: str, flow_high: float) -> None:
    """Channels, units, polls, holds, spans, witnesses and flat line of both examples are the agreed ones."""
    site = _example(name)
    assert {c.name: (c.quantity, c.unit) for c in site.channels.values()} == {
        "ph": ("pH", "pH"),
        "temperature": ("temperature", "degC"),
        "flow": ("flow", "gpm"),
        "conductivity": ("conductivity", "uS/cm"),
        "tss": ("tss", "mg/L"),
        "level": ("level", "ft"),
    }
    for channel in site.channels.values():
        assert (channel.poll_us, channel.hold_us) == (15_000_000, 37_500_000)
        assert channel.flat_after_us is not None
        assert channel.flat_after_us >= 4 * 60 * MINUTE_US
        assert channel.derived_from is None
    spans = {c.name: (c.suspect_span.low, c.suspect_span.high) for c in site.channels.values()}
    assert spans == {
        "ph": (None, None),
        "temperature": (0.0, 90.0),
        "flow": (0.0, flow_high),
        "conductivity": (None, None),
        "tss": (0.0, 3000.0),
        "level": (None, None),
    }
    assert site.channels["ph"].fail_span == Span(0.0, 14.0)
    discharging = site.discharging
    assert discharging.witnesses == (Witness("flow", 2.0), Witness("level", 0.1))
    assert (discharging.on_delay_us, discharging.off_delay_us) == (MINUTE_US, MINUTE_US)
    assert discharging.applies_to == {"ph", "temperature", "conductivity", "tss"}
    assert all(rule.confirm == 3 for rule in site.rules)
    (superintendent,) = site.contacts
    assert (superintendent.id, superintendent.notifiers) == ("superintendent", ("bench",))
    assert [(p.name, p.kind) for p in (*site.notifiers, *site.sinks)] == [("bench", "bench"), ("mqtt", "mqtt")]


def test_little_valley_declares_its_baselines() -> None:
    """10 gpm and 800 uS/cm, approved and dated; suspended solids have none, so their slug rule cannot tell."""
    site = _example("little-valley")
    declared = {b.channel: (b.mode, b.value, b.unit) for b in site.baselines.values()}
    assert declared == {"flow": ("declared", 10.0, "gpm"), "conductivity": ("declared", 800.0, "uS/cm")}
    assert all(b.approved_by and b.approved_on == "2015-01-01" for b in site.baselines.values())
    by_alarm = {rule.alarm: rule.baseline and rule.baseline.value for rule in site.rules if rule.kind == "slug"}
    assert by_alarm == {
        "lv-slug-flow": 10.0,
        "lv-slug-concentration.conductivity": 800.0,
        "lv-slug-concentration.tss": None,
    }
    assert site.unbound_rules == ("lv-influent-temperature",)
    assert site.law_notes


def test_marlborough_needs_no_baseline() -> None:
    """Marlborough's slugs have numbers of their own; the rules without an instrument are named as unbound."""
    site = _example("marlborough")
    assert {r.id: (r.limit, r.unit) for r in site.rules if r.kind == "slug"} == {
        "mb-slug-tss": (1325.0, "mg/L"),
        "mb-flow-rate": (1000.0, "gpm"),
    }
    assert set(site.unbound_rules) == {"mb-influent-temperature", "mb-slug-bod"}


@pytest.mark.parametrize("name", names("examples"))
def test_every_alarm_has_its_policy(name: str) -> None:
    """There is one policy for each rule's alarm, each channel's sensor and maintenance, the station's and a pipe's."""
    site = _example(name)
    wired = set(output_alarms(site.inputs, site.outputs, site.sampler, site.channels))
    station = set(station_policies(site.buses, *([p.name for p in parts] for parts in (site.sinks, site.notifiers))))
    ends = [(c.diagnosed.crown, c.diagnosed.capacity) for c in site.channels.values()]
    wired |= {"surcharge"} if any(end != (None, None) for end in ends) else set()
    assert set(site.alarms) == {r.alarm for r in site.rules} | {"maintenance"} | wired | station | {
        f"{kind}-{c}" for c in site.channels for kind in ("sensor", "maintenance")
    } | {f"calibration-{c}" for c in site.upkeep.calibrate_every_us}
    assert all(alarm == policy.alarm for alarm, policy in site.alarms.items())
    assert {site.alarms[f"sensor-{c}"].severity for c in site.channels} == {Severity.WARNING}
    assert {site.alarms[r.alarm].severity for r in site.rules if not r.advisory} == {Severity.HIGH}
    assert {site.alarms[r.alarm].severity for r in site.rules if "review" in r.id} <= {Severity.NOTICE}
    assert {site.alarms[r.alarm].deadband for r in site.rules if r.laboratory} == {0.0}


def test_instruments_units_become_channel_units() -> None:
    """m3/s becomes gpm, mS/cm becomes uS/cm, bar becomes feet of water and the probe's pH stays as it is."""
    channels = _example("little-valley").channels
    assert channels["flow"].conversion == conversion("m3/s", "gpm")
    assert (channels["conductivity"].source_unit, channels["conductivity"].conversion) == ("mS/cm", Conversion(1000.0))
    assert channels["level"].conversion(1.0) == pytest.approx(100_000 / 9806.65 / 0.3048, rel=1e-14)
    assert channels["ph"].conversion.is_identity


def test_the_derived_flow_site() -> None:
    """Flow comes from the level through a 6-inch flume, in gpm, at the level's pace; 4 to 20 mA is scaled."""
    site = _example("derived-flow")
    flow, level = site.channels["flow"], site.channels["level"]
    assert (flow.derived_from, flow.source_unit, flow.poll_us) == ("level", "gpm", level.poll_us)
    assert flow.primary is not None
    assert (flow.primary.kind, flow.primary.throat_ft) == ("parshall", 0.5)
    assert [level.conversion(ma) for ma in (4.0, 12.0, 20.0)] == pytest.approx([0.0, 0.75, 1.5], abs=1e-12)
    # NAMUR NE 43: a loop below 3.6 or above 21 mA has failed
    assert (level.fail_span.low, level.fail_span.high) == pytest.approx((-0.0375, 1.59375), abs=1e-12)
    assert {"us-ph-low", "lv-ph-low"} <= {r.id for r in site.rules}


def test_what_a_channel_is_given_when_its_file_is_silent(tmp_path: Path) -> None:
    """A poll of 15 s, a hold of 2.5 polls, stale after the hold, and no test that nobody asked for."""
    channel = _load(tmp_path, SITE).channels["cond"]
    assert (channel.poll_us, channel.hold_us, channel.stale_after_us) == (15_000_000, 37_500_000, 37_500_000)
    assert (channel.spike, channel.rate_per_min, channel.flat_after_us, channel.uncertainty) == (None, None, None, None)
    assert channel.suspect_span == Span()
    fast = _load(tmp_path, SITE.replace("[channels.cond]", '[channels.cond]\npoll = "1 s"')).channels["cond"]
    assert fast.hold_us == 2_500_000


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
def test_every_quantity_has_a_default_fail_span_in_its_units(quantity: str) -> None:
    """A channel without a fail span still has one, stated in a unit of its quantity."""
    low, high, unit = DEFAULT_FAIL_SPANS[quantity]
    assert low < high
    assert unit in QUANTITIES[quantity]


SITE = """
[site]
id = "t"
name = "T"
discharger = "D"
time_zone = "UTC"
ordinances = ["little-valley"]
[channels.temperature]
quantity = "temperature"
unit = "degF"
source_unit = "degC"
calibration = { gain = 2.0, offset = "1 degC" }
spike = "5 degC"
rate = "1 degF/s"
[channels.cond]
quantity = "conductivity"
unit = "mS/cm"
[channels.tss]
quantity = "tss"
unit = "g/L"
[alarms.lv-slug-concentration]
on_delay = "1 min"
severity = "critical"
[alarms."lv-slug-concentration.tss"]
severity = "notice"
[alarms.lv-temperature]
deadband = "2 degC"
suppressed_by = ["sensor-temperature"]
"""


def _load(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path, for_replay=True)


def test_calibration_and_differences_follow_the_units(tmp_path: Path) -> None:
    """Calibration acts after the unit; its offset, a spike, a rate and a deadband are differences, without the 32."""
    site = _load(tmp_path, SITE)
    channel = site.channels["temperature"]
    assert channel.conversion(10.0) == pytest.approx((10 * 1.8 + 32) * 2 + 1.8)
    assert (channel.spike, channel.rate_per_min) == (9.0, 60.0)
    assert site.alarms["lv-temperature"].deadband == pytest.approx(3.6)
    assert site.alarms["lv-temperature"].suppressed_by == ("sensor-temperature",)


def test_a_rules_table_speaks_for_its_alarms_and_an_alarms_own_has_the_last_word(tmp_path: Path) -> None:
    """An override by rule reaches every channel's alarm; one by alarm wins over it, whatever their order."""
    alarms = _load(tmp_path, SITE).alarms
    assert alarms["lv-slug-concentration.cond"].severity is Severity.CRITICAL
    assert alarms["lv-slug-concentration.tss"].severity is Severity.NOTICE
    assert {alarms[f"lv-slug-concentration.{c}"].on_delay_us for c in ("cond", "tss")} == {MINUTE_US}


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    """Comments and the order of tables leave the configuration's hash alone; a changed limit or pack does not."""
    plain = _load(tmp_path, SITE).config_hash
    head, _, channels = SITE.partition("[channels.temperature]")
    moved = f"# comment\n[channels.temperature]{channels}\n{head}"
    assert _load(tmp_path, moved).config_hash == plain
    assert _load(tmp_path, SITE.replace("5 degC", "6 degC")).config_hash != plain
    assert _load(tmp_path, SITE.replace('["little-valley"]', '["little-valley", "us-federal"]')).config_hash != plain


def test_load_raises_with_every_mistake(tmp_path: Path) -> None:
    """`load` gives no half-built site: it raises, and the exception carries all mistakes."""
    with pytest.raises(ConfigError) as raised:
        _load(tmp_path, SITE.replace("5 degC", "5 gpm").replace('"UTC"', '"Mars"'))
    assert {p.path for p in raised.value.problems} == {"channels.temperature.spike", "site.time_zone"}


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    """An absent file and a file that is no text are configuration mistakes with the file's name."""
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.load(tmp_path / "latin.toml")


@pytest.mark.parametrize("name", names("examples"))
def test_the_schema_takes_the_examples(name: str) -> None:
    """The JSON Schema that editors use accepts every example as it is written."""
    out = io.StringIO()
    assert run_schema(out) == 0
    schema = json.loads(out.getvalue())
    jsonschema.Draft202012Validator.check_schema(schema)
    content = tomllib.loads(shipped("examples", name).read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(content, default=str)), schema)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('poll = "15 s"', "poll = 15"),
        ('poll = "15 s"', 'pol = "15 s"'),
        ('mode = "declared"', 'mode = "guessed"'),
        ("unit = 2", 'unit = "2"'),
        ('fail_span = ["0 pH", "14 pH"]', 'fail_span = ["0 pH"]'),
    ],
)
def test_the_schema_refuses_what_load_refuses(before: str, after: str) -> None:
    """A shape that `load` would not take is underlined in the editor already."""
    text = shipped("examples", "little-valley").read_text(encoding="utf-8")
    assert before in text
    content = json.loads(json.dumps(tomllib.loads(text.replace(before, after, 1)), default=str))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, config.json_schema())


def test_check_shows_the_wire_address_of_every_read() -> None:
    """The manual's register 2092 is 2091 on the wire and 4:03003 is 3002, with function and words."""
    reads = wire_reads(config.read(shipped("examples", "little-valley")))
    values = {
        r.channel: (r.bus, r.unit, r.function, r.address, r.words, r.doc_register) for r in reads if r.what == "value"
    }
    assert values["ph"] == ("rs485", 1, 3, 2091, 2, "2092")
    assert values["flow"] == ("rs485", 2, 3, 3002, 2, "4:03003")
    assert values["level"] == ("rs485", 3, 3, 2, 2, "0x0002")
    assert values["conductivity"][:5] == ("cabinet", 1, 3, 0, 2)
    assert values["tss"][:5] == ("cabinet", 1, 3, 4, 2)


def test_check_of_a_sound_site() -> None:
    """A sound site exits 0 and shows reads, rules with baselines, idle rules, packs and what the law leaves open."""
    out = io.StringIO()
    assert run_check(shipped("examples", "little-valley"), as_json=False, out=out) == 0
    text = out.getvalue()
    for line in (
        "> 5 x baseline of 10 gpm, longer than 15 min",
        "> 5 x baseline (none in force), longer than 15 min",
        "lv-influent-temperature judges nothing here: no channel measures temperature at the influent",
        "little-valley  version 2  no date given",
        "lv-tox-copper-24h",
        "> 1.6 mg/L, average of a day",
        "approved by nobody yet",
        "What the law leaves open",
        "holding 2091",
    ):
        assert line in text


def test_check_as_json() -> None:
    """With --json one object says the same, with every note on the law and every reading of it."""
    out = io.StringIO()
    assert run_check(shipped("examples", "marlborough"), as_json=True, out=out) == 0
    told = json.loads(out.getvalue())
    assert (told["ok"], told["errors"], told["site"]) == (True, [], "mb-mh12")
    assert {"rule", "alarm", "clause", "channel", "test", "notes", "terms"} == set(told["rules"][0])
    assert "mb-tox-fluoride-saline-30d" in {r["rule"] for r in told["rules"]}
    assert {p["id"]: (p["version"], p["effective"]) for p in told["packs"]} == {"marlborough": ("2", None)}
    assert any("mb-fog" in note["rules"] for note in told["law_notes"])
    readings = {r["rule"]: (r["approved_by"], r["approved_on"]) for r in told["readings_chosen"]}
    assert readings["mb-ph-low"] == (None, None)
    assert told["unbound"]["mb-slug-bod"] == "no channel measures bod"


def test_check_of_a_broken_site(tmp_path: Path) -> None:
    """A broken site exits 78 and prints each mistake with file and line, also as JSON."""
    path = tmp_path / "site.toml"
    path.write_text(SITE.replace("5 degC", "5 gpm"), encoding="utf-8")
    out = io.StringIO()
    assert run_check(path, as_json=False, out=out) == 78
    assert f"{path}:13: channels.temperature.spike: " in out.getvalue()
    out = io.StringIO()
    assert run_check(path, as_json=True, out=out) == 78
    told = json.loads(out.getvalue())
    assert not told["ok"]
    assert [e["path"] for e in told["errors"]] == ["channels.temperature.spike"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 pH/min", (0.5, "pH")),
        ("1 gpm/s", (60.0, "gpm")),
        ("60 ft/h", (1.0, "ft")),
        ("5 L/min/min", (5.0, "L/min")),
    ],
)
def test_rates_are_per_minute(text: str, expected: tuple[float, str]) -> None:
    """A rate of change is written per second, minute or hour and kept per minute."""
    assert parse_rate(text) == pytest.approx(expected)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from(["pH", "gpm", "degC"]))
def test_spans_round_trip(low: float, high: float, unit: str) -> None:
    """A span survives being written, as a list and as a table, with one side open or none."""
    first, second = f"{low!r} {unit}", f"{high!r} {unit}"
    assert parse_span([first, second]) == ((low, unit), (high, unit))
    assert parse_span({"low": first, "high": second}) == ((low, unit), (high, unit))
    assert parse_span({"high": second}) == (None, (high, unit))


def test_a_profile_of_ones_own_is_found_from_any_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`profile = "mine.toml"` means the file beside the site file, for `check` and for the bus that polls with it."""
    mine = shipped("devices", "hamilton-ph-arc").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(mine, encoding="utf-8")
    site = tmp_path / "site.toml"
    site.write_text(
        '[site]\nid = "x"\nname = "x"\ndischarger = "x"\ntime_zone = "UTC"\nordinances = ["little-valley"]\n'
        '[buses.tcp]\nkind = "modbus-tcp"\nhost = "127.0.0.1"\n'
        '[devices.probe]\nbus = "tcp"\nunit = 1\nprofile = "mine.toml"\n'
        '[channels.ph]\nquantity = "pH"\ndevice = "probe"\npoint = "pH"\npoll = "15 s"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path.parent)
    device = config.load(site).devices["probe"]
    assert "pH" in profiles.load(device.profile, device.overrides).points


@pytest.mark.parametrize(
    "read",
    [read_toml, lambda path: profiles.parse(path.read_text(encoding="utf-8"), path.name)],
    ids=["site file", "device profile"],
)
def test_a_file_nested_without_end_is_a_mistake(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Brackets by the hundred thousand are a mistake in a file, not a traceback."""
    path = tmp_path / "nested.toml"
    path.write_text("a = " + "[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="nested too deeply"):
        read(path)


def test_the_characters_of_each_kind_of_bus(tmp_path: Path) -> None:
    """Modbus ASCII has 7E1 unless stated (Modbus over serial line V1.02, 2.5.2), RTU eight bits without parity."""
    site = tmp_path / "site.toml"
    site.write_text(
        '[site]\nid = "x"\nname = "x"\ndischarger = "x"\ntime_zone = "UTC"\nordinances = []\n'
        '[buses.a]\nkind = "modbus-ascii"\nport = "/dev/a"\n'
        '[buses.b]\nkind = "modbus-ascii"\nport = "/dev/b"\ndata_bits = 8\nparity = "N"\n'
        '[buses.c]\nkind = "modbus-rtu"\nport = "/dev/c"\n'
        '[buses.d]\nkind = "modbus-rtu-over-tcp"\nhost = "192.0.2.1"\nclose_when_idle = "2 s"\n'
    )
    buses = config.load(site).buses.values()
    assert [(b.data_bits, b.parity, b.stop_bits) for b in buses][:3] == [(7, "E", 1), (8, "N", 1), (8, "N", 1)]
    assert [b.close_when_idle_us for b in buses] == [None, None, None, 2_000_000]


def test_a_contact_and_the_roster_are_as_the_file_says(tmp_path: Path) -> None:
    """Every key of a person lands where it belongs; a role in the roster stands for everybody who has it."""
    path = tmp_path / "site.toml"
    path.write_text(
        '[site]\nid = "x"\nname = "x"\ndischarger = "x"\ntime_zone = "UTC"\nordinances = []\n'
        '[contacts.ann]\nname = "Ann"\nphone = "+15185550123"\nemail = "ann@example.org"\npin_file = "/etc/pin"\n'
        'notify = ["bench"]\nfrom_severity = "high"\nrole = "operator"\n'
        '[contacts.bob]\nname = "Bob"\nnotify = ["bench"]\nrole = "operator"\n[notify.bench]\n'
        '[duty]\nrepeat = "20 min"\nreminder = "0 s"\nfrom_severity = "critical"\n'
        '[[duty.steps]]\nafter = "0 min"\ntell = ["ann"]\n[[duty.steps]]\nafter = "15 min"\ntell = ["operator"]\n',
        encoding="utf-8",
    )
    site = config.load(path)
    assert site.contacts[0] == Contact(
        id="ann", name="Ann", notifiers=("bench",), phone="+15185550123", from_severity=Severity.HIGH,
        email="ann@example.org", role="operator", pin="/etc/pin",
    )  # fmt: skip
    steps = (DutyStep(0, ("ann",)), DutyStep(15 * MINUTE_US, ("ann", "bob")))
    assert site.duty == Duty(steps, repeat_us=20 * MINUTE_US, reminder_us=None, from_severity=Severity.CRITICAL)
