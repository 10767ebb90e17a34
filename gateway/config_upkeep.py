"""The tables of the site file about looking after it."""

from gateway.config_table import Duration, Number, Table

__all__ = ["MaintenanceTable"]


class MaintenanceTable(Table):
    """[maintenance]: how long a channel may be worked on, and what ends it."""

    default: Duration | None = None
    """How long maintenance lasts when nobody says; 60 min unless stated."""
    most: Duration | None = None
    """How long at most; 8 h unless stated, and never more."""
    door: str | None = None
    """The contact of the cabinet's door: closed again, and the probes steady, maintenance ends by itself.

    The site's only contact with the role of a door, unless stated.
    """
    door_closed: Number | None = None
    """What that contact reads while the door is closed; its normal state unless stated, else 1."""
    after_door: Duration | None = None
    """For how long the door must have been closed; 10 min unless stated."""
