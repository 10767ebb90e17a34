"""The simulated discharge is a function of seed, scenario and moment, and of nothing else."""

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from simulators.manhole import Manhole
from simulators.scenario import load

SCENARIOS = ("acid-dump", "demo", "slug")


@settings(max_examples=25)
@given(
    name=st.sampled_from(SCENARIOS),
    seed=st.integers(0, 50),
    steps=st.lists(st.integers(0, 200), min_size=1, max_size=12),
)
def test_the_answer_does_not_depend_on_who_asked_before(name: str, seed: int, steps: list[int]) -> None:
    """However often and whenever somebody looked, the moment at the end looks the same as to one who came just then."""
    scenario = load(name)
    moments = list(accumulate(steps))
    watched = Manhole(seed, scenario)
    seen = [watched.at(moment) for moment in moments]
    assert Manhole(seed, scenario).at(moments[-1]) == seen[-1]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), thousandths=st.integers(0, 999))
def test_within_a_second_nothing_moves(seed: int, thousandths: int) -> None:
    """The model has whole seconds: any moment within one sees its beginning."""
    scenario = load("slug")
    assert Manhole(seed, scenario).at(400 + thousandths / 1000) == Manhole(seed, scenario).at(400)
