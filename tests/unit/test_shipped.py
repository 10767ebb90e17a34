"""The data files that come with the product are found by name."""

import pytest

from gateway.errors import ConfigError
from gateway.shipped import KINDS, names, shipped


def test_every_shipped_name_leads_to_a_file() -> None:
    """Whatever `names` lists can be opened."""
    for kind in KINDS:
        for name in names(kind):
            assert shipped(kind, name).is_file()


def test_the_profiles_of_the_first_instruments_are_shipped() -> None:
    """The six instruments of the first release are there."""
    first = {"hamilton-ph-arc", "eh-liquiline-cm44x", "tuf-2000m", "siemens-mag6000", "keller-series30"}
    assert first | {"waveshare-ai8"} <= set(names("devices"))


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    """A technician who mistypes a profile is told the name that was meant."""
    with pytest.raises(ConfigError, match=r"did you mean 'keller-series30'"):
        shipped("devices", "keller-serie30")


def test_an_unknown_kind_is_a_programming_error() -> None:
    """A kind that does not exist is no configuration mistake."""
    with pytest.raises(ValueError, match="unknown kind"):
        names("gadgets")
