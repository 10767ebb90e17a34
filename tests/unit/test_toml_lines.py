"""Line numbers of TOML keys: what an error message points at must be the line the reader sees."""

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.toml_lines import Path, dotted, key_lines, nearest_line

SITE = '''\
# a comment with [brackets] and = signs
[site]
id = "mh3"   # trailing

[channels.ph]
poll = "15 s"
calibration = { gain = 1.0, offset = "0.1 pH" }
fail_span = [
  "0 pH",  # lowest
  "14 pH",
]
label = """two
lines with [not.a.header]
x = 1"""

[alarms."lv-slug-concentration.tss"]
severity = "high"

[[waivers]]
rule = 'lv-ph-high'
until = 2026-01-01 10:00:00

[[waivers]]
rule = "b"
[waivers.more]
deep.er = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("site",), 2),
        (("site", "id"), 3),
        (("channels", "ph"), 5),
        (("channels", "ph", "calibration", "offset"), 7),
        (("channels", "ph", "fail_span"), 8),
        (("channels", "ph", "fail_span", 1), 10),
        (("channels", "ph", "label"), 12),
        (("alarms", "lv-slug-concentration.tss", "severity"), 17),
        (("waivers", 0), 19),
        (("waivers", 0, "until"), 21),
        (("waivers", 1, "rule"), 24),
        (("waivers", 1, "more", "deep", "er"), 26),
    ],
)
def test_every_key_has_its_line(path: Path, line: int) -> None:
    """Tables, dotted keys, arrays, inline tables, arrays of tables: each on the line it is written on."""
    assert key_lines(SITE)[path] == line


def test_text_inside_a_string_is_no_key() -> None:
    """A header inside a multi-line string is text."""
    assert ("not", "a", "header") not in key_lines(SITE)
    assert ("channels", "ph", "x") not in key_lines(SITE)


def test_a_missing_key_points_at_its_table() -> None:
    """What is absent is reported at the table it is absent from."""
    lines = key_lines(SITE)
    assert nearest_line(lines, ("channels", "ph", "unit")) == 5
    assert nearest_line(lines, ("channels", "flow", "unit")) == 5
    assert nearest_line(lines, ("buses", "rs485")) is None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("channels", "ph", "poll"), "channels.ph.poll"),
        (("waivers", 0, "rule"), "waivers[0].rule"),
        (("alarms", "a.b", "severity"), 'alarms."a.b".severity'),
    ],
)
def test_paths_read_as_they_are_written(path: Path, text: str) -> None:
    """A path is shown the way the file spells it."""
    assert dotted(path) == text


KEYS = st.text(st.sampled_from('ab-_. "#=[\\'), min_size=1, max_size=6)
STRINGS = st.text(st.sampled_from("ab\"'\\#[]{}=,. \n\té"), max_size=12)


def _quoted(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


VALUES = st.recursive(
    st.one_of(
        STRINGS.map(_quoted),
        STRINGS.map(lambda s: '"""\n' + _quoted(s)[1:-1].replace("\\n", "\n") + '"""'),
        st.integers().map(str),
        st.sampled_from(["true", "1979-05-27 07:32:00Z", "1.5e3", "'lit # [x]'", "'''a\n'b'''"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[ # c\n" + ",\n ".join(items) + "\n]"),
        st.dictionaries(KEYS, inner, max_size=3).map(
            lambda d: "{ " + ", ".join(f"{_quoted(k)} = {v}" for k, v in d.items()) + " }"
        ),
    ),
    max_leaves=6,
)


def _paths(value: Any, path: Path = ()) -> list[Path]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [p for key, inner in items for p in [(*path, key), *_paths(inner, (*path, key))]]


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3))
def test_every_path_tomllib_sees_has_a_line(tables: dict[str, dict[str, str]]) -> None:
    """Whatever tomllib reads from a text, every one of its paths has a line, and top keys have the exact one."""
    text, expected = "", {}
    for table, pairs in tables.items():
        expected[(table,)] = text.count("\n") + 1
        text += f"[{_quoted(table)}]\n"
        for key, value in pairs.items():
            expected[(table, key)] = text.count("\n") + 1
            text += f"{_quoted(key)} = {value} # end\n"
    found = key_lines(text)
    assert set(_paths(tomllib.loads(text))) == set(found)
    assert {path: found[path] for path in expected} == expected
