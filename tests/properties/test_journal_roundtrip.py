"""Whatever sequence of outcomes goes in, comes back: order, values, quality, from any position, over restarts."""

import asyncio
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model import Instant, Mode, Note, Outcome, Quality, Reading
from gateway.store.chain import verify
from gateway.store.journal import Journal

stamps = st.integers(-(2**62), 2**62)
instants = st.builds(Instant, stamps, stamps, st.booleans())
words = st.text(st.characters(codec="utf-8"), max_size=6)
finite = st.floats(allow_nan=False, allow_infinity=False)
some_readings = st.builds(
    Reading,
    channel=words,
    at=instants,
    raw=st.lists(st.integers(0, 65535), max_size=4).map(tuple),
    value=st.none() | finite,
    quality=st.sampled_from(Quality),
    tests=st.lists(words, max_size=2).map(tuple),
    mode=st.sampled_from(Mode),
    dry=st.booleans(),
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)
notes = st.builds(Note, kind=words, at=instants, body=st.dictionaries(words, plain, max_size=3))
outcomes = st.builds(
    Outcome,
    readings=st.lists(some_readings, max_size=4).map(tuple),
    notes=st.lists(notes, max_size=2).map(tuple),
    state=st.dictionaries(st.sampled_from("abc"), plain, max_size=2),
)


def exactly(body: object) -> str:
    """A text that tells -0.0 from 0.0 and 1.0 from 1, but not the order of a note's keys."""
    return repr(body) if isinstance(body, Reading) else json.dumps(body["body"], sort_keys=True)  # type: ignore[index]


# What happens after an outcome was added: nothing yet, a commit, or a clean restart.
steps = st.tuples(outcomes, st.sampled_from(("add", "add", "commit", "restart")))


@settings(max_examples=60)
@given(script=st.lists(steps, max_size=8), position=st.integers(0, 60), page=st.integers(1, 7))
def test_any_sequence_of_outcomes_reads_back(script: list[tuple[Outcome, str]], position: int, page: int) -> None:
    """Every record comes back equal and in order, whole and from a position in the middle in pages of any size."""
    expected: list[object] = []
    state: dict[str, object] = {}

    async def run(path: Path) -> None:
        journal = Journal(path, "site", "boot")
        await journal.open(Instant(0, 0))
        for second, (outcome, then) in enumerate(script, start=1):
            journal.add(outcome)
            expected.extend(outcome.readings)
            expected.extend({"body": note.body} for note in outcome.notes)
            for key, value in outcome.state.items():
                state.pop(key, None)
                if value is not None:
                    state[key] = value
            if then != "add":
                await journal.commit(Instant(second, second))
            if then == "restart":
                await journal.close(Instant(second, second))
                journal = Journal(path, "site", "boot")
                recovered = await journal.open(Instant(second, second))
                assert recovered.state == state
                assert recovered.records == len(expected)
        await journal.commit(Instant(100, 100))
        everything = await journal.records(0, 1000)
        assert [record.seq for record in everything] == list(range(1, len(expected) + 1))
        for record, wanted in zip(everything, expected, strict=True):
            assert exactly(record.body) == exactly(wanted)
        paged = []
        while got := await journal.records(paged[-1].seq if paged else position, page):
            assert len(got) <= page
            paged.extend(got)
        assert paged == list(everything[position:])
        await journal.close(Instant(101, 101))
        verdict = verify(path)
        assert verdict.intact
        assert verdict.records == len(expected)

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(Path(directory) / "j.db"))
