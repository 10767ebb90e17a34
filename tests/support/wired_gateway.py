"""A whole gateway on a relay module and a flow meter that are really on a line, with its site file."""

from pathlib import Path

from simulators.instruments import Mag6000
from simulators.relays import RelayModule

__all__ = ["M3S_PER_GPM", "PACE", "SITE", "site_file"]

M3S_PER_GPM = 0.003785411784 / 60
HORN, VALVE, PACE, GRAB = range(4)

SITE = """
[site]
id = "wired"
name = "Manhole"
discharger = "Dairy"
time_zone = "UTC"
ordinances = ["little-valley"]
{buses}
[devices.meter]
bus = "{meter_bus}"
unit = 1
profile = "siemens-mag6000"
[devices.relays]
bus = "{relay_bus}"
unit = 2
profile = "waveshare-relay-d8"
timeout = "200 ms"
[channels.flow]
quantity = "flow"
unit = "gpm"
device = "meter"
point = "volume_flow"
poll = "{poll}"
hold = "200 s"
[channels.float]
quantity = "contact"
device = "relays"
point = "DI1"
contact = "float"
poll = "{poll}"
debounce = "0 s"
[baselines.flow]
mode = "declared"
value = "10 gpm"
approved_by = "Test"
approved_on = 2015-01-01
[contacts.superintendent]
name = "Super"
notify = ["bench"]
[notify.bench]
[outputs.horn]
device = "relays"
role = "horn"
coil = 0
expires = "{expires}"
[outputs.valve]
device = "relays"
role = "valve"
coil = 1
safe = "off"
shuts_on = ["lv-slug-flow"]
approved_by = "Test"
approved_on = 2015-01-01
[outputs.pace]
device = "relays"
role = "sampler-pace"
coil = 2
pulse = "{pulse}"
expires = "{expires}"
[outputs.grab]
device = "relays"
role = "sampler-grab"
coil = 3
pulse = "{pulse}"
expires = "{expires}"
[sampler.composite]
output = "pace"
flow = "flow"
volume = "10 gal"
cycle = "20 s"
aliquot = "10 mL"
bottle = "10000 mL"
duration = "24 h"
[sampler.grab]
output = "grab"
bottles = 12
follow_ups = ["5 min"]
hold_times = {{ pH = "15 min" }}
"""

TCP = '[buses.tcp]\nkind = "modbus-tcp"\nhost = "127.0.0.1"\ntcp_port = {port}\n'
SERIAL = '[buses.rs485]\nkind = "modbus-rtu"\nport = "{port}"\nbaud = 115200\n'


def site_file(folder: Path, buses: str, meter: str, relays: str, *, expires: str = "2 min", pulse: str = "2 s") -> Path:
    """The site file in that folder, with the buses given."""
    path = folder / "site.toml"
    text = SITE.format(buses=buses, meter_bus=meter, relay_bus=relays, poll="15 s", expires=expires, pulse=pulse)
    path.write_text(text, encoding="utf-8")
    return path


def instruments(watchdog_at: int | None = None) -> tuple[Mag6000, RelayModule]:
    """A meter at unit 1 with 20 gpm, relays at unit 2."""
    meter = Mag6000(1)
    meter.set("volume_flow", 20 * M3S_PER_GPM)
    return meter, RelayModule(2, watchdog_at)
