"""Every way to a person with its real other side, behind one set of handles for the contract suite."""

import asyncio
import email
import email.policy
import json
import shutil
import socket
import sqlite3
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from gateway.alarms.bench_text import BenchText
from gateway.alarms.http_sms import HttpSms
from gateway.alarms.mail import Mail
from gateway.alarms.modem import Modem
from gateway.alarms.notifier import Notifier
from gateway.alarms.path_options import HttpSmsOptions, MailOptions, ModemOptions, SmsdOptions
from gateway.alarms.smsd import Smsd
from gateway.clock import SystemClock
from gateway.site import Contact
from gateway.store.database import open_foreign
from tests.programs import find
from tests.support.http_provider import ACCOUNT, NUMBER, TOKEN, Provider
from tests.support.modem_manager import ModemManager, private_bus

__all__ = ["CONTACT", "RIGS", "Rig"]

CONTACT = Contact("ray", "Ray Miles", ("way",), "+17165550100", email="ray@example.org")
SCHEMA = Path("/usr/share/doc/gammu-smsd/examples/sqlite.sql")


@dataclass
class Rig:
    """One notifier and its other side. A handle that is None is something this way cannot do."""

    notifier: Notifier
    received: Callable[[], list[tuple[str, str]]]
    absent: Notifier  # the same way with nobody at the other end
    address: str = CONTACT.phone
    refuse: Callable[[], None] | None = None
    later: Callable[[], None] | None = None
    lose: Callable[[], None] | None = None
    report: Callable[[bool], None] | None = None
    reply: Callable[[str, str], None] | None = None
    keeps_account: bool = True


def closed_port() -> int:
    """A port of the loopback where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Rig]:
    """The folder of the bench."""
    texts = BenchText(folder / "texts", SystemClock())
    (folder / "file").write_text("in the way", encoding="utf-8")

    def received() -> list[tuple[str, str]]:
        path = folder / "texts" / "texts.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [(line["phone"], line["text"]) for line in map(json.loads, lines)]

    absent = BenchText(folder / "file" / "texts", SystemClock())
    yield Rig(texts, received, absent, keeps_account=False)


@asynccontextmanager
async def http(folder: Path) -> AsyncIterator[Rig]:
    """A provider on the internet, here on the loopback."""
    (folder / "token").write_text(TOKEN + "\n", encoding="utf-8")
    with Provider() as provider:

        def way(url: str) -> HttpSms:
            return HttpSms(HttpSmsOptions(url, ACCOUNT, str(folder / "token"), NUMBER, timeout_s=5.0), SystemClock())

        def report(delivered: bool) -> None:
            provider.messages[-1]["status"] = "delivered" if delivered else "undelivered"

        yield Rig(
            way(provider.url),
            lambda: [(m["to"], m["body"]) for m in provider.messages if m["direction"] != "inbound"],
            way(f"http://127.0.0.1:{closed_port()}"),
            refuse=lambda: provider.script.append(400),
            later=lambda: provider.script.append(429),
            lose=lambda: provider.script.append("lose"),
            report=report,
            reply=provider.inbound,
        )


class _Letters:
    """What an SMTP server does with letters: keep them, or answer as the script says."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, str]] = []
        self.script: list[str] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - the library's
        """One letter."""
        step = self.script.pop(0) if self.script else "take"
        if step not in {"take", "lose"}:
            return step
        assert isinstance(envelope.content, bytes)
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.letters.append((envelope.rcpt_tos[0], str(letter.get_content()).strip()))
        if step == "lose":
            assert server.transport is not None
            server.transport.abort()
        return "250 taken"


def make_certificate(openssl: Path, folder: Path) -> None:
    """A certificate of `localhost` that trusts itself, for a day or two."""
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key", "-out", "cert"]
    subprocess.run([str(openssl), "req", "-x509", *key, *subject], cwd=folder, check=True, capture_output=True)


@asynccontextmanager
async def mail(folder: Path) -> AsyncIterator[Rig]:
    """A mail server that speaks TLS from the first byte."""
    openssl = find("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed (Debian package openssl)")
    make_certificate(openssl, folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    letters = _Letters()
    controller = Controller(letters, hostname="localhost", port=closed_port(), ssl_context=context)
    await asyncio.to_thread(controller.start)

    def way(port: int) -> Mail:
        options = MailOptions("localhost", "station@example.org", port, ca=str(folder / "cert"), timeout_s=5.0)
        return Mail(options, "lv-mh3")

    try:
        yield Rig(
            way(controller.port),
            lambda: letters.letters,
            way(closed_port()),
            address=CONTACT.email,
            refuse=lambda: letters.script.append("550 no such mailbox"),
            later=lambda: letters.script.append("451 the disk is full"),
            lose=lambda: letters.script.append("lose"),
            keeps_account=False,
        )
    finally:
        await asyncio.to_thread(controller.stop)


def smsd_schema() -> str:
    """The tables as Debian ships them; empty where they are not here."""
    return SCHEMA.read_text(encoding="utf-8") if SCHEMA.exists() else ""


@asynccontextmanager
async def smsd(folder: Path) -> AsyncIterator[Rig]:
    """A real gammu-smsd with gammu's own dummy phone."""
    daemon, schema = find("gammu-smsd"), smsd_schema()
    if daemon is None or not schema:
        pytest.skip("gammu-smsd is not installed (Debian package gammu-smsd)")

    def database(name: str) -> Path:
        with sqlite3.connect(folder / name) as connection:
            connection.executescript(schema)
        connection.close()
        return folder / name

    live, dead = database("live.db"), database("dead.db")
    (folder / "phone").mkdir()
    (folder / "rc").write_text(
        f"[gammu]\nmodel = dummy\nconnection = none\nport = {folder}/phone\ngammuloc = /dev/null\n"
        f"[smsd]\nservice = sql\ndriver = sqlite3\ndbdir = {folder}\ndatabase = live.db\nlogfile = {folder}/log\n"
        "checksecurity = 0\ncommtimeout = 1\nsendtimeout = 5\nreceivefrequency = 1\nstatusfrequency = 1\n"
        "loopsleep = 1\n",
        encoding="utf-8",
    )
    process = await asyncio.create_subprocess_exec(
        str(daemon), "-c", str(folder / "rc"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def rows(sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        database = open_foreign(live)
        try:
            return (
                database.rows(sql, parameters) if sql.startswith("SELECT") else [(database.execute(sql, parameters),)]
            )
        finally:
            database.close()

    def report(delivered: bool) -> None:
        rows("UPDATE sentitems SET Status = ?", "DeliveryOK" if delivered else "DeliveryFailed")

    def reply(sender: str, text: str) -> None:
        for _ in range(2):  # a modem may bring one twice
            rows(
                "INSERT INTO inbox(Text, SenderNumber, TextDecoded, UDH, RecipientID, ReceivingDateTime) "
                "VALUES ('', ?, ?, '', '', '2026-11-30 12:00:00')",
                sender, text,
            )  # fmt: skip

    try:
        async with asyncio.timeout(30):
            while not rows("SELECT 1 FROM phones"):  # noqa: ASYNC110 - another program's table
                await asyncio.sleep(0.05)
        yield Rig(
            Smsd(SmsdOptions(live, patience_s=30.0)),
            lambda: [(r[0], r[1]) for r in rows("SELECT DestinationNumber, TextDecoded FROM sentitems")],
            Smsd(SmsdOptions(dead, patience_s=0.2)),
            report=report,
            reply=reply,
        )
    finally:
        process.terminate()
        await process.wait()
        shutil.rmtree(folder / "phone", ignore_errors=True)


@asynccontextmanager
async def modem(folder: Path) -> AsyncIterator[Rig]:
    """ModemManager's interfaces on a private bus."""
    daemon = find("dbus-daemon")
    if daemon is None:
        pytest.skip("dbus-daemon is not installed (Debian package dbus)")
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(private_bus(daemon))
        empty = await stack.enter_async_context(private_bus(daemon))
        manager = await ModemManager.start(address)
        way, absent = (Modem(ModemOptions(bus=bus, patience_s=0.5)) for bus in (address, empty))

        def report(delivered: bool) -> None:
            for message in manager.messages.values():
                message.delivery = 0 if delivered else 0x40

        def reply(sender: str, text: str) -> None:
            for _ in range(2):  # a modem may bring one twice
                manager.keep(sender, text, state=3)

        try:
            yield Rig(
                way,
                manager.sent,
                absent,
                refuse=lambda: manager.script.append("Core.InvalidArgs"),
                later=lambda: manager.script.append("MobileEquipment.NetworkTimeout"),
                lose=None,
                report=report,
                reply=reply,
            )
        finally:
            await way.close()
            await absent.close()
            manager.stop()


RIGS = {"bench": bench, "http-sms": http, "mail": mail, "gammu-smsd": smsd, "modem": modem}
