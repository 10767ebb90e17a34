"""One hash for one content: the same whatever the order of keys, the comments and the layout of the file."""

import hashlib
import json
from typing import Any

__all__ = ["content_hash"]


def content_hash(content: Any) -> str:
    """SHA-256, in hex, of the content as JSON with sorted keys and no spaces; dates as ISO text."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_iso)
    return hashlib.sha256(text.encode()).hexdigest()


def _iso(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"{type(value).__name__} has no place in a configuration")
