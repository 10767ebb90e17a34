"""The documented shape of a pack: its example is judged by, its JSON Schema takes what the loader takes."""

import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gateway import config
from gateway.problems import Problems
from gateway.rules.pack import HEAD_KEYS, NOTE_KEYS, OPTION_KEYS, TOP_KEYS, parse_pack
from gateway.rules.provision import KINDS, RELAXED_KEYS, RULE_KEYS
from gateway.schema import pack_schema, run_pack_schema
from gateway.shipped import names, shipped
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "packs.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
WHOLE = next(text for text in EXAMPLES if text.startswith("[pack]"))
ADDED = next(text for text in EXAMPLES if "[[waivers]]" in text)

SITE = """
[site]
id = "t"
name = "T"
discharger = "D"
time_zone = "America/New_York"
ordinances = %s
[channels.ph]
quantity = "pH"
[channels.flow]
quantity = "flow"
unit = "gpm"
"""


def _as_json(content: Any) -> Any:
    return json.loads(json.dumps(content, default=str))


def test_the_example_of_the_page_is_a_whole_pack() -> None:
    """The pack printed in the documentation loads without a mistake, into the rules it describes."""
    problems = Problems("page", {})
    pack = parse_pack(tomllib.loads(WHOLE), problems)
    assert problems.errors == []
    assert [(r.id, r.kind, r.limit, r.factor) for r in pack.rules] == [
        ("mk-ph-low", "limit", 6.0, None),
        ("mk-slug-flow", "slug", None, 4.0),
        ("mk-metal-copper", "average", 2.0, None),
        ("mk-metal-zinc", "average", 3.5, None),
    ]
    assert pack.rules[2].title == "Metal: copper"
    assert [note.rules for note in pack.notes] == [("mk-metal-*",)]


def test_what_the_page_lets_a_site_file_add_is_sound(tmp_path: Path) -> None:
    """The part of a site file printed in the documentation loads beside the packs it names."""
    path = tmp_path / "site.toml"
    path.write_text(SITE % '["little-valley", "us-federal"]' + ADDED, encoding="utf-8")
    site = config.load(path, for_replay=True)
    rules = {rule.alarm: rule for rule in site.rules}
    assert [(t.kind, t.limit) for t in rules["lv-ph-high"].terms] == [("waiver", 10.0)]
    assert [(t.kind, t.limit) for t in rules["lv-tox-copper-24h"].terms] == [("agreement", 3.0)]
    assert [(t.kind, t.limit) for t in rules["us-ph-low"].terms] == [("permit", 5.5)]
    assert rules["lv-ph-low"].limit == 5.8
    assert rules["us-ph-excursion-total"].limit == 446.0
    jsonschema.validate(_as_json(tomllib.loads(path.read_text(encoding="utf-8"))), config.json_schema())


@pytest.mark.parametrize(
    "key", [*RULE_KEYS, *HEAD_KEYS, *OPTION_KEYS, *NOTE_KEYS, *TOP_KEYS, *RELAXED_KEYS, *KINDS, "each"]
)
def test_the_page_names_every_key(key: str) -> None:
    """Nothing may stand in a pack that its documentation does not name."""
    assert re.search(rf"\b{re.escape(key)}\b", PAGE)


def test_the_schema_knows_the_keys_of_the_loader() -> None:
    """An editor underlines exactly the keys that loading refuses."""
    schema = pack_schema()
    rule = schema["properties"]["rules"]["items"]["properties"]
    assert set(schema["properties"]) == set(TOP_KEYS)
    assert set(schema["properties"]["pack"]["properties"]) == set(HEAD_KEYS)
    assert set(rule) == {*RULE_KEYS, "each"}
    assert set(rule["each"]["items"]["properties"]) == {*RULE_KEYS, "row", "name"}
    assert set(rule["relaxed"]["properties"]) == set(RELAXED_KEYS)
    assert set(schema["properties"]["notes"]["items"]["properties"]) == set(NOTE_KEYS)
    assert set(schema["properties"]["options"]["additionalProperties"]["properties"]) == set(OPTION_KEYS)


@pytest.mark.parametrize("name", names("ordinances"))
def test_the_schema_takes_the_packs(name: str) -> None:
    """The JSON Schema that editors use accepts every shipped pack as it is written."""
    out = io.StringIO()
    assert run_pack_schema(out) == 0
    schema = json.loads(out.getvalue())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(_as_json(tomllib.loads(shipped("ordinances", name).read_text(encoding="utf-8"))), schema)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('kind = "slug"', 'kind = "sludge"'),
        ('duration = "20 min"', "duration = 20"),
        ('comparison = "<"', 'comparison = "below"'),
        ('quantity = "flow"', 'quantity = "flood"'),
        ('window = "day"', 'widow = "day"'),
        ('row = "zinc"', 'rwo = "zinc"'),
        ('version = "2026-01"', "version = 1"),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(before: str, after: str) -> None:
    """A shape that loading would refuse is refused in the editor already, and the other way round here."""
    assert before in WHOLE
    content = tomllib.loads(WHOLE.replace(before, after, 1))
    problems = Problems("page", {})
    parse_pack(content, problems)
    assert problems.errors
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_as_json(content), pack_schema())
