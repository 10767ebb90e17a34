"""A ModemManager on a private D-Bus: the interfaces a client uses, and a modem that follows a script."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dbus_fast import DBusError, PropertyAccess, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_property, method

__all__ = ["ModemManager", "private_bus"]

NAME = "org.freedesktop.ModemManager1"
ROOT = "/org/freedesktop/ModemManager1"
MODEM = f"{ROOT}/Modem/0"


@asynccontextmanager
async def private_bus(daemon: Path) -> AsyncIterator[str]:
    """A bus of our own; its address."""
    process = await asyncio.create_subprocess_exec(
        str(daemon), "--session", "--nofork", "--print-address=1", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


class Sms(ServiceInterface):
    """One message on the modem."""

    def __init__(self, modem: "ModemManager", number: str, text: str, state: int) -> None:
        super().__init__(f"{NAME}.Sms")
        self.modem = modem
        self.number, self.text, self.state, self.delivery = number, text, state, 0x100

    @method(name="Send")
    async def send(self):  # type: ignore[no-untyped-def]  # the library reads D-Bus signatures from annotations
        """Send it, as the script says."""
        step = self.modem.script.pop(0) if self.modem.script else "take"
        if step == "hang":
            self.state = 5
            await asyncio.sleep(3600)
        if step != "take":
            raise DBusError(f"{NAME}.Error.{step}", "as the script says")
        self.state = 5

    @dbus_property(access=PropertyAccess.READ, name="Number")
    def number_(self) -> "s":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """Whose."""
        return self.number

    @dbus_property(access=PropertyAccess.READ, name="Text")
    def text_(self) -> "s":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """What."""
        return self.text

    @dbus_property(access=PropertyAccess.READ, name="Timestamp")
    def timestamp_(self) -> "s":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """When, by the centre's clock."""
        return "2026-11-30T12:00:00-05"

    @dbus_property(access=PropertyAccess.READ, name="State")
    def state_(self) -> "u":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """MMSmsState."""
        return self.state

    @dbus_property(access=PropertyAccess.READ, name="PduType")
    def pdu_type_(self) -> "u":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """MMSmsPduType: 1 came in, 2 goes out."""
        return 1 if self.state == 3 else 2

    @dbus_property(access=PropertyAccess.READ, name="DeliveryState")
    def delivery_(self) -> "u":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """MMSmsDeliveryState."""
        return self.delivery


class _Messaging(ServiceInterface):
    def __init__(self, modem: "ModemManager") -> None:
        super().__init__(f"{NAME}.Modem.Messaging")
        self.modem = modem

    @method(name="Create")
    def create(self, properties: "a{sv}") -> "o":  # type: ignore[name-defined]  # noqa: F722, F821 - signatures
        """A new message."""
        return self.modem.keep(properties["number"].value, properties["text"].value, state=1)

    @method(name="Delete")
    def delete(self, path: "o"):  # type: ignore[name-defined, no-untyped-def]  # noqa: F821 - a signature
        """Drop a message."""
        self.modem.bus.unexport(path)
        del self.modem.messages[path]

    @method(name="List")
    def list_(self) -> "ao":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """Every message."""
        return list(self.modem.messages)


class _Modem(ServiceInterface):
    def __init__(self, modem: "ModemManager") -> None:
        super().__init__(f"{NAME}.Modem")
        self.modem = modem

    @method(name="Reset")
    def reset(self):  # type: ignore[no-untyped-def]  # the library reads annotations
        """Counted."""
        self.modem.resets += 1

    @dbus_property(access=PropertyAccess.READ, name="State")
    def state_(self) -> "i":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """MMModemState."""
        return self.modem.state

    @dbus_property(access=PropertyAccess.READ, name="SignalQuality")
    def signal_(self) -> "(ub)":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """Per cent, and whether it is recent."""
        return [54, True]

    @dbus_property(access=PropertyAccess.READ, name="EquipmentIdentifier")
    def equipment_(self) -> "s":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """IMEI."""
        return "490154203237518"


class _Network(ServiceInterface):
    def __init__(self) -> None:
        super().__init__(f"{NAME}.Modem.Modem3gpp")

    @dbus_property(access=PropertyAccess.READ, name="OperatorName")
    def operator_(self) -> "s":  # type: ignore[name-defined]  # noqa: F821 - a D-Bus signature
        """Who carries it."""
        return "Testnet"


class _Objects(ServiceInterface):
    def __init__(self, modem: "ModemManager") -> None:
        super().__init__("org.freedesktop.DBus.ObjectManager")
        self.modem = modem

    @method(name="GetManagedObjects")
    def objects(self) -> "a{oa{sa{sv}}}":  # type: ignore[name-defined]  # noqa: F722 - a signature
        """What there is."""
        if not self.modem.present:
            return {}
        of_modem = {"EquipmentIdentifier": Variant("s", "490154203237518")}
        return {MODEM: {f"{NAME}.Modem": of_modem, f"{NAME}.Modem.Messaging": {}}}


class ModemManager:
    """The service. `script` holds what the next sendings meet: `take`, `hang`, or the tail of an error's name."""

    def __init__(self, bus: MessageBus) -> None:
        self.bus = bus
        self.script: list[str] = []
        self.messages: dict[str, Sms] = {}
        self.state = 8
        self.present = True
        self.resets = 0
        self._number = 0

    @classmethod
    async def start(cls, address: str) -> "ModemManager":
        """Export it all and take the name."""
        bus = await MessageBus(bus_address=address).connect()
        modem = cls(bus)
        bus.export(ROOT, _Objects(modem))
        for interface in (_Modem(modem), _Messaging(modem), _Network()):
            bus.export(MODEM, interface)
        await bus.request_name(NAME)
        return modem

    def keep(self, number: str, text: str, state: int) -> str:
        """A message on the modem; its path."""
        path = f"{ROOT}/SMS/{self._number}"
        self._number += 1
        self.messages[path] = message = Sms(self, number, text, state)
        self.bus.export(path, message)
        return path

    def sent(self) -> list[tuple[str, str]]:
        """Number and text of everything that went out."""
        return [(m.number, m.text) for m in self.messages.values() if m.state == 5]

    def stop(self) -> None:
        """Leave the bus."""
        self.bus.disconnect()
