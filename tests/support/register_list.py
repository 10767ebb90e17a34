"""The register list of real instruments, and every shipped profile in every variant to compare with it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateway.drivers.profile import Profile
from gateway.drivers.profiles import load, variants_of
from gateway.shipped import names
from tests.conftest import SHARED_DATA

REGISTERS_FILE = SHARED_DATA.parent / "registers.json"
HERE = REGISTERS_FILE.exists()

# A template has no points of its own where no register of a value is known.
LEVEL = {"points": {"level": {"function": 3, "address": 12, "type": "u16", "unit": "mm"}}}
NEEDS: dict[str, dict[str, Any]] = {"hycontrol-microflex": LEVEL}

# Relay modules are no instruments of the list: their coils and inputs are typed anew in test_relay_modules.
NOT_LISTED = frozenset({"crevis-na-9189", "waveshare-relay-d8", "wellpro-wp8025adam"})

_WORDS = {"u8": 1, "u16": 1, "i16": 1, "u32": 2, "i32": 2, "f32": 2, "f64": 4, "u64": 4, "u8x4": 2}


@dataclass(frozen=True, slots=True)
class Listed:
    """One register of the list; a range of them is written out."""

    name: str
    address: int
    words: int
    type: str
    functions: tuple[int, ...]
    order: str
    scale: float | None
    unit: str
    verified: bool


def every_variant() -> Iterator[tuple[str, str]]:
    """Each shipped profile with each of its variants; the empty one where there are none."""
    for name in sorted(set(names("devices")) - NOT_LISTED):
        yield from ((name, variant) for variant in variants_of(name) or ("",))


def loaded(name: str, variant: str = "") -> Profile:
    """A shipped profile, its open facts taken for confirmed."""
    return load(name, ({"variant": variant} if variant else {}) | {"confirmed": True} | NEEDS.get(name, {}))


def listed_devices() -> dict[str, dict[str, Any]]:
    """The devices of the list by id."""
    return {device["id"]: device for device in json.loads(REGISTERS_FILE.read_text(encoding="utf-8"))["devices"]}


def listed(device: dict[str, Any]) -> list[Listed]:
    """Its registers; one whose address is relative to an unknown base has the offset for its address."""
    found = []
    for entry in device["registers"]:
        for name, address in _places(entry):
            scale = entry.get("scale")
            found.append(
                Listed(
                    name=name,
                    address=address,
                    words=_words(entry["type"]),
                    type=entry["type"],
                    functions=tuple(entry["fc"]),
                    order=(entry.get("order") or "")[:4],
                    scale=scale if isinstance(scale, int | float) else None,
                    unit=entry.get("unit") or "",
                    verified=entry["verified"] is not False,
                )
            )
    return found


def _places(entry: dict[str, Any]) -> Iterator[tuple[str, int]]:
    address = entry.get("address")
    name = entry["name"]
    if isinstance(address, int):
        yield name, address
    elif address is None:
        offset = re.search(r"\+(\d+)", str(entry["doc_register"]))
        assert offset is not None, name
        yield name, int(offset.group(1))
    else:
        first, last, step = re.fullmatch(r"(\d+)\.\.(\d+)(?: step (\d+))?", address).groups()  # type: ignore[union-attr]
        for n, place in enumerate(range(int(first), int(last) + 1, int(step or 1))):
            yield f"{name}#{n}", place


def _words(kind: str) -> int:
    if text := re.fullmatch(r"(?:string|char\[)(\d+)\]?", kind):
        return int(text.group(1)) // 2
    if block := re.match(r"block(\d+)", kind):
        return int(block.group(1))
    special = {"f32 x2": 4, "bcd_smhdmy": 3, "class:group,year:week bytes": 2, "u64_epoch_s": 4, "f32_or_u16": 2}
    if kind in special:
        return special[kind]
    if kind.startswith("time6"):
        return 6
    return _WORDS[re.match(r"u8x4|[uif]\d+", kind).group(0)]  # type: ignore[union-attr]
