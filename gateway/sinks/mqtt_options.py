"""The options of one MQTT sink, read from its part of the site file. Pure: no secret is opened here."""

from dataclasses import dataclass

from gateway.part_options import PartOptions
from gateway.sinks.contract import Pace
from gateway.site import Part
from gateway.spelling import did_you_mean

__all__ = ["MqttOptions", "TlsFiles"]

_PACE = Pace()


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of the certificates: whom to trust (the system's own list when empty), and who we are."""

    ca: str = ""
    cert: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class MqttOptions:
    """Everything one session needs to know; secrets by file path only.

    `window` is how many publishes may be unanswered (the broker's Receive Maximum can only lower it), `ack_timeout_s`
    how old an unanswered one may become before the connection is given up. `role` is the second half of the client id.
    """

    host: str = "localhost"
    port: int = 1883
    root: str = "manhole/v1"
    role: str = "gateway"
    tls: TlsFiles | None = None
    username: str = ""
    password_file: str = ""
    window: int = 20
    ack_timeout_s: float = 20.0
    keepalive_s: int = 30
    retry_base_s: float = 1.0
    retry_cap_s: float = 30.0
    pace: Pace = _PACE

    @classmethod
    def of(cls, part: Part) -> "MqttOptions":
        """The options of a `[sinks.<name>]` table. ConfigError names every option that cannot be used, at once.

        Durations are text with a unit (`"20 s"`) or numbers of seconds. The port defaults to 8883 with `tls`.
        """
        reader = PartOptions("sinks", part)
        tls = _tls(reader)
        options = cls(
            host=reader.take("host", str, "localhost"),
            port=reader.take("port", int, 8883 if tls else 1883, lambda n: 0 < n < 65536),
            root=reader.take("root", str, "manhole/v1", lambda root: root.strip("/") and not set("+#$\0") & set(root)),
            role=reader.take("role", str, "gateway", bool),
            tls=tls,
            username=reader.take("username", str, ""),
            password_file=reader.take("password_file", str, ""),
            window=reader.take("window", int, 20, lambda n: 0 < n < 65536),
            ack_timeout_s=reader.duration_s("ack_timeout", 20.0),
            keepalive_s=max(1, round(reader.duration_s("keepalive", 30.0))),
            retry_base_s=reader.duration_s("retry_base", 1.0),
            retry_cap_s=reader.duration_s("retry_cap", 30.0),
            pace=Pace(
                live_first_above=reader.take("live_first_above", int, _PACE.live_first_above, lambda n: n >= 0),
                hist_per_s=float(reader.take("hist_per_s", (int, float), _PACE.hist_per_s, lambda n: n > 0)),
                retry_base_s=reader.duration_s("retry_base", _PACE.retry_base_s),
                retry_cap_s=reader.duration_s("retry_cap", _PACE.retry_cap_s),
            ),
        )
        reader.finish()
        return options


def _tls(reader: PartOptions) -> TlsFiles | None:
    table = reader.table("tls")
    if isinstance(table, bool):
        return TlsFiles() if table else None
    names = ("ca", "cert", "key")
    for name, value in table.items():
        if name not in names:
            reader.problem(f"tls.{name}", f"unknown key{did_you_mean(name, names)}")
        elif not isinstance(value, str):
            reader.problem(f"tls.{name}", f"{value!r} is not a path")
    files = TlsFiles(**{name: value for name in names if isinstance(value := table.get(name, ""), str)})
    if bool(files.cert) != bool(files.key):
        reader.problem("tls", "cert and key belong together")
    return files
