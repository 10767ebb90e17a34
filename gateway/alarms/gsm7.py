"""The alphabet of a text message: 160 septets of GSM 7-bit (3GPP TS 23.038) make one segment."""
# ruff: noqa: RUF001 - look-alike characters are the subject here

import re
import unicodedata

__all__ = ["SEGMENT_SEPTETS", "septets", "transliterate", "clip"]

SEGMENT_SEPTETS = 160

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = frozenset("\f^{}\\[~]|€")  # escape and character: two septets each

# What NFKD does not take apart, or takes apart to no use.
_SPELLED = {
    "§": "", "°": "", "µ": "u", "μ": "u", "×": "x", "·": ".", "•": "*", "`": "'", "´": "'",
    "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "−": "-", "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "±": "+/-",
    "‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "€": "EUR", "£": "GBP",
    "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "Ω": "ohm", "⁄": "/",
}  # fmt: skip


def septets(text: str) -> int:
    """How many septets a text takes. Raises ValueError for a character that GSM-7 does not have."""
    total = 0
    for character in text:
        if character in _BASIC:
            total += 1
        elif character in _EXTENDED:
            total += 2
        else:
            raise ValueError(f"{character!r} is not in the GSM 7-bit alphabet")
    return total


def transliterate(text: str) -> str:
    """The text in printable ASCII that GSM-7 has: signs spelled out, accents taken off, one space between words.

    A section sign goes with the space after it; a character nobody can spell becomes a question mark.
    """
    spelled = re.sub(r"§+\s*", "", text)
    spelled = "".join(_SPELLED.get(character, character) for character in spelled)
    apart = unicodedata.normalize("NFKD", spelled)
    bare = "".join(_SPELLED.get(c, c) for c in apart if not unicodedata.combining(c))
    return re.sub(r"\s+", " ", "".join(c if " " <= c <= "~" else " " if c.isspace() else "?" for c in bare)).strip()


def clip(text: str, most: int) -> str:
    """The text in at most that many septets, both ends kept: names differ at the end as often as at the start."""
    if septets(text) <= most:
        return text
    head, tail = text, text[-(most // 4) :]
    while head and septets(f"{head}..{tail}") > most:
        head = head[:-1]
    while tail and septets(f"{head}..{tail}") > most:
        tail = tail[1:]
    return f"{head}..{tail}"
