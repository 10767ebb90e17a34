"""What a misspelt word was probably meant to be."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'ph'?` for the nearest known word, else the known ones when they are few, else nothing."""
    words = sorted(known)
    same = [w for w in words if w.lower().replace("_", "-") == word.lower().replace("_", "-")]
    near = same or difflib.get_close_matches(word, words, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(words)}" if 0 < len(words) <= 12 else ""
