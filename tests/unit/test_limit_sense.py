"""A rule that nothing can ever exceed, or everything does, is a mistake of its pack and not a sound rule."""

import tomllib

import pytest

from gateway.problems import Problems
from gateway.rules.pack import parse_pack

PACK = """
[pack]
id = "own"
name = "Own town"
version = "1"
jurisdiction = "local"
[options.fl]
text = "?"
[[rules]]
id = "own-rule"
clause = "1"
title = "t"
text = "t"
severity = "high"
"""
PH = 'kind = "limit"\nquantity = "pH"\ncomparison = ">"\nlimit = "9 pH"\n'
MG = 'kind = "limit"\nquantity = "copper"\nsources = ["laboratory"]\ncomparison = ">"\nlimit = "1 mg/L"\n'
MEAN = 'kind = "average"\nwindow = "30-day"\nquantity = "copper"\ncomparison = ">"\nlimit = "1 mg/L"\n'
MONTH = (
    'kind = "excursion"\nwindow = "month"\nquantity = "pH"\ninside = ["6 pH", "9 pH"]\ncomparison = ">"\n'
    'limit = "4000 h"\n'
)

CASES = [
    ("sound", PH, ""),
    ("sound", MG, ""),
    ("sound", MEAN, ""),
    ("a mean of pH hides its peaks", PH.replace('"limit"', '"average"\nwindow = "day"'), "quantity"),
    ("no probe shows 900", PH.replace("9 pH", "900 pH"), "limit"),
    ("more samples than ever come", PH + "confirm = 99999999999999999999\n", "confirm"),
    ("below zero", MG.replace("1 mg/L", "-2 mg/L"), "limit"),
    (
        "below the absolute zero",
        'kind = "limit"\nquantity = "temperature"\ncomparison = ">"\nlimit = "-500 degC"\n',
        "limit",
    ),
    ("150 degF is sound", 'kind = "limit"\nquantity = "temperature"\ncomparison = ">"\nlimit = "150 degF"\n', ""),
    ("more days than there are", MEAN + "min_days = 31\n", "min_days"),
    (
        "longer than a month",
        MONTH,
        "limit",
    ),
    (
        "more than the whole",
        'kind = "share"\nquantity = "flow"\ncomparison = ">"\nlimit = "500 %"\n',
        "limit",
    ),
    ("to infinity", MG + 'relaxed = { when = { fl = false }, factor = 1e308, note = "n" }\n', "factor"),
    (
        "a milder limit that is stricter",
        MG + 'relaxed = { when = { fl = false }, factor = 0.5, note = "n" }\n',
        "factor",
    ),
    (
        "a lower limit made stricter",
        PH.replace('">"', '"<"').replace("9", "5") + 'relaxed = { when = { fl = false }, factor = 1.5, note = "n" }\n',
        "relaxed",
    ),
    ("1.5 times is sound", MG + 'relaxed = { when = { fl = false }, factor = 1.5, note = "n" }\n', ""),
]


@pytest.mark.parametrize(("sentence", "rule", "key"), CASES)
def test_what_can_never_tell_is_refused(sentence: str, rule: str, key: str) -> None:
    """The key at fault is named, and what is sound passes."""
    problems = Problems("p", {})
    parse_pack(tomllib.loads(PACK + rule), problems)
    assert [problem.path.rpartition(".")[2] for problem in problems.errors] == ([key] if key else []), sentence
