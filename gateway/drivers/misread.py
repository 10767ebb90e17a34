"""What bytes that were no answer look like to somebody who knows the other framings: which setting is wrong. Pure."""

from gateway.drivers.ascii_frames import take_ascii
from gateway.drivers.frames import rtu_frame

__all__ = ["looks_like"]

_MBAP_BYTES = 7
_LEAST_TEXT = 6  # so many printable characters in a row are no chance
_SHOWN = 40
_TEXT = frozenset(b"\r\n\t") | frozenset(range(0x20, 0x7F))


def looks_like(data: bytes, kind: str) -> str:
    """A hint for the error on a bus of this kind, with a comma before it; empty when the bytes tell nothing."""
    told = _framing_of(data, kind)
    return f", {told}" if told else ""


def _framing_of(data: bytes, kind: str) -> str:
    if kind == "modbus-ascii":
        if rtu_frame(data):
            return 'which are a frame of Modbus RTU: kind = "modbus-rtu"'
        if take_ascii(bytes(byte & 0x7F for byte in data)).body and not take_ascii(data).body:
            return "which are a frame with a parity bit in the place of the eighth: data_bits = 7"
        return ""
    if take_ascii(data).body:
        return 'which are a frame of Modbus ASCII: kind = "modbus-ascii"'
    over_tcp = kind == "modbus-rtu-over-tcp"
    if (
        over_tcp
        and len(data) > _MBAP_BYTES
        and data[2:4] == b"\0\0"
        and int.from_bytes(data[4:6], "big") == len(data) - 6
    ):
        return 'which are a frame of Modbus TCP: kind = "modbus-tcp"'
    if kind == "modbus-tcp" and rtu_frame(data):
        return 'which are a serial frame as it is: kind = "modbus-rtu-over-tcp"'
    if len(data) >= _LEAST_TEXT and _TEXT.issuperset(data):
        return f"which are text, from another service or another protocol: {data[:_SHOWN].decode('ascii')!r}"
    return ""
