"""Every shipped device profile, in every variant, against the register list beside it: none invented, none lost."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gateway import config
from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.plan import ReadPlan
from gateway.drivers.profile import Point, Profile, Register
from gateway.drivers.profiles import load, variants_of
from gateway.drivers.quirks import refused_on
from gateway.drivers.texts import TIME_TYPES
from gateway.errors import ConfigError
from gateway.shipped import names
from gateway.site import Bus, Device
from tests.support.register_list import HERE, NOT_LISTED, Listed, every_variant, listed, listed_devices, loaded
from tests.support.scripted_devices import channel

pytestmark = pytest.mark.skipif(not HERE, reason="../shared/registers.json is not here")

TIERS = {
    "A": {
        "eh-liquiline-cm44x", "hamilton-ph-arc", "ysi-exo-599825", "ysi-iq-sensornet", "yosemitech-y4000",
        "yosemitech-y5xx", "aqualabo-ponsel-digisens", "seeed-s-ph-01", "insitu-aqua-troll-400", "keller-series30",
        "tuf-2000m", "siemens-mag6000", "waveshare-ai8",
    },
    "B": {
        "hach-sc-sensors", "isco-2150", "eh-proline-promag", "krohne-ifc300", "trios-tph", "dynasonics-tfx-ultra",
        "nivus-pcm-ocm-nivusonic", "eh-liquistation-csf22", "ads-triton-plus", "wellpro-wp3084adam",
    },
    "C": {"yokogawa-flxa402", "msa-ultima-x", "hach-sc4500", "hycontrol-microflex"},
}  # fmt: skip

# Registers that no profile reads, with the reason; the names are of the list, # is a place in a range.
LEFT_OUT: dict[str, dict[str, str]] = {
    "eh-proline-promag": {
        r"scan_.*": "set up by the technician, if at all: no fixed meaning",
    },
    "hamilton-ph-arc": {r".*\.(min|max)": "read with the block; ends of the measuring range, for nobody to judge by"},
    "insitu-aqua-troll-400": {r".*\.sentinel": "the quality id says the same"},
    "ysi-exo-599825": {r"force_.*": "commands"},
    "ysi-iq-sensornet": {},
    "keller-series30": {
        r"P1\+TOB1": "the values at 0x0002 and 0x0008 again",
        "firmware": "four bytes of meaning, for nobody to judge by",
    },
    "siemens-mag6000": {r"totalizer._f32": "the doubles are read: a single loses resolution above 16.7 million"},
    "krohne-ifc300": {r"status_.*": "bit tables not seen"},
    "isco-2150": {
        r"site\..*": "of the stack, at another unit address",
        "active_flags1": "not judged",
        r".*\.time": "the other times of measurement",
        "take_reading": "written by the trigger",
    },
    "aqualabo-ponsel-digisens": {
        "trigger": "written", "status_T": "codes not seen", "param4": "empty on these sensors",
    },
    "seeed-s-ph-01": {r"cal_.*": "calibrates when written: not even read"},
    "tuf-2000m": {
        r"(energy|pos_energy|neg_energy|net_energy).*": "of a heat meter",
        "PT100_inlet|output_current|language|reynolds": "of no use here",
    },
    "dynasonics-tfx-ultra": {
        r"flow_rate.*": "in a unit per time that no register tells; the fixed-unit duplicates are read",
    },
    "hach-sc-sensors": {r"sc100\.data_order": "at the controller's own unit address"},
    "yokogawa-flxa402": {r"AO_.*|wash_hold": "of the global block, whose base is not known either"},
}  # fmt: skip

# Where a profile says otherwise than the list on purpose.
UNITS = {
    ("krohne-ifc300", "conductivity"): "S/m on the wire, mS/cm by scale 10",
    ("ads-triton-plus", "FLOW_TOTAL"): "thousands of gallons on the wire",
    ("aqualabo-ponsel-digisens", "salinity"): "parts per thousand, counted as g/L",
}
# Unit registers that the list names only in the unit of the value.
TOLD_WITH_THE_UNIT = {
    ("yokogawa-flxa402", "", 12), ("hach-sc-sensors", "SS7", 15), ("hach-sc-sensors", "UVAS", 2),
    ("hach-sc-sensors", "3400", 12), ("hach-sc-sensors", "3400", 16),
}  # fmt: skip
SCALES = {("krohne-ifc300", "conductivity"): 10.0, ("ads-triton-plus", "FLOW_TOTAL"): 1000.0}


def entries_of(name: str, variant: str) -> list[Listed]:
    """The registers of the list that stand at the unit address of the variant."""
    entries = listed(listed_devices()[name])
    if name in {"hach-sc-sensors", "ads-triton-plus"}:
        return [entry for entry in entries if entry.name.startswith(f"{variant}.")]
    return [entry for entry in entries if not entry.name.startswith("site.")]


def registers_of(profile: Profile) -> list[tuple[str, Register, Point]]:
    """Every register of every point: what it is for, itself, the point."""
    return [(what, register, point) for point in profile.points.values() for what, register in point.parts()]


def entry_at(entries: list[Listed], function: int, address: int, words: int) -> Listed | None:
    """The register of the list that holds these."""
    holding = [
        e
        for e in entries
        if function in e.functions and e.address <= address and address + words <= e.address + e.words
    ]
    return min(holding, key=lambda e: (e.address != address, e.words), default=None)


def fits(ours: str, listed_type: str) -> bool:
    """Whether our type reads a register of this kind."""
    if listed_type.startswith("block6"):
        return ours in {"f32", "u32_bitflag_unit"}
    if listed_type.startswith("time6"):
        return ours == "time6"
    if listed_type.startswith(("string", "char")):
        return ours == "ascii"
    if listed_type.startswith("u8_"):
        return ours in {"u8", "u8_hi", "u8_lo"}
    special = {
        "u16_bits": {"bits", "u8"}, "i16_span": {"i16"}, "u64_epoch_s": {"epoch_u64"}, "u16": {"u16", "bits"},
        "class:group,year:week bytes": {"u8_hi", "u8_lo"},
    }  # fmt: skip
    return ours in special.get(listed_type, {listed_type})


@pytest.mark.parametrize(("name", "variant"), [(n, v) for n, v in every_variant() if n != "hycontrol-microflex"])
def test_every_register_of_a_profile_is_in_the_list(name: str, variant: str) -> None:
    """Function, wire address, type, byte order, scale, unit and how far it was verified are those of the list."""
    entries = entries_of(name, variant)
    for what, register, point in registers_of(loaded(name, variant)):
        entry = entry_at(entries, register.function, register.address, register.span.count)
        where = f"{point.name} {what} {register}"
        if entry is None and name == "ysi-iq-sensornet":
            continue  # the list has the first sensor; the others stand eight registers further on each
        if entry is None and (name, variant, register.address) in TOLD_WITH_THE_UNIT:
            continue
        assert entry is not None, where
        assert fits(register.type, entry.type), where
        assert register.order == (entry.order or register.order) or register.span.count == 1, where
        if what == "value" and entry.address == register.address:
            assert point.scale == SCALES.get(
                (name, point.name), entry.scale if entry.scale is not None else point.scale
            )
            told = point.unit_register is not None or point.listing is not None
            if entry.unit and point.unit and not told and (name, point.name) not in UNITS:
                assert point.unit in re.split(r"[ |]+|(?<=FNU)/", entry.unit), where
            assert entry.verified or not point.verified, where


@pytest.mark.parametrize("name", sorted(set(names("devices")) - NOT_LISTED - {"hycontrol-microflex"}))
def test_every_register_of_the_list_is_read_or_left_out_for_a_reason(name: str) -> None:
    """What the list knows of a device is a point, a part of one, a fact, or named here with why it is not."""
    touched: set[tuple[int, int]] = set()
    for profile in (loaded(name, variant) for variant in variants_of(name) or ("",)):
        touched |= {key for _, register, _ in registers_of(profile) for key in register.keys}
        spans = [fact.span for fact in profile.facts.values()]
        touched |= {(span.function, address) for span in spans for address in range(span.start, span.end)}
    reasons = LEFT_OUT.get(name, {})
    for entry in listed(listed_devices()[name]):
        if any(re.fullmatch(pattern, entry.name) for pattern in reasons):
            continue
        keys = {(function, entry.address) for function in entry.functions}
        assert keys & touched, f"{entry.name} at {entry.address} is not read"


@pytest.mark.parametrize(("name", "variant"), list(every_variant()))
def test_every_fact_of_a_profile_is_in_the_list(name: str, variant: str) -> None:
    """What a device says of itself stands where the list says, and takes as many registers."""
    entries = entries_of(name, variant)
    for fact in loaded(name, variant).facts.values():
        entry = entry_at(entries, fact.span.function, fact.span.start, 1)
        assert entry is not None, fact.name
        assert fits(fact.type, entry.type) or fact.type in TIME_TYPES, fact.name
        if fact.type.startswith("u8_"):
            continue  # a byte of what the list gives as a whole
        assert fact.span.count in {entry.words, 5}, fact.name  # the pH sensor's serial number is cut at the next field
        assert entry.verified or not fact.verified, fact.name


def test_every_device_of_the_list_has_a_profile_of_its_tier() -> None:
    """All 27 are there; those that only make a template are disabled, and nothing else is."""
    tiers = {name: tier for tier, members in TIERS.items() for name in members}
    assert set(tiers) == set(listed_devices()) == set(names("devices")) - NOT_LISTED
    for name, variant in every_variant():
        profile = loaded(name, variant)
        assert profile.tier == tiers[name], name
        assert bool(profile.confirm) == (profile.tier != "A"), name


@pytest.mark.parametrize("name", sorted(TIERS["C"]))
def test_a_template_must_be_confirmed(name: str) -> None:
    """A profile whose facts are open is refused with what is open, until the site file says it was settled."""
    with pytest.raises(ConfigError, match=r"enabled: this profile is a template: .*say confirmed = true"):
        load(name)
    assert loaded(name).points


@pytest.mark.parametrize(("name", "variant"), list(every_variant()))
def test_every_shipped_profile_can_be_planned_and_says_where_its_facts_come_from(name: str, variant: str) -> None:
    """Source, confidence, and requests within the device's limits for all of its points at once."""
    profile = loaded(name, variant)
    assert profile.id == name
    assert profile.source
    assert profile.confidence
    plan = ReadPlan.of(profile.points.values(), profile.limits)
    assert all(read.count <= profile.limits.max_registers for read in plan.reads)


def test_serial_defaults_are_marked_by_whether_a_document_gives_them() -> None:
    """A default is verified exactly where the list says so; the others are for the technician to find out."""
    for name, device in listed_devices().items():
        rtu = device["transport"].get("rtu", {})
        transport = loaded(name, next(iter(variants_of(name)), "")).transport
        assert transport.verified == (rtu.get("default_verified") is True), name
        if transport.baud is not None:
            assert str(transport.baud) == str(rtu["baud"]), name


def test_nothing_but_triggers_may_be_written() -> None:
    """The only writable addresses of all profiles are those two documents give for starting a measurement."""
    writable = {name: sorted(loaded(name, v).quirks.writable) for name, v in every_variant()}
    assert {name: places for name, places in writable.items() if places} == {
        "aqualabo-ponsel-digisens": [1],
        "isco-2150": [24],
    }


def test_a_bus_refuses_what_its_line_cannot_speak() -> None:
    """An ASCII instrument on an RTU line is refused before the port is opened, whoever built the bus."""
    channels = [replace(channel("av", 0, 15_000_000), point="level")]
    bus = PollBus(
        Bus("b", "modbus-rtu", port="/nowhere"),
        [Device("av", "b", 2, "isco-2150")],
        channels,
        SystemClock(),
        lambda _s, _n: None,
    )
    with pytest.raises(ConfigError, match=r"devices\.av\.profile: this instrument speaks Modbus ASCII"):
        asyncio.run(bus.read_once())


@pytest.mark.parametrize(
    ("kind", "framings", "refused"),
    [
        ("modbus-rtu", ("rtu",), False),
        ("modbus-rtu", ("ascii",), True),
        ("modbus-rtu", ("tcp",), True),
        ("modbus-rtu", ("ascii", "rtu"), False),
        ("modbus-ascii", ("ascii",), False),
        ("modbus-ascii", ("rtu",), True),
        ("modbus-tcp", ("ascii",), False),
        ("replay", ("ascii",), False),
    ],
)
def test_who_can_be_spoken_to_where(kind: str, framings: tuple[str, ...], refused: bool) -> None:
    """A serial line speaks one framing; behind TCP the converter speaks it."""
    assert bool(refused_on(kind, framings)) == refused


def test_an_instrument_that_takes_long_is_given_its_time(tmp_path: Path) -> None:
    """The profile's timeout holds unless the site gives its own; others have the usual one."""
    site = tmp_path / "site.toml"
    site.write_text(
        '[site]\nid = "x"\nname = "x"\ndischarger = "x"\ntime_zone = "UTC"\nordinances = []\n'
        '[buses.b]\nkind = "modbus-tcp"\nhost = "127.0.0.1"\n'
        '[devices.a]\nbus = "b"\nunit = 1\nprofile = "insitu-aqua-troll-400"\n'
        '[devices.b]\nbus = "b"\nunit = 2\nprofile = "insitu-aqua-troll-400"\ntimeout = "2 s"\n'
        '[devices.c]\nbus = "b"\nunit = 3\nprofile = "tuf-2000m"\n'
    )
    assert [device.timeout_us for device in config.load(site).devices.values()] == [5_000_000, 2_000_000, 500_000]
