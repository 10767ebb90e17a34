"""The body of `setup`: questions, then a site file that has passed `check`, or a draft and what is wrong with it."""

import asyncio
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from gateway.clock import SystemClock
from gateway.config import Loaded, read
from gateway.drivers.interruption import until_interrupted
from gateway.drivers.live import LiveValue, live_values
from gateway.drivers.profile import Profile
from gateway.drivers.scan import Answer, Scanner
from gateway.drivers.scan_plan import ScanPlan
from gateway.drivers.target import serial_ports
from gateway.errors import ConfigError, DriverError, InputError
from gateway.isotime import iso_utc
from gateway.setup_dialogue import Bench, ask_baselines, ask_site
from gateway.setup_file import SiteDraft, site_text
from gateway.setup_questions import Questions
from gateway.site import Bus

__all__ = ["read_answers", "run_setup"]

_EX_OK, _EX_INTERRUPTED, _EX_CONFIG = 0, 130, 78


def run_setup(
    target: Path | None, given: Mapping[str, Any], source: TextIO, out: TextIO, err: TextIO,
    *, force: bool, silent: bool, offline: bool,
) -> int:  # fmt: skip
    """Ask, write, check. 0 with the file's name on stdout; 78 with every mistake, the draft kept; 130 after Ctrl-C.

    `target` is the site file, by the site's id where it is None. `given` is answered beforehand, `silent` asks nothing
    else, `offline` opens no port. InputError for a wrong or missing answer, and for a file that is already there.
    """
    ask = Questions(given, source, err, silent=silent)
    if target is not None:
        _not_there(target, force=force)
    try:
        draft = ask_site(ask, _bench(ask, err, offline=offline), _local_zone())
        path = target or Path(f"{draft.id}.toml")
        _not_there(path, force=force)
        return _write(ask, draft, path, out, err)
    except KeyboardInterrupt:
        err.write("\n")
        _keep(ask, target, err)
        return _EX_INTERRUPTED
    except InputError:
        _keep(ask, target, err)
        raise


def read_answers(path: Path) -> dict[str, Any]:
    """A file of answers, as `setup` keeps it. InputError when it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error


def _write(ask: Questions, draft: SiteDraft, path: Path, out: TextIO, err: TextIO) -> int:
    """The draft beside the file, checked there; only what passed takes the file's name."""
    beside = path.with_name(f"{path.name}.draft")
    made = f"written by setup on {iso_utc(SystemClock().now().utc_us)[:10]}"
    _save(beside, site_text(draft, file=path.name, made=made))
    loaded = _checked(beside)
    if isinstance(loaded, Loaded) and loaded.site is not None:
        wanting = {
            rule.channel: rule.unit for rule in loaded.site.rules if rule.factor is not None and rule.baseline is None
        }
        draft = replace(draft, baselines=ask_baselines(ask, wanting))
        _save(beside, site_text(draft, file=path.name, made=made))
        loaded = _checked(beside)
    if isinstance(loaded, ConfigError) or loaded.site is None:
        mistakes = loaded.problems if isinstance(loaded, ConfigError) else loaded.errors
        err.writelines(f"{problem}\n" for problem in mistakes)
        err.write(f"Not written: {beside} has what is wrong. Mend it there and rename it, or answer again:\n")
        _keep(ask, path, err)
        return _EX_CONFIG
    beside.replace(path)
    _answers_of(path).unlink(missing_ok=True)
    err.writelines(f"{str(warning).replace(beside.name, path.name)}\n" for warning in loaded.warnings)
    err.write(
        f"\n{path} passes `check`. Next:\n"
        f"  manhole-gateway read {path} --watch     compare each value with the instrument's display\n"
        f"  manhole-gateway check {path}            what was warned of, and the wire address of every read\n"
        f"  manhole-gateway run {path}              the gateway itself\n"
    )
    out.write(f"{path}\n")
    return _EX_OK


def _checked(path: Path) -> Loaded | ConfigError:
    try:
        return read(path)
    except ConfigError as error:
        return error


def _save(path: Path, text: str) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _keep(ask: Questions, target: Path | None, err: TextIO) -> None:
    """What was answered, in a file that setup can go on from."""
    if not ask.answers:
        return
    path = _answers_of(target or Path(f"{ask.answers.get('site.id', 'site')}.toml"))
    _save(path, ask.as_toml())
    err.write(f"What you answered is kept; go on with: manhole-gateway setup --answers {path}\n")


def _answers_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.answers")


def _not_there(path: Path, *, force: bool) -> None:
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")
    if path.exists() and not force:
        raise InputError(f"{path} is there already; --force writes over it")


def _bench(ask: Questions, err: TextIO, *, offline: bool) -> Bench:
    """The lines themselves, or, offline, nothing of them."""

    def scan(where: str) -> list[Answer]:
        if offline:
            return []

        def progress(text: str) -> None:
            err.write(f"\r  {text:<58}" if err.isatty() else "")

        scanner = Scanner(ScanPlan.of(where), progress, one_setting=True)
        ask.say(f"  at most {scanner.longest_s:.0f} s; Ctrl-C ends the scan alone")
        try:
            asyncio.run(until_interrupted(scanner.run()))
        except DriverError as error:
            ask.say(f"  {error}")
        err.write(f"\r{'':<60}\r" if err.isatty() else "")
        for answer in scanner.sound:
            models = ", ".join(model.model for model in answer.models) or "no shipped profile knows it"
            ask.say(f"  unit {answer.unit} at {answer.setting}: {models}")
        if not scanner.sound:
            ask.say("  nobody answered; `manhole-gateway scan` says what to look at")
        return scanner.sound

    def live(bus: Bus, unit: int, profile: Profile) -> Mapping[str, LiveValue]:
        if offline:
            return {}
        try:
            return live_values(bus, unit, profile)
        except (DriverError, ValueError) as error:
            ask.say(f"  no values now: {error}")
            return {}

    return Bench(serial_ports(), scan, live)


def _local_zone() -> str | None:
    """The time zone of this machine, where it was given one: UTC is what nobody has chosen, and no town keeps it."""
    try:
        zone = Path("/etc/timezone").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return None if not zone or zone.startswith("Etc/") or zone == "UTC" else zone
