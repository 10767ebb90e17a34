"""External programs the tests and the demo use: which are here, and what is skipped without them.

Run as a program it prints one line per missing program and always exits 0: a missing program is no failure.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin")  # Debian puts brokers here, outside a plain user's PATH


@dataclass(frozen=True, slots=True)
class Program:
    """One external program: its Debian package and what cannot be tested without it."""

    name: str
    package: str
    skipped: str


PROGRAMS = (
    Program("mosquitto", "mosquitto", "tests against a real MQTT broker (marker `mosquitto`)"),
    Program("openssl", "openssl", "tests that make certificates for MQTT and mail over TLS"),
    Program("gammu-smsd", "gammu-smsd", "texts through a real gammu-smsd"),
    Program("dbus-daemon", "dbus-daemon", "texts through ModemManager's interfaces on a private bus"),
)


def find(name: str) -> Path | None:
    """Where a program is, looking in the system folders too; None when it is not here."""
    search = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS))
    found = shutil.which(name, path=search)
    return Path(found) if found else None


def missing() -> tuple[Program, ...]:
    """The programs of the table that are not on this machine."""
    return tuple(program for program in PROGRAMS if find(program.name) is None)


def report(programs: tuple[Program, ...]) -> str:
    """One line per missing program, or one line saying that none is missing."""
    if not programs:
        return "external programs: all here (" + ", ".join(program.name for program in PROGRAMS) + ")"
    return "\n".join(f"missing: {p.name} (Debian package {p.package}); skipped: {p.skipped}" for p in programs)


if __name__ == "__main__":
    print(report(missing()))
