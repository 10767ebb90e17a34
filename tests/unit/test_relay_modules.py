"""Relay modules: what their profiles let be written and read, typed anew from the documents; a watchdog armed."""

from pathlib import Path

import pytest

from gateway.drivers.profiles import load
from gateway.drivers.quirks import Watchdog
from gateway.errors import ConfigError
from tests.support.register_list import NOT_LISTED


@pytest.mark.parametrize(
    ("name", "inputs", "relays", "watchdog"),
    [
        # Maker's wiki: relays 0x0000 to 0x0007 by 01/05/0F, inputs 0x0000 to 0x0007 by 02.
        ("waveshare-relay-d8", {f"DI{n}": (2, n - 1) for n in range(1, 9)}, range(8), None),
        # Bridge's description: readCoils and write of 0x00 to 0x07; no inputs.
        ("wellpro-wp8025adam", {}, range(8), None),
        # Maker's manual: the example of 6.2.8 writes ten coils from 0x1000; 6.3.2: 0x1020 counts in 100 ms.
        ("crevis-na-9189", {}, range(0x1000, 0x100A), Watchdog(0x1020, 100_000)),
    ],
)
def test_what_may_be_written_and_read(
    name: str, inputs: dict[str, tuple[int, int]], relays: range, watchdog: Watchdog | None
) -> None:
    """The outputs are the only coils that may be written, no register is; inputs and watchdog are where they are."""
    profile = load(name)
    assert profile.quirks.writable_coils == frozenset(relays)
    assert profile.quirks.writable == frozenset()
    points = {n: (p.function, p.address) for n, p in profile.points.items()}
    assert {n: place for n, place in points.items() if n.startswith("DI")} == inputs
    assert {place for n, place in points.items() if not n.startswith("DI")} == {(1, coil) for coil in relays}
    assert profile.quirks.watchdog == watchdog


def test_every_module_here_is_one_of_these() -> None:
    """A profile that the register list does not have is compared here."""
    assert frozenset({"crevis-na-9189", "waveshare-relay-d8", "wellpro-wp8025adam"}) == NOT_LISTED


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('writable_coils = ["0-"]', "wire addresses or runs"),
        ("writable_coils = [70000]", "must be 0 to 65535"),
        ("writable_coils = [true]", "wire addresses or runs"),
        ('[watchdog]\naddress = 4128\nunit = "0 s"', "must be above zero"),
        ('[watchdog]\nunit = "100 ms"', "is missing"),
    ],
)
def test_a_mistake_in_a_profile_is_named(tmp_path: Path, lines: str, said: str) -> None:
    """Coils and watchdogs that cannot be are told with what they must be."""
    path = tmp_path / "mine.toml"
    head = 'id = "mine"\nmodel = "Mine"\nsource = "made up"\n'
    tail = '\n[points.DI1]\nfunction = 2\naddress = 0\nunit = "state"\n'
    path.write_text(head + lines + tail, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        load(str(path))


def test_a_watchdog_counts_in_its_own_unit() -> None:
    """CREVIS NA-9189 manual, 6.3.2: register 0x1020 counts in 100 ms, so 10 s are 100; never less than asked for."""
    watchdog = Watchdog(0x1020, 100_000)
    assert [watchdog.value(us) for us in (10_000_000, 10_000_001, 1)] == [100, 101, 1]
    for us in (0, 6_553_600_000):
        with pytest.raises(ValueError, match="from 1 to 65535"):
            watchdog.value(us)
