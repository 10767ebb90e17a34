"""Secrets: from a file, a systemd credential or the environment, never from the site file itself."""

import os
from pathlib import Path

__all__ = ["secret"]

_CREDENTIALS = "CREDENTIALS_DIRECTORY"  # where systemd puts them (systemd.exec(5), LoadCredential)


def secret(source: str) -> str:
    """The first line of what `source` names, without its end.

    `credential:NAME` is a credential of the service, `env:NAME` a variable of the environment, anything else a path.
    OSError when it cannot be read; ValueError when it is empty.
    """
    kind, _, name = source.partition(":")
    if kind == "env" and name:
        text = os.environ.get(name, "")
    elif kind == "credential" and name:
        directory = os.environ.get(_CREDENTIALS)
        if directory is None:
            raise FileNotFoundError(f"{source}: the service was given no credentials")
        text = (Path(directory) / name).read_text(encoding="utf-8")
    else:
        text = Path(source).read_text(encoding="utf-8")
    line = text.partition("\n")[0].strip("\r")
    if not line:
        raise ValueError(f"{source}: holds no secret")
    return line
