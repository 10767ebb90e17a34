"""The bench's way to a person: texts filed in a folder, and shown to whoever looks on."""

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

from gateway.alarms.notifier import Notifier, Receipt
from gateway.clock import Clock
from gateway.errors import TryLater
from gateway.site import Contact, Part, Site

__all__ = ["BenchText", "provide"]

_log = logging.getLogger(__name__)

_FILE = "texts.jsonl"


class BenchText(Notifier):
    """Appends each text to `<folder>/texts.jsonl`, one JSON object a line, safe on disk.

    A line is `at_utc_us`, `to` (contact id), `name`, `phone`, `text`, `dedupe_key`. The same key is filed once, however
    often it is sent and whatever was killed in between. `show` is called with contact and text after each filing.
    """

    def __init__(self, folder: Path, clock: Clock, show: Callable[[Contact, str], None] | None = None) -> None:
        self._path = folder / _FILE
        self._clock = clock
        self._show = show
        self._filed: set[str] | None = None
        self._lock = asyncio.Lock()

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """File one text. TryLater when the folder cannot be written."""
        line = {
            "at_utc_us": self._clock.now().utc_us, "to": contact.id, "name": contact.name, "phone": contact.phone,
            "text": text, "dedupe_key": dedupe_key,
        }  # fmt: skip
        async with self._lock:
            try:
                new = await asyncio.to_thread(self._file, dedupe_key, json.dumps(line, ensure_ascii=False))
            except OSError as error:
                self._filed = None  # what the file holds now, only the file can say
                raise TryLater(f"{self._path}: {error.strerror}") from error
        if new and self._show is not None:
            self._show(contact, text)
        return Receipt(dedupe_key, delivered=True)

    def _file(self, dedupe_key: str, line: str) -> bool:
        if self._filed is None:
            self._filed = self._read()
        if dedupe_key in self._filed:
            return False
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._filed.add(dedupe_key)
        return True

    def _read(self) -> set[str]:
        """The keys filed so far; a torn last line was never answered for and is cut off."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return set()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))
        return {json.loads(line)["dedupe_key"] for line in whole.splitlines()}


def provide(part: Part, _site: Site, clock: Clock, state_directory: Path) -> BenchText:
    """The notifier of `[notify.*]` kind `bench`; `folder` defaults to `texts` in the state directory.

    Unless someone else shows the texts, they are printed on stderr with the diagnostics.
    """
    folder = Path(part.options.get("folder", state_directory / "texts"))
    return BenchText(folder, clock, part.options.get("show", _print))


def _print(contact: Contact, text: str) -> None:
    _log.info("text to %s: %s", contact.name, text)
