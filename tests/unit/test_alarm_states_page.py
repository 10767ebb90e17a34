"""The page about the alarm states says what the alarm table says."""

import importlib.util
from pathlib import Path
from types import ModuleType

from gateway.alarms.machine import TABLE

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "draw_alarm_states.py"


def drawer() -> ModuleType:
    """The script that draws the page, loaded from where it lies."""
    spec = importlib.util.spec_from_file_location("draw_alarm_states", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_drawn_from_the_table() -> None:
    """The page in docs is what the script draws from the table now."""
    module = drawer()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: python docs/draw_alarm_states.py"


def test_the_page_has_every_row_of_the_table_once() -> None:
    """As many arrows and as many table lines as the table has rows."""
    text = drawer().page()
    rows = sum(len(rows) for rows in TABLE.values())
    assert text.count(" --> ") == rows
    assert sum(line.startswith("| ") and not line.startswith("| from") for line in text.splitlines()) == rows
