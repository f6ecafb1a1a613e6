"""The faults of the demo's handlers, planned by a message's number. Pure.

Of a hundred messages two fail for a while and one for ever; the first two of a run are among them,
so that ten records show the same as twenty thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mqkit.retry import RetryPolicy

TRANSIENT_EVERY = 50
"""One message in so many fails, and succeeds when it is tried again."""

FOREVER_EVERY = 100
"""One message in so many fails until the bug is fixed."""


class Verdict(StrEnum):
    """The action of a handler on one delivery."""

    PROCESS = "process"
    FAIL_AND_RETRY = "fail and retry"
    """Another attempt follows."""
    FAIL_AND_PARK = "fail and park"
    """This attempt was the last."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one queue, whose retry policy is ``policy``.

    A queue without a policy has no faults: nothing would become of a failure but the same again.
    One that drops what keeps failing has only transient ones.
    """

    policy: RetryPolicy | None

    def judge(self, number: int, failures: int, *, bug_is_fixed: bool) -> Verdict:
        """The verdict on message ``number``, which has failed ``failures`` times on this queue."""
        if self.policy is None:
            return Verdict.PROCESS
        retries = len(self.policy.after)
        if self.fails_for_ever(number):
            if bug_is_fixed:
                return Verdict.PROCESS
            return Verdict.FAIL_AND_RETRY if failures < retries else Verdict.FAIL_AND_PARK
        if failures < min(self._transient_failures(number), retries):
            return Verdict.FAIL_AND_RETRY
        return Verdict.PROCESS

    def fails_for_ever(self, number: int) -> bool:
        """True if message ``number`` meets the bug."""
        return self.policy is not None and self.policy.parks and number % FOREVER_EVERY == 1

    def _transient_failures(self, number: int) -> int:
        """Once, or for every second of them twice."""
        if number % TRANSIENT_EVERY:
            return 0
        return 1 + number // TRANSIENT_EVERY % 2
