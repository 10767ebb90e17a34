"""What the other side of a way to a person says of itself, made fit for a record and a log.

A provider, a captive portal or a mail server may answer with anything: a page, a binary, a number that is nobody else's
business. What is kept is short, printable, and holds no telephone number.
"""

import re

__all__ = ["plain", "reference", "tidy"]

_LONGEST = 200
_LONGEST_TEXT = 1600  # of a text that came in, ten segments: nothing anybody can ask for is longer
_LONGEST_REFERENCE = 200
_NUMBER = re.compile(r"\+?\d(?:[ ().-]{0,2}\d){6,}")


def plain(words: object) -> str:
    """A reason in at most 200 printable characters, every telephone number in it down to its last two digits."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(words)[: 8 * _LONGEST]).split())
    text = _NUMBER.sub(lambda found: f"...{found[0][-2:]}", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}.."


def reference(given: object) -> str:
    """A reference that the other side gave a text; empty for one that is none: not printable ASCII, or endless."""
    fit = isinstance(given, str) and given.isascii() and given.isprintable() and len(given) <= _LONGEST_REFERENCE
    return str(given) if fit else ""


def tidy(text: str) -> str:
    """A text that came in, as it can be stored: halves of characters become question marks, the rest stays."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
