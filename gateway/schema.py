"""The body of `schema`: the JSON Schema of the site file, for editors that complete and check as one types."""

import json
from typing import TextIO

from gateway.config import json_schema

__all__ = ["run_schema"]


def run_schema(out: TextIO) -> int:
    """Write the schema; always exit status 0."""
    out.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
