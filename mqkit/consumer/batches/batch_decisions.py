"""The decisions of a batch consumer: when a batch is full or due, and how to settle it. Pure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

PREFETCH_MAX = 65_535
"""AMQP counts it in 16 bits."""

BATCH_SIZE_MAX = PREFETCH_MAX // 2
"""The prefetch is two batches at least: one in hand, one on its way."""


@dataclass(frozen=True, slots=True)
class Window:
    """A batch ends at ``size`` messages, or ``within_s`` seconds after its first, or before the
    message with which its bodies would be more than ``bytes_max``; one message is always taken.
    ``concurrency`` batches are handled at once."""

    size: int
    within_s: float
    bytes_max: int = sys.maxsize
    concurrency: int = 1

    @property
    def prefetch(self) -> int:
        """A batch more than are handled at once: the next one arrives meanwhile."""
        return (self.concurrency + 1) * self.size

    def remaining_s(self, count: int, first_at_s: float, now_s: float) -> float:
        """Seconds to wait for one more message; zero when the batch ends here."""
        if count >= self.size:
            return 0.0
        return max(0.0, first_at_s + self.within_s - now_s)


class Verb(StrEnum):
    """The ways to settle a delivery."""

    ACK = "ack"
    ACK_MULTIPLE = "ack multiple"
    """This delivery and all unsettled ones before it."""
    NACK = "nack"
    """Back to its queue, or to its dead-letter exchange."""


@dataclass(frozen=True, slots=True)
class Step:
    """``verb`` for the delivery at ``index``; ``covers`` is how many deliveries that settles."""

    verb: Verb
    index: int
    covers: int = 1


def plan_settling(finished: Sequence[bool], *, alone: bool) -> list[Step]:
    """Settle a batch whose deliveries are in the order of their tags.

    ``alone``: nothing before them is unsettled, so there is one multiple ack for the finished
    prefix, and the rest goes one by one; where not, all go one by one.
    """
    prefix = next((i for i, done in enumerate(finished) if not done), len(finished))
    if not alone:
        prefix = 0
    steps = [Step(Verb.ACK_MULTIPLE, prefix - 1, prefix)] if prefix else []
    steps += [
        Step(Verb.ACK if finished[index] else Verb.NACK, index)
        for index in range(prefix, len(finished))
    ]
    return steps
