"""Texts through ModemManager over D-Bus: for modems that also carry data. The only module that knows dbus-fast.

Interfaces and enumerations: ModemManager 1.20 reference, `org.freedesktop.ModemManager1.Modem`, `.Modem.Messaging`,
`.Modem.Modem3gpp` and `.Sms` (MMSmsState, MMSmsDeliveryState, MMModemState).
"""

import asyncio
import contextlib
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from dbus_fast import BusType, DBusError, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from gateway.alarms.notifier import Fate, Inbound, Notifier, PathHealth, Receipt
from gateway.alarms.path_options import ModemOptions
from gateway.clock import Clock
from gateway.errors import InDoubt, Refused, TryLater
from gateway.site import Contact, Part, Site

__all__ = ["Modem", "provide"]

_SERVICE = "org.freedesktop.ModemManager1"
_ROOT = "/org/freedesktop/ModemManager1"
_MODEM = f"{_SERVICE}.Modem"
_MESSAGING = f"{_SERVICE}.Modem.Messaging"
_3GPP = f"{_SERVICE}.Modem.Modem3gpp"
_SMS = f"{_SERVICE}.Sms"
_PROPERTIES = "org.freedesktop.DBus.Properties"

_SENT, _RECEIVED = 5, 3  # MMSmsState
_REGISTERED = 8  # MMModemState: registered, and above it connected
_STATES = {
    -1: "failed", 0: "unknown", 1: "initializing", 2: "locked: it wants the PIN of its card", 3: "disabled",
    4: "disabling", 5: "enabling", 6: "enabled", 7: "searching", 8: "registered", 9: "disconnecting",
    10: "connecting", 11: "connected",
}  # fmt: skip
_TEMPORARY, _PERMANENT, _NO_REPORT = 0x20, 0x40, 0x100  # MMSmsDeliveryState, by its ranges
_ANSWER_S = 10.0  # for everything but the sending itself
_NEVER = ("InvalidArgs", "SmsInvalidParameter", "InvalidNumber", "CallBarred", "FdnFailure")


class Modem(Notifier):
    """One modem of this machine. Messages the modem has sent are kept on it until their fate is known."""

    def __init__(self, options: ModemOptions) -> None:
        self._options = options
        self._bus: MessageBus | None = None
        self._connecting = asyncio.Lock()

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand over one text and wait until the network has it."""
        if not contact.phone:
            raise Refused("the contact has no phone number")
        modem = await self._modem()
        properties = {
            "number": Variant("s", contact.phone),
            "text": Variant("s", text),
            "delivery-report-request": Variant("b", self._options.report),
        }
        (path,) = await self._call(modem, _MESSAGING, "Create", "a{sv}", [properties])
        try:
            await self._call(path, _SMS, "Send", patience_s=self._options.patience_s)
        except InDoubt:
            state = await self._state(path)
            if state == _SENT:
                return Receipt(path)
            raise
        except (TryLater, Refused):
            with contextlib.suppress(TryLater, Refused):  # it will be made anew
                await self._call(modem, _MESSAGING, "Delete", "o", [path])
            raise
        return Receipt(path)

    async def fate(self, contact: Contact, text: str, dedupe_key: str, provider_ref: str) -> Fate:
        """By the modem's message; without a reference, by looking for the text among what the modem keeps."""
        try:
            for path in [provider_ref] if provider_ref else await self._messages():
                message = await self._properties(path, _SMS)
                if provider_ref or (message.get("Number"), message.get("Text")) == (contact.phone, text):
                    return await self._known(path, message)
        except (TryLater, Refused):
            return Fate.UNKNOWN
        return Fate.UNKNOWN if provider_ref else Fate.ABSENT

    async def inbound(self) -> tuple[Inbound, ...]:
        """What the modem has received and still keeps, in the order of the centre's time stamps."""
        found = [_inbound(message) for _, message in await self._received()]
        return tuple(sorted(found, key=lambda text: (text.at_utc_us or 0, text.key)))

    async def settle(self, key: str) -> None:
        """Delete every received message that is this text: a card holds some dozens and then takes no more."""
        modem = await self._modem()
        for path, message in await self._received():
            if _inbound(message).key == key:
                await self._call(modem, _MESSAGING, "Delete", "o", [path])

    async def health(self) -> PathHealth:
        """Registration, signal and network, as the modem says them."""
        try:
            modem = await self._modem()
            of_modem = await self._properties(modem, _MODEM)
            of_network = await self._properties(modem, _3GPP)
        except (TryLater, Refused) as error:
            return PathHealth(usable=False, why=str(error))
        state = int(of_modem.get("State", 0))
        signal = of_modem.get("SignalQuality") or (0, False)
        facts: dict[str, str | float] = {
            "signal_percent": float(signal[0]),
            "network": str(of_network.get("OperatorName", "")),
            "state": _STATES.get(state, str(state)),
        }
        usable = state >= _REGISTERED
        return PathHealth(usable=usable, why="" if usable else f"the modem is {facts['state']}", facts=facts)

    async def reset(self) -> None:
        """Restart the modem itself; it is gone for the better part of a minute. Raises TryLater."""
        await self._call(await self._modem(), _MODEM, "Reset")

    async def close(self) -> None:
        """Leave the bus."""
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.disconnect()

    async def _known(self, path: str, message: Mapping[str, Any]) -> Fate:
        """The fate of one of our messages; one that is settled is taken off the modem."""
        if message.get("State") != _SENT:
            return Fate.PENDING if message.get("State") == 4 else Fate.ABSENT  # 4: being sent; else only stored
        state = int(message.get("DeliveryState", _NO_REPORT))
        if state >= _NO_REPORT or _TEMPORARY <= state < _PERMANENT:
            return Fate.PENDING
        with contextlib.suppress(TryLater, Refused):
            await self._call(await self._modem(), _MESSAGING, "Delete", "o", [path])
        return Fate.DELIVERED if state < _TEMPORARY else Fate.FAILED

    async def _state(self, path: str) -> int:
        try:
            return int((await self._properties(path, _SMS)).get("State", 0))
        except (TryLater, Refused):
            return 0

    async def _received(self) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for path in await self._messages():
            message = await self._properties(path, _SMS)
            if message.get("State") == _RECEIVED and message.get("PduType", 1) == 1:  # 1: a text, not a report
                found.append((path, message))
        return found

    async def _messages(self) -> list[str]:
        (paths,) = await self._call(await self._modem(), _MESSAGING, "List")
        return list(paths)

    async def _modem(self) -> str:
        """The object path of our modem: the first that can send texts, or the one with the equipment's number."""
        (objects,) = await self._call(_ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        for path, interfaces in objects.items():
            if _MESSAGING not in interfaces:
                continue
            identifier = interfaces.get(_MODEM, {}).get("EquipmentIdentifier", Variant("s", "")).value
            if not self._options.equipment or self._options.equipment == identifier:
                return str(path)
        named = f" {self._options.equipment}" if self._options.equipment else ""
        raise TryLater(f"ModemManager knows no modem{named} that can send texts")

    async def _properties(self, path: str, interface: str) -> dict[str, Any]:
        (properties,) = await self._call(path, _PROPERTIES, "GetAll", "s", [interface])
        return {name: variant.value for name, variant in properties.items()}

    async def _call(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: list[Any] | None = None,
        patience_s: float = _ANSWER_S,
    ) -> list[Any]:
        """One method call. Raises TryLater, Refused, or InDoubt when there was no answer to a sending."""
        bus = await self._connected()
        message = Message(
            destination=_SERVICE, path=path, interface=interface, member=member, signature=signature, body=body or []
        )
        try:
            async with asyncio.timeout(patience_s):
                reply = await bus.call(message)
        except TimeoutError as error:
            text = f"no answer from ModemManager to {member} within {patience_s:g} s"
            raise (InDoubt if member == "Send" else TryLater)(text) from error
        except (DBusError, OSError, EOFError) as error:
            await self.close()
            raise (InDoubt if member == "Send" else TryLater)(f"the bus was lost during {member}: {error}") from error
        if reply is None:
            raise TryLater(f"{member} was not answered")
        if reply.message_type is MessageType.ERROR:
            raise _meaning(str(reply.error_name), str(reply.body[0]) if reply.body else "")
        return list(reply.body)

    async def _connected(self) -> MessageBus:
        async with self._connecting:
            if self._bus is None or not self._bus.connected:
                try:
                    async with asyncio.timeout(_ANSWER_S):
                        self._bus = await MessageBus(
                            bus_address=self._options.bus or None, bus_type=BusType.SYSTEM
                        ).connect()
                except (OSError, EOFError, TimeoutError, DBusError, ValueError) as error:
                    raise TryLater(f"no connection to the system bus: {error}") from error
            return self._bus


def _meaning(name: str, text: str) -> TryLater | Refused:
    """What an error of ModemManager means for the text."""
    kind = name.rpartition(".")[2]
    if kind in ("ServiceUnknown", "NameHasNoOwner"):
        return TryLater("ModemManager is not running")
    said = f"{kind}: {text}" if text else kind
    return Refused(said) if kind in _NEVER else TryLater(said)


def _inbound(message: Mapping[str, Any]) -> Inbound:
    sender, text, stamp = (str(message.get(name, "")) for name in ("Number", "Text", "Timestamp"))
    key = f"sms:{sender}:{stamp}:{sha256(text.encode()).hexdigest()[:16]}"
    return Inbound(key, sender, text, _utc_us(stamp))


def _utc_us(stamp: str) -> int | None:
    """The centre's stamp is ISO 8601, often with an offset of hours alone (`+01`)."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1e6)


def provide(part: Part, _site: Site, _clock: Clock, _state_directory: Path) -> Modem:
    """The notifier of `[notify.*]` kind `modem`."""
    return Modem(ModemOptions.of(part))
