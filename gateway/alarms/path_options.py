"""The options of every way to a person, read from its `[notify.NAME]` table. No secret is opened here."""

from dataclasses import dataclass
from pathlib import Path

from gateway.part_options import PartOptions
from gateway.site import Part

__all__ = ["HttpSmsOptions", "MailOptions", "ModemOptions", "SmsdOptions"]

_PORTS = {"tls": 465, "starttls": 587, "none": 25}
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class HttpSmsOptions:
    """`token` says where the secret is (`gateway.secret`); `number` is ours, in E.164; `ca` whom to trust."""

    url: str
    account: str
    token: str
    number: str
    ca: str = ""
    timeout_s: float = 20.0

    @classmethod
    def of(cls, part: Part) -> "HttpSmsOptions":
        """The options of a `[notify.NAME]` table of kind `http-sms`. ConfigError names every mistake at once."""
        reader = PartOptions("notify", part)
        options = cls(
            url=reader.take("url", str, "https://api.twilio.com").rstrip("/"),
            account=reader.take("account", str, ""),
            token=reader.take("token_file", str, ""),
            number=reader.take("number", str, ""),
            ca=reader.take("ca", str, ""),
            timeout_s=reader.duration_s("timeout", 20.0),
        )
        for key, value in (("account", options.account), ("token_file", options.token), ("number", options.number)):
            if not value:
                reader.problem(key, "is missing")
        local = options.url.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))
        if not (options.url.startswith("https://") or local):
            reader.problem("url", "must begin with https://: the token and the texts go through it")
        reader.finish()
        return options


@dataclass(frozen=True, slots=True)
class MailOptions:
    """`security` is `tls` (from the first byte), `starttls`, or `none` (this machine only)."""

    host: str
    sender: str
    port: int = 465
    security: str = "tls"
    username: str = ""
    password: str = ""
    ca: str = ""
    timeout_s: float = 30.0

    @classmethod
    def of(cls, part: Part) -> "MailOptions":
        """The options of a `[notify.NAME]` table of kind `mail`. ConfigError names every mistake at once."""
        reader = PartOptions("notify", part)
        security = reader.take("security", str, "tls", lambda word: word in _PORTS)
        options = cls(
            host=reader.take("host", str, ""),
            sender=reader.take("sender", str, ""),
            port=reader.take("port", int, _PORTS[security], lambda n: 0 < n < 65536),
            security=security,
            username=reader.take("username", str, ""),
            password=reader.take("password_file", str, ""),
            ca=reader.take("ca", str, ""),
            timeout_s=reader.duration_s("timeout", 30.0),
        )
        for key, value in (("host", options.host), ("sender", options.sender)):
            if not value:
                reader.problem(key, "is missing")
        if bool(options.username) != bool(options.password):
            reader.problem("username", "username and password_file belong together")
        if security == "none" and options.host not in _HERE:
            reader.problem("security", "none is for a mail server on this machine; use tls or starttls")
        reader.finish()
        return options


@dataclass(frozen=True, slots=True)
class SmsdOptions:
    """`database` is the daemon's SQLite file; `patience_s` how long the modem may take before another path is tried."""

    database: Path
    patience_s: float = 60.0
    report: bool = True

    @classmethod
    def of(cls, part: Part) -> "SmsdOptions":
        """The options of a `[notify.NAME]` table of kind `gammu-smsd`. ConfigError names every mistake at once."""
        reader = PartOptions("notify", part)
        options = cls(
            database=Path(reader.take("database", str, "/var/lib/gammu-smsd/smsd.db", bool)),
            patience_s=reader.duration_s("patience", 60.0),
            report=reader.take("report", bool, True),
        )
        reader.finish()
        return options


@dataclass(frozen=True, slots=True)
class ModemOptions:
    """`equipment` picks a modem by its IMEI where there are several; `patience_s` is for the sending of one text."""

    equipment: str = ""
    patience_s: float = 60.0
    report: bool = True
    bus: str = ""

    @classmethod
    def of(cls, part: Part) -> "ModemOptions":
        """The options of a `[notify.NAME]` table of kind `modem`. ConfigError names every mistake at once."""
        reader = PartOptions("notify", part)
        options = cls(
            equipment=reader.take("equipment", str, ""),
            patience_s=reader.duration_s("patience", 60.0),
            report=reader.take("report", bool, True),
            bus=reader.take("bus", str, ""),
        )
        reader.finish()
        return options
