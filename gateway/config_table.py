"""What every table of the site file is made of: its kinds of values, and the model behind it.

The only module that knows pydantic.
"""

from collections.abc import Mapping
from copy import deepcopy
from datetime import date
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from gateway.config_mistakes import known_keys, prune, reworded
from gateway.config_words import parse_clock_min, parse_rate, parse_span, said
from gateway.problems import Problems
from gateway.toml_lines import Path as KeyPath
from gateway.units import parse_duration_us, parse_quantity

__all__ = [
    "Angle", "ClockTime", "Day", "Duration", "Field", "Length", "Number", "OpenTable", "Quantity", "Rate", "Share",
    "SpanText", "Table", "Word", "checked", "schema_of",
]  # fmt: skip

_QUANTITY_PATTERN = r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*\S+\s*$"
_ROUNDS = 8  # a wrong list item makes its list missing, which makes its table missing: three suffice


def _text_of(kind: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": _QUANTITY_PATTERN, "examples": [example], "description": kind})


Duration = Annotated[int, BeforeValidator(said(parse_duration_us, "15 min")), _text_of("a duration", "15 min")]
ClockTime = Annotated[
    int,
    BeforeValidator(parse_clock_min),
    WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "examples": ["07:00"]}),
]
Quantity = Annotated[
    tuple[float, str], PlainValidator(said(parse_quantity, "10 gpm")), _text_of("a quantity", "10 gpm")
]
Length = Annotated[
    tuple[float, str],
    PlainValidator(said(partial(parse_quantity, example="6 in"), "6 in")),
    _text_of("a length", "6 in"),
]
Angle = Annotated[
    tuple[float, str],
    PlainValidator(said(partial(parse_quantity, example="60 deg"), "60 deg")),
    _text_of("an angle", "60 deg"),
]
Share = Annotated[
    tuple[float, str],
    PlainValidator(said(partial(parse_quantity, example="1 %"), "1 %")),
    _text_of("a share", "1 %"),
]
Rate = Annotated[tuple[float, str], PlainValidator(said(parse_rate, "0.5 pH/min")), _text_of("a rate", "0.5 pH/min")]
SpanText = Annotated[
    tuple[tuple[float, str] | None, tuple[float, str] | None],
    PlainValidator(parse_span),
    WithJsonSchema(
        {
            "description": 'lowest and highest, as ["0 pH", "14 pH"]; one side may be left open as { high = "14 pH" }',
            "oneOf": [
                {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
                {
                    "type": "object",
                    "properties": {"low": {"type": "string"}, "high": {"type": "string"}},
                    "additionalProperties": False,
                    "minProperties": 1,
                },
            ],
        }
    ),
]
Number = Annotated[float, Field(allow_inf_nan=False)]
Word = Annotated[str, Field(pattern=r"\S")]
Day = Annotated[date, WithJsonSchema({"type": "string", "format": "date"})]


class Table(BaseModel):
    """Any table of the site file: unknown keys are errors, and nothing is coerced."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)


class OpenTable(Table):
    """A table whose other keys are checked elsewhere: a part's own options, overrides of a profile."""

    model_config = ConfigDict(extra="allow")


_Model = TypeVar("_Model", bound=Table)


def schema_of(model: type[Table]) -> dict[str, Any]:
    """The JSON Schema of a table."""
    schema = TypeAdapter(model).json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def checked(model: type[_Model], content: Mapping[str, Any], problems: Problems, fallback: Mapping[str, Any]) -> _Model:
    """The content as that table, without what is wrong in it, which goes to `problems`; else the `fallback`."""
    rest = deepcopy(dict(content))
    told: list[KeyPath] = []
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(rest)
        except ValidationError as error:
            mistakes = [(tuple(e["loc"]), dict(e)) for e in error.errors(include_url=False)]
        for path, mistake in mistakes:
            if not any(path[: len(other)] == other or other[: len(path)] == path for other in told):
                problems.error(path, reworded(mistake, known_keys(model, path[:-1])))
            told.append(path)
        for path, mistake in mistakes:
            prune(rest, path, missing=mistake["type"] == "missing")
    return model.model_validate(fallback)
