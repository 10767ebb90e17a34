"""Instants as text: UTC, ISO 8601, with Z."""

from datetime import UTC, datetime, timedelta

__all__ = ["iso_utc"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_utc(utc_us: int) -> str:
    """UTC as ISO 8601 with Z; a fraction only where there is one."""
    return (_EPOCH + timedelta(microseconds=utc_us)).isoformat().removesuffix("+00:00") + "Z"
