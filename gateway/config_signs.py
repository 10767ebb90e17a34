"""[signs]: the shape of the signs of life."""

from typing import Annotated

from gateway.config_table import ClockTime, Duration, Field, Table, Word

__all__ = ["SignsTable"]


class SignsTable(Table):
    """[signs]: how a living station makes itself heard, so that a dead one is missed."""

    daily: ClockTime | None = None
    """Site time of the daily text, as "07:00"."""
    tell: Annotated[list[Word], Field(min_length=1)]
    """Who gets it, and the text after a stop that nobody ordered: contacts by name, or by role."""
    ping: str | None = None
    """An address that is fetched while all is well; whoever watches it misses the station when it stops."""
    ping_every: Duration | None = None
    """5 min unless stated."""
