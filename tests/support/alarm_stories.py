"""The stories of the alarm machine: a sequence in, and after each step all that comes out, "nothing" included.

One line of a story is (moment, what happens, what comes out). An output reads `moment edge #occurrence from>to`, with
`!` when somebody has to be told and `~` when it was inferred after a restart. Moments are monotonic microseconds.
"""

from dataclasses import dataclass, replace

from gateway.alarms.machine import observe
from gateway.alarms.moves import Event, Stimulus
from gateway.model import AlarmEdge, AlarmEvent, Condition, Instant, Severity
from gateway.site import AlarmPolicy

__all__ = ["PLAIN", "STORIES", "UTC_US", "Story", "instant", "stimulus", "told"]

PLAIN = AlarmPolicy("ph-low", Severity.HIGH, max_shelve_us=100)
DELAYED = replace(PLAIN, on_delay_us=10, off_delay_us=5)
DEADBAND = replace(PLAIN, deadband=0.2)
LATCHING = replace(PLAIN, latching=True)
REALARM = replace(PLAIN, realarm_us=60)
NO_ACK = replace(PLAIN, ack_required=False)
LATCHING_NO_ACK = replace(LATCHING, ack_required=False)
UTC_US = 1_000_000  # the wall clock is this much ahead of the monotonic one


def instant(mono_us: int) -> Instant:
    """A moment on both clocks."""
    return Instant(UTC_US + mono_us, mono_us)


def stimulus(words: str, policy: AlarmPolicy) -> Stimulus:
    """What a word of a story means: `true:WARNING`, `false`, `within` (margin 0.1), `?`, `ack:2`, `shelve:50`."""
    word, _, rest = words.partition(":")
    if word in ("true", "false", "within", "?"):
        active = {"true": True, "false": False, "within": False, "?": None}[word]
        severity = Severity[rest] if rest else Severity.HIGH
        condition = Condition("ph-low", active, severity, margin=0.1 if word == "within" else None)
        return Stimulus(observe(condition, policy), severity)
    acts = {
        "tick": Stimulus(Event.TICK),
        "ack": Stimulus(Event.ACKNOWLEDGE, actor="Ann", occurrence=int(rest) if rest else None),
        "reset": Stimulus(Event.RESET, actor="Ann"),
        "shelve": Stimulus(Event.SHELVE, actor="Ann", reason="cleaning", until_us=int(rest) if rest else None),
        "unshelve": Stimulus(Event.UNSHELVE, actor="Ann"),
        "suppress": Stimulus(Event.SUPPRESS, actor="sensor-ph"),
        "unsuppress": Stimulus(Event.UNSUPPRESS, actor="sensor-ph"),
        "out": Stimulus(Event.OUT_OF_SERVICE, actor="Ann", reason="probe away"),
        "return": Stimulus(Event.RETURN_TO_SERVICE, actor="Ann"),
    }
    return acts[word]


def told(edges: tuple[AlarmEvent, ...]) -> str:
    """The outputs of one step, as a story writes them."""
    return "; ".join(
        f"{e.at.mono_us} {e.edge} #{e.occurrence} {e.from_state.value}>{e.to_state.value}"
        + (f" ({e.reason})" if e.edge is AlarmEdge.REFUSED else "")
        + "!" * e.annunciate
        + "~" * e.inferred
        for e in edges
    )


@dataclass(frozen=True)
class Story:
    """One English sentence, a policy, and the lines."""

    says: str
    policy: AlarmPolicy
    lines: tuple[tuple[int, str, str], ...]


RAISE = (0, "true", "0 raised #1 A>B!")
STORIES = (
    Story("A to B: a true cause without a delay raises at once, and once", PLAIN, (
        (0, "false", ""), (1, "true", "1 raised #1 A>B!"), (2, "true", ""), (3, "tick", ""),
    )),
    Story("A stays A until the cause was true for the whole on-delay; the edge is stamped at its end", DELAYED, (
        (0, "true", ""), (9, "tick", ""), (9, "true", ""), (13, "tick", "10 raised #1 A>B!"),
    )),
    Story("a cause that goes before the on-delay is over raises nothing, and the next one starts afresh", DELAYED, (
        (0, "true", ""), (9, "false", ""), (10, "true", ""), (19, "tick", ""), (20, "tick", "20 raised #1 A>B!"),
    )),
    Story("an on-delay that was over before the cause went has raised, however late the tick", DELAYED, (
        (0, "true", ""), (12, "false", "10 raised #1 A>B!"), (17, "tick", "17 cleared #1 B>D"),
    )),
    Story("while nobody can tell an on-delay does not mature; it runs on with what was left", DELAYED, (
        (0, "true", ""), (6, "?", ""), (50, "tick", ""), (60, "?", ""), (70, "true", ""), (73, "tick", ""),
        (75, "tick", "74 raised #1 A>B!"),
    )),
    Story("nobody can tell raises nothing in A, and a false cause after it is just normal", DELAYED, (
        (0, "?", ""), (50, "tick", ""), (51, "false", ""), (52, "?", ""), (53, "false", ""),
    )),
    Story("a pending cause that fell back within the deadband was not true for the whole time", DEADBAND, (
        (0, "within", ""), (1, "true", "1 raised #1 A>B!"),
    )),
    Story("pending on, within the deadband: back to normal", replace(DELAYED, deadband=0.2), (
        (0, "true", ""), (5, "within", ""), (11, "tick", ""), (12, "true", ""), (22, "tick", "22 raised #1 A>B!"),
    )),
    Story("pending on, then unknown, then false: nothing", DELAYED, (
        (0, "true", ""), (5, "?", ""), (6, "false", ""), (20, "tick", ""),
    )),
    Story("B to D: the cause gone for the off-delay leaves an unacknowledged alarm standing", DELAYED, (
        (0, "true", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", ""), (15, "tick", ""),
        (16, "tick", "16 cleared #1 B>D"),
        (99, "false", ""),
    )),
    Story("the off-delay keeps an alarm active through brief returns", DELAYED, (
        (0, "true", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", ""), (14, "true", ""), (15, "false", ""),
        (19, "false", ""), (20, "tick", "20 cleared #1 B>D"),
    )),
    Story("while nobody can tell nothing clears; the off-delay runs on with what was left", DELAYED, (
        (0, "true", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", ""), (13, "?", ""), (90, "tick", ""),
        (91, "false", ""), (93, "tick", ""), (94, "tick", "94 cleared #1 B>D"),
    )),
    Story("an active alarm stays active while nobody can tell", PLAIN, (
        RAISE, (1, "?", ""), (999, "tick", ""), (1000, "true", ""), (1001, "false", "1001 cleared #1 B>D"),
    )),
    Story("within the deadband an alarm is not false; clear of it, it is", DEADBAND, (
        RAISE, (1, "within", ""), (2, "within", ""), (3, "false", "3 cleared #1 B>D"), (4, "within", ""),
    )),
    Story("falling back into the deadband during the off-delay makes it active again", replace(DELAYED, deadband=0.2), (
        (0, "true", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", ""), (13, "within", ""), (18, "tick", ""),
        (20, "false", ""), (25, "tick", "25 cleared #1 B>D"),
    )),
    Story("a reading within the deadband after silence counts as a reading", DEADBAND, (
        RAISE, (1, "?", ""), (2, "within", ""), (3, "false", "3 cleared #1 B>D"),
    )),
    Story("B to C: an acknowledgement binds to the occurrence; a second one changes nothing", PLAIN, (
        RAISE, (1, "ack:1", "1 acknowledged #1 B>C"), (2, "ack:1", ""), (3, "ack", ""), (4, "tick", ""),
    )),
    Story("a stale or premature acknowledgement is refused and takes nothing", PLAIN, (
        (0, "ack", "0 refused #0 A>A (nothing to acknowledge: it was never raised)"),
        (0, "true", "0 raised #1 A>B!"), (1, "false", "1 cleared #1 B>D"),
        (2, "true", "2 superseded #1 D>B; 2 raised #2 D>B!"),
        (3, "ack:1", "3 refused #2 B>B (occurrence 1 is over; the present one is 2)"),
        (4, "ack:3", "4 refused #2 B>B (there is no occurrence 3 yet; the last is 2)"),
        (5, "ack:2", "5 acknowledged #2 B>C"),
    )),
    Story("B to A: no acknowledgement required, the cause gone", NO_ACK, (RAISE, (1, "false", "1 cleared #1 B>A"))),
    Story("B to A: a pre-alarm that goes away needs nobody", PLAIN, (
        (0, "true:NOTICE", "0 raised #1 A>B!"), (1, "false", "1 cleared #1 B>A"),
    )),
    Story("B to D: a pre-alarm that rose higher in its occurrence does need somebody", PLAIN, (
        (0, "true:NOTICE", "0 raised #1 A>B!"), (1, "true:HIGH", "1 severity_up #1 B>B!"), (2, "true:NOTICE", ""),
        (3, "false", "3 cleared #1 B>D"),
    )),
    Story("B to E: a latching alarm holds, unacknowledged", LATCHING, (RAISE, (1, "false", "1 cleared #1 B>E"))),
    Story("B to F: a latching alarm that needs no acknowledgement still wants its reset", LATCHING_NO_ACK, (
        RAISE, (1, "false", "1 cleared #1 B>F"), (2, "reset", "2 reset #1 F>A"),
    )),
    Story("B to A: a pre-alarm does not latch", LATCHING, (
        (0, "true:NOTICE", "0 raised #1 A>B!"), (1, "false", "1 cleared #1 B>A"),
    )),
    Story("B to B: a rising severity tells again in the same occurrence; an equal or lower one does not", PLAIN, (
        (0, "true:WARNING", "0 raised #1 A>B!"), (1, "true:WARNING", ""), (2, "true:HIGH", "2 severity_up #1 B>B!"),
        (3, "true:WARNING", ""), (4, "true:HIGH", ""), (5, "true:CRITICAL", "5 severity_up #1 B>B!"),
    )),
    Story("B to B: a severity that rises during the off-delay tells again", DELAYED, (
        (0, "true:WARNING", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", ""),
        (13, "true:HIGH", "13 severity_up #1 B>B!"),
        (99, "tick", ""),
    )),
    Story("a severity that changes during the on-delay is what the raise says", DELAYED, (
        (0, "true:NOTICE", ""), (5, "true:HIGH", ""), (10, "tick", "10 raised #1 A>B!"), (11, "true:HIGH", ""),
    )),
    Story("C to A: acknowledged, then gone", PLAIN, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (2, "false", "2 cleared #1 C>A"), (3, "true", "3 raised #2 A>B!"),
    )),
    Story("C to F: acknowledged, then gone, latching; F to A only by a reset", LATCHING, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (2, "reset", "2 refused #1 C>C (the cause is still there)"),
        (3, "false", "3 cleared #1 C>F"), (4, "reset", "4 reset #1 F>A"),
        (5, "reset", "5 refused #1 A>A (nothing is latched)"),
    )),
    Story("C to B: the re-alarm timer runs from the acknowledgement, once per acknowledgement", REALARM, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (60, "tick", ""), (75, "tick", "61 realarmed #1 C>B!"),
        (500, "tick", ""), (501, "ack", "501 acknowledged #1 B>C"), (560, "tick", ""),
        (561, "tick", "561 realarmed #1 C>B!"),
    )),
    Story("an alarm that went and was acknowledged re-alarms nobody", REALARM, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (2, "false", "2 cleared #1 C>A"), (99, "tick", ""),
    )),
    Story("C to B: the severity rises after the acknowledgement", PLAIN, (
        (0, "true:WARNING", "0 raised #1 A>B!"), (1, "ack", "1 acknowledged #1 B>C"), (2, "true:WARNING", ""),
        (3, "true:HIGH", "3 severity_up #1 C>B!"), (4, "ack", "4 acknowledged #1 B>C"),
    )),
    Story("D to A: acknowledged after it went", PLAIN, (
        RAISE, (1, "false", "1 cleared #1 B>D"), (2, "ack:1", "2 acknowledged #1 D>A"),
    )),
    Story("D to B: it comes again unacknowledged: a new occurrence, the old closed as never acknowledged", PLAIN, (
        RAISE, (1, "false", "1 cleared #1 B>D"), (2, "true", "2 superseded #1 D>B; 2 raised #2 D>B!"),
        (3, "false", "3 cleared #2 B>D"),
    )),
    Story("D to B to D: a pre-alarm after an unacknowledged alarm does not take the debt away", PLAIN, (
        RAISE, (1, "false", "1 cleared #1 B>D"), (2, "true:NOTICE", "2 superseded #1 D>B; 2 raised #2 D>B!"),
        (3, "false", "3 cleared #2 B>D"),
    )),
    Story("E to F: acknowledged while latched; reset before that is refused", LATCHING, (
        RAISE, (1, "reset", "1 refused #1 B>B (the cause is still there)"), (2, "false", "2 cleared #1 B>E"),
        (3, "reset", "3 refused #1 E>E (acknowledge it first)"), (4, "ack", "4 acknowledged #1 E>F"),
        (5, "reset", "5 reset #1 F>A"),
    )),
    Story("E to B: it comes again while latched: a new occurrence, and the latch is kept", LATCHING, (
        RAISE, (1, "false", "1 cleared #1 B>E"), (2, "true:NOTICE", "2 superseded #1 E>B; 2 raised #2 E>B!"),
        (3, "false", "3 cleared #2 B>E"), (4, "ack", "4 acknowledged #2 E>F"),
    )),
    Story("F to B: it comes again while latched and acknowledged", LATCHING, (
        RAISE, (1, "false", "1 cleared #1 B>E"), (2, "ack", "2 acknowledged #1 E>F"), (3, "true", "3 raised #2 F>B!"),
    )),
    Story("a reset is refused while the cause is pending again or nobody can tell", replace(LATCHING, on_delay_us=10), (
        (0, "true", ""), (10, "tick", "10 raised #1 A>B!"), (11, "false", "11 cleared #1 B>E"),
        (12, "ack", "12 acknowledged #1 E>F"),
        (13, "?", ""), (14, "reset", "14 refused #1 F>F (nobody can tell whether the cause has gone)"),
        (15, "true", ""), (16, "reset", "16 refused #1 F>F (the cause is there again)"),
        (17, "false", ""), (18, "reset", "18 reset #1 F>A"),
    )),
    Story("in D there is nothing to reset", PLAIN, (
        RAISE, (1, "false", "1 cleared #1 B>D"),
        (2, "reset", "2 refused #1 D>D (nothing is latched; acknowledge it instead)"),
    )),
    Story("G: a shelved alarm lives on unseen; unshelving what waits for somebody tells now", PLAIN, (
        (0, "shelve:50", "0 shelved #0 A>G"), (1, "true", "1 raised #1 G>G"), (2, "false", "2 cleared #1 G>G"),
        (3, "unshelve", "3 unshelved #1 G>D!"),
    )),
    Story("G over C: unshelving an acknowledged alarm tells nobody", PLAIN, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (2, "shelve:50", "2 shelved #1 C>G"),
        (3, "unshelve", "3 unshelved #1 G>C"),
    )),
    Story("G: an acknowledgement and a severity are taken on the shelf", PLAIN, (
        (0, "true:WARNING", "0 raised #1 A>B!"), (1, "shelve:50", "1 shelved #1 B>G"),
        (2, "true:HIGH", "2 severity_up #1 G>G"),
        (3, "ack:1", "3 acknowledged #1 G>G"), (50, "tick", "50 unshelved #1 G>C"),
    )),
    Story("G: the shelf ends at its time, however late the tick, and tells if somebody is owed", PLAIN, (
        RAISE, (1, "shelve:50", "1 shelved #1 B>G"), (49, "tick", ""), (80, "tick", "50 unshelved #1 G>B!"),
        (99, "tick", ""),
    )),
    Story("G: a latched alarm under the shelf tells when it comes out", LATCHING, (
        RAISE, (1, "shelve:50", "1 shelved #1 B>G"), (2, "false", "2 cleared #1 G>G"),
        (50, "tick", "50 unshelved #1 G>E!"),
    )),
    Story("G: a one-shot shelf lasts for the present active period", PLAIN, (
        RAISE, (1, "ack", "1 acknowledged #1 B>C"), (2, "shelve", "2 shelved #1 C>G"),
        (3, "false", "3 cleared #1 G>G; 3 unshelved #1 G>A"), (4, "true", "4 raised #2 A>B!"),
    )),
    Story("G: a one-shot shelf waits for the next active period, and tells of what nobody saw", PLAIN, (
        (0, "shelve", "0 shelved #0 A>G"), (1, "true", "1 raised #1 G>G"),
        (2, "false", "2 cleared #1 G>G; 2 unshelved #1 G>D!"),
    )),
    Story("G: a one-shot shelf ends at the longest permitted time too", PLAIN, (
        RAISE, (1, "shelve", "1 shelved #1 B>G"), (200, "tick", "101 unshelved #1 G>B!"),
    )),
    Story("G: a timed shelf stays through transitions", PLAIN, (
        (0, "shelve:50", "0 shelved #0 A>G"), (1, "true", "1 raised #1 G>G"), (2, "false", "2 cleared #1 G>G"),
        (3, "true", "3 superseded #1 G>G; 3 raised #2 G>G"), (50, "tick", "50 unshelved #2 G>B!"),
    )),
    Story("shelving is bounded, needs an end ahead, and does not renew itself", PLAIN, (
        (5, "shelve:106", "5 refused #0 A>A (at most 0 min)"),
        (5, "shelve:5", "5 refused #0 A>A (the shelf would end before it begins)"),
        (5, "unshelve", "5 refused #0 A>A (not shelved)"), (5, "shelve:105", "5 shelved #0 A>G"),
        (6, "shelve:90", "6 refused #0 G>G (already shelved; unshelve it first)"),
    )),
    Story("an alarm that may not be shelved is not", replace(PLAIN, shelvable=False), (
        RAISE, (1, "shelve:50", "1 refused #1 B>B (this alarm may not be shelved)"),
    )),
    Story("H: suppression silences, the inner state runs on, and coming out tells what is owed", PLAIN, (
        (0, "suppress", "0 suppressed #0 A>H"), (1, "suppress", ""), (2, "true", "2 raised #1 H>H"),
        (3, "unsuppress", "3 unsuppressed #1 H>B!"), (4, "unsuppress", ""),
    )),
    Story("H over A: coming out of a suppression with nothing behind it tells nobody", PLAIN, (
        (0, "suppress", "0 suppressed #0 A>H"), (3, "unsuppress", "3 unsuppressed #0 H>A"),
    )),
    Story("I: out of service silences until it is returned, and then tells what is owed", PLAIN, (
        (0, "return", "0 refused #0 A>A (not out of service)"), (1, "out", "1 out_of_service #0 A>I"),
        (2, "out", "2 refused #0 I>I (already out of service)"), (3, "true", "3 raised #1 I>I"),
        (999, "tick", ""), (1000, "return", "1000 returned_to_service #1 I>B!"),
    )),
    Story("covers are independent: coming out of one while under another tells nobody, the last one tells", PLAIN, (
        RAISE, (1, "shelve:50", "1 shelved #1 B>G"), (2, "suppress", "2 suppressed #1 G>H"),
        (3, "out", "3 out_of_service #1 H>I"),
        (50, "tick", "50 unshelved #1 I>I"), (51, "return", "51 returned_to_service #1 I>H"),
        (52, "unsuppress", "52 unsuppressed #1 H>B!"),
    )),
    Story("everything that fell due is told in the order of its deadlines", replace(DELAYED, realarm_us=7), (
        (0, "true", ""), (0, "shelve:8", "0 shelved #0 A>G"), (30, "tick", "8 unshelved #0 G>A; 10 raised #1 A>B!"),
        (30, "ack", "30 acknowledged #1 B>C"), (33, "false", ""),
        (60, "tick", "37 realarmed #1 C>B!; 38 cleared #1 B>D"),
    )),
)  # fmt: skip
