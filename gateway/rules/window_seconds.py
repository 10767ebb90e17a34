"""Where the time of a rule over windows went: known only when a window is judged, and never more than has passed."""

from gateway.model import Verdict

__all__ = ["WindowSeconds"]


class WindowSeconds:
    """The account of one rule on one channel since `start_us`; what no window has claimed is not evaluable.

    Valid discharging time takes its window's verdict, time known to be idle is no discharge.
    """

    __slots__ = ("_spent_us", "_start_us", "_total_us")

    def __init__(self, start_us: int) -> None:
        self._start_us = start_us
        self._spent_us = dict.fromkeys(Verdict, 0)
        self._total_us = 0

    def settle(self, verdict: Verdict, spent_us: int, mono_us: int) -> None:
        """Claim time up to a moment; what lies before the start of the account is not its own."""
        spent_us = max(0, min(spent_us, mono_us - self._start_us - self._total_us))
        self._spent_us[verdict] += spent_us
        self._total_us += spent_us

    def report(self, mono_us: int) -> dict[Verdict, int]:
        """Microseconds by verdict up to a moment, which is not before the last one claimed."""
        spent_us = dict(self._spent_us)
        spent_us[Verdict.NOT_EVALUABLE] += mono_us - self._start_us - self._total_us
        return spent_us
