"""The instant limit by brute force, written from its text: whole runs and chains are looked at, one by one.

A sample is (second, word): `o` beyond the limit, `w` within it, `d` beyond it but doubtful, `m` missing. Exceeded is
the `confirm`-th of consecutive valid samples beyond, none further from the next than the hold; suspected is as many of
valid and doubtful ones together. Shares no code with the product.
"""

Sample = tuple[int, str]
Event = tuple[str, int, int]  # what, since, at


def judge(samples: list[Sample], confirm: int, hold_s: int) -> list[Event]:
    """Raised, cleared, interrupted and suspected events, in order of time."""
    end_s = samples[-1][0] if samples else 0
    events: list[Event] = []
    resets: list[int] = []  # when a proven run was cut off: what goes on after it may be suspected anew
    for run, after in _stretches([s for s in samples if s[1] in "ow"], hold_s):
        proven = len(run) >= confirm
        if proven:
            events.append(("raised", run[0], run[confirm - 1]))
        if after is not None and after - run[-1] <= hold_s:
            if proven:
                events.append(("cleared", run[0], after))
        elif end_s - run[-1] > hold_s:
            events.append(("interrupted", run[0], run[-1] + hold_s))
            if proven:
                resets.append(run[-1] + hold_s)
    raised = [at for what, _, at in events if what == "raised"]
    for chain, _ in _stretches([s for s in samples if s[1] in "owd"], hold_s):
        spoken: list[int] = [at for at in raised if chain[0] <= at <= chain[-1]]
        for count, at in enumerate(chain, start=1):
            since_s = max([reset for reset in resets if chain[0] <= reset < at], default=-1)
            if count >= confirm and not any(since_s < told <= at for told in spoken):
                events.append(("suspected", chain[0], at))
                spoken.append(at)
    return sorted(events, key=lambda event: (event[2], event[0]))


def _stretches(samples: list[Sample], hold_s: int) -> list[tuple[list[int], int | None]]:
    """Each unbroken stretch of samples beyond the limit, and the moment of the sample after it."""
    found: list[tuple[list[int], int | None]] = []
    stretch: list[int] = []
    for at, word in samples:
        if stretch and (word == "w" or at - stretch[-1] > hold_s):
            found.append((stretch, at))
            stretch = []
        if word != "w":
            stretch.append(at)
    return [*found, (stretch, None)] if stretch else found
