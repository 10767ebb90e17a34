"""Contacts, outputs and the sampler of a site file: every mistake with its place, and what `check` warns of."""

import io
import json
from pathlib import Path

import pytest

from gateway.check import run_check
from gateway.config import Loaded, read
from gateway.model import Severity
from gateway.outputs.wired import ContactRole, OutputRole
from gateway.shipped import shipped

PROFILE = """
id = "relays"
model = "A relay module with a watchdog"
source = "made up for the tests"
writable = [32]
writable_coils = ["0-3", 7]
[watchdog]
address = 4128
unit = "100 ms"
[points.DI1]
function = 4
address = 0
type = "u16"
unit = "state"
[points.flow]
function = 4
address = 1
type = "u16"
unit = "gpm"
"""

SITE = """
[site]
id = "wired"
name = "Manhole"
discharger = "Dairy"
time_zone = "UTC"
ordinances = ["little-valley"]
[buses.tcp]
kind = "modbus-tcp"
host = "127.0.0.1"
[devices.relays]
bus = "tcp"
unit = 1
profile = "./relays.toml"
watchdog = "10 s"
[channels.door]
quantity = "contact"
device = "relays"
point = "DI1"
contact = "door"
poll = "1 s"
[channels.flow]
quantity = "flow"
unit = "gpm"
device = "relays"
point = "flow"
[baselines.flow]
mode = "declared"
value = "10 gpm"
approved_by = "Super"
approved_on = 2015-01-01
[contacts.superintendent]
name = "Super"
notify = ["bench"]
[notify.bench]
[outputs.horn]
device = "relays"
role = "horn"
coil = 0
[outputs.valve]
device = "relays"
role = "valve"
coil = 1
shuts_on = ["lv-slug-flow"]
approved_by = "Super"
approved_on = 2015-01-01
[outputs.pace]
device = "relays"
role = "sampler-pace"
coil = 2
pulse = "500 ms"
[outputs.grab]
device = "relays"
role = "sampler-grab"
coil = 3
[sampler.composite]
output = "pace"
flow = "flow"
volume = "100 gal"
pulses_per_aliquot = 100
cycle = "100 s"
aliquot = "100 mL"
bottle = "9400 mL"
needed = "3000 mL"
duration = "8 h"
expected = ["500000 gal", "666667 gal"]
[sampler.grab]
output = "grab"
bottles = 12
follow_ups = ["5 min", "15 min", "30 min"]
hold_times = { pH = "15 min" }
"""


def loaded(folder: Path, *changes: tuple[str, str]) -> Loaded:
    """The site with pieces of its text changed."""
    text = SITE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "relays.toml").write_text(PROFILE, encoding="utf-8")
    (folder / "site.toml").write_text(text, encoding="utf-8")
    return read(folder / "site.toml")


def test_a_wired_site(tmp_path: Path) -> None:
    """A sound site: contacts by channel, outputs with their defaults, the sampler in gallons and mL."""
    found = loaded(tmp_path)
    assert found.errors == ()
    site = found.site
    assert site is not None
    assert (site.inputs["door"].role, site.inputs["door"].normal) == (ContactRole.DOOR, True)
    assert (site.outputs["horn"].role, site.outputs["horn"].safe) == (OutputRole.HORN, "off")
    assert (site.outputs["valve"].safe, site.outputs["valve"].shuts_on) == ("hold", ("lv-slug-flow",))
    plan, grab = site.sampler.composite, site.sampler.grab
    assert plan is not None
    assert grab is not None
    assert (plan.volume_gal, plan.aliquot_ml, plan.bottle_ml, plan.most_aliquots) == (100.0, 100.0, 9400.0, 94)
    assert plan.spacing_us == 1_000_000  # 100 s over 100 pulses; twice the pulse is no longer
    assert "lv-slug-flow" in grab.rules
    assert site.alarms["intrusion-door"].severity is Severity.HIGH
    assert {"output-horn", "output-valve", "sampler-grab", "sampler-composite"} <= set(site.alarms)
    assert site.devices["relays"].watchdog_us == 10_000_000


TWIN = """[devices.twin]
bus = "tcp"
unit = 1
profile = "./relays.toml"
[outputs.beacon]
device = "twin"
role = "beacon"
coil = 0
[devices.relays]"""

# What is changed, where the mistake is, and what is said of it.
MISTAKES = [
    (("coil = 0", "coil = 5"), "outputs.horn.coil", "not among the addresses", "an address nobody vouches for"),
    (("coil = 0", "register = 5"), "outputs.horn.register", "not among the addresses", "a register likewise"),
    (("coil = 0", "coil = 1"), "outputs.valve", "writes what output 'horn' writes", "two outputs on one coil"),
    (("[devices.relays]", TWIN),
     "outputs.horn", "writes what output 'beacon' writes", "the same coil as another device of the file"),
    (("coil = 0", "coil = 0\nregister = 32"), "outputs.horn.coil", "not both", "a coil and a register"),
    (("coil = 0", "coil = 0\non = 0\noff = 0"), "outputs.horn.on", "must differ", "on that is off"),
    (('pulse = "500 ms"', 'pulse = "2 min"'), "outputs.pace.pulse", "at most a minute", "a pulse that is none"),
    (('pulse = "500 ms"', 'safe = "on"'), "outputs.pace.safe", "rests at off", "a sampler held on"),
    (("coil = 0", 'coil = 0\nshuts_on = ["lv-slug-flow"]'), "outputs.horn.shuts_on", "for a valve", "a horn"),
    (('shuts_on = ["lv-slug-flow"]', 'shuts_on = ["lv-slug"]'), "outputs.valve.shuts_on", "no rule", "no such rule"),
    (('coil = 1\nshuts_on = ["lv-slug-flow"]\napproved_by = "Super"\n', 'coil = 1\nshuts_on = ["lv-slug-flow"]\n'),
     "outputs.valve.approved_by", "who signed", "nobody signed for the valve"),
    (('watchdog = "10 s"', 'watchdog = "3 h"'), "devices.relays.watchdog", "from 1 to 65535", "more than it can count"),
    (('contact = "door"', ""), "channels.door.contact", "is required", "a contact that means nothing"),
    (('point = "flow"', 'point = "flow"\ncontact = "lid"'), "channels.flow.contact", "quantity contact", "a flow"),
    (('output = "pace"', 'output = "horn"'), "sampler.composite.output", "sampler-pace", "a horn takes no sample"),
    (('volume = "100 gal"', 'volume = "100 gal"\nevery = "5 min"'), "sampler.composite.volume", "or a time", "two"),
    (('flow = "flow"', ""), "sampler.composite.flow", "is required", "paced by what flow"),
    (('bottle = "9400 mL"', 'bottle = "50 mL"'), "sampler.composite.bottle", "one aliquot", "a thimble"),
    (("bottles = 12", 'bottles = 12\nrules = ["lv-tss"]'), "sampler.grab.rules", "no rule", "a rule not there"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "path", "said", "what"), MISTAKES)
def test_each_mistake(tmp_path: Path, change: tuple[str, str], path: str, said: str, what: str) -> None:
    """Each mistake is told at its own key, in words that say what to do."""
    errors = loaded(tmp_path, change).errors
    assert any(e.path == path and said in e.text and e.line for e in errors), (what, errors)


WARNINGS = [
    (("pulses_per_aliquot = 100", "pulses_per_aliquot = 60"), "overfills the bottle", "below the lower bound"),
    (("pulses_per_aliquot = 100", "pulses_per_aliquot = 200"), "too little for the laboratory", "too much water"),
    (('bottle = "9400 mL"', 'bottle = "3500 mL"'), "no volume suits", "a bottle too small for the spread"),
    (('cycle = "100 s"', 'cycle = "600 s"'), "a pulse every 4.3 s", "28,800 s for 6,667 pulses, 6 s each"),
    (('watchdog = "10 s"\n', ""), "when the gateway dies", "no watchdog is armed"),
    (('output = "grab"\nbottles = 12', 'output = "grab"\nbottles = 1'), "", "nothing: a sound choice"),
    (('coil = 1\nshuts_on', 'coil = 1\nsafe = "off"\nshuts_on'), "opens the valve", "a valve that opens at the start"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said", "what"), WARNINGS)
def test_each_warning(tmp_path: Path, change: tuple[str, str], said: str, what: str) -> None:
    """What is sound but odd is told: bottles against the flow, speed against the sampler, states nobody ends."""
    before = {w.text for w in loaded(tmp_path).warnings}
    found = loaded(tmp_path, change)
    assert found.errors == ()
    new = {w.text for w in found.warnings} - before
    assert any(said in text for text in new) if said else not new, (what, new)


def test_an_address_the_site_vouches_for(tmp_path: Path) -> None:
    """An address the profile does not list may be written when the site file says by which document."""
    found = loaded(tmp_path, ("coil = 0", 'coil = 5\nallowed_by = "maker\'s manual, page 12"'))
    assert found.errors == ()


def test_a_watchdog_that_the_device_has_not(tmp_path: Path) -> None:
    """No watchdog is armed that the profile does not know."""
    (tmp_path / "relays.toml").write_text("", encoding="utf-8")
    text = SITE.replace('profile = "./relays.toml"', 'profile = "waveshare-ai8"')
    (tmp_path / "site.toml").write_text(text, encoding="utf-8")
    errors = read(tmp_path / "site.toml").errors
    assert any(e.path == "devices.relays.watchdog" for e in errors)


def test_check_lists_every_write(tmp_path: Path) -> None:
    """`check` shows each place that may be written, what it does there, and contacts among what is read."""
    out = io.StringIO()
    assert run_check(Path(str(shipped("examples", "sampler"))), as_json=False, out=out) == 0
    rows = [line.split() for line in out.getvalue().splitlines()]
    assert ["horn", "rs485", "unit", "3", "coil", "0", "safe:", "off"] in [row[:8] for row in rows]
    assert ["door", "value", "rs485", "unit", "3", "contact", "0", "1", "bit"] in [row[:9] for row in rows]
    data = io.StringIO()
    loaded(tmp_path)
    assert run_check(tmp_path / "site.toml", as_json=True, out=data) == 0
    (valve,) = [one for one in json.loads(data.getvalue())["writes"] if one["output"] == "valve"]
    assert (valve["kind"], valve["address"], valve["safe"]) == ("coil", 1, "hold")
    assert valve["acts"] == "shuts on lv-slug-flow: signed by Super on 2015-01-01"
