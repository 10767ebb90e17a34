"""Where a gateway keeps its journal and listens for commands."""

import os
from pathlib import Path

from gateway.errors import InputError

__all__ = ["find_state_directory", "state_directory"]

_ROOT = "manhole-gateway"


def _root() -> Path:
    """systemd's StateDirectory, else the user's own state directory (XDG Base Directory)."""
    handed_in = os.environ.get("STATE_DIRECTORY")
    if handed_in:
        return Path(handed_in.split(":")[0])
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / _ROOT


def state_directory(site_id: str, given: Path | None = None) -> Path:
    """The state directory of one site: as given, else under the root by the site's id."""
    return given if given is not None else _root() / site_id


def find_state_directory(given: Path | None = None) -> Path:
    """The state directory an operator means: as given, else the only gateway of this machine.

    Raises InputError when there is none or more than one.
    """
    if given is not None:
        return given
    root = _root()
    found = sorted(path.parent for path in root.glob("*/journal.db")) if root.is_dir() else []
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(f"no gateway has run under {root}; say where with --state")
    ways = " or ".join(f"--state {path}" for path in found)
    raise InputError(f"several gateways have run under {root}; say which is meant: {ways}")
