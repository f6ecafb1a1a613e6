"""The tally of one ``mqkit publish``: counts of outcomes, and the first failure. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown

SHOWN_FAILURES = 5
"""The first few say what is wrong; thousands more would say the same."""

ADVICE = {
    RejectReason.NO_EXCHANGE: "check the exchange's name, and the vhost of --url; `mqkit topology"
    " apply` declares what a file has",
    RejectReason.UNROUTABLE: "no queue is bound for the routing key: check it, or bind one with"
    " `mqkit topology apply`",
    RejectReason.NACKED: "a queue is full, or the broker's disk failed: try again later",
}
"""Advice for a message that was rejected; other reasons have theirs in the detail."""


class Tally:
    """Counts outcomes in the order of the input."""

    def __init__(self) -> None:
        self.total = 0
        self.confirmed = 0
        self.unknown = 0
        self.rejected: Counter[RejectReason] = Counter()
        self.failures: list[str] = []

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """The outcomes of the next messages."""
        for outcome in outcomes:
            self.total += 1
            match outcome:
                case Confirmed():
                    self.confirmed += 1
                case Rejected(reason, detail):
                    self.rejected[reason] += 1
                    self._fail(f"rejected, {reason}", detail)
                case Unknown(detail):
                    self.unknown += 1
                    self._fail("unknown", detail)

    @property
    def failed(self) -> int:
        """The number of messages that are not known to be safe with the broker."""
        return self.total - self.confirmed

    @property
    def advice(self) -> str | None:
        """Advice about the first kind of rejection for which there is any."""
        return next((ADVICE[reason] for reason in self.rejected if reason in ADVICE), None)

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``; the names in it are stable."""
        return {
            "total": self.total,
            "confirmed": self.confirmed,
            "rejected": {reason.name.lower(): self.rejected[reason] for reason in RejectReason},
            "unknown": self.unknown,
            "failures": self.failures,
        }

    def __str__(self) -> str:
        rejected = "".join(f", {count} {reason}" for reason, count in self.rejected.items())
        unknown = f", {self.unknown} unknown" if self.unknown else ""
        return f"{self.confirmed} of {self.total} confirmed{rejected}{unknown}"

    def _fail(self, what: str, detail: str) -> None:
        if len(self.failures) < SHOWN_FAILURES:
            words = f"{what}: {detail}" if detail else what
            self.failures.append(f"message {self.total}: {words}")
