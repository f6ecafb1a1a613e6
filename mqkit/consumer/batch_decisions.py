"""The decisions of a batch consumer: when a batch is full or due, and how to settle it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

BATCH_SIZE_MAX = 32_767
"""The prefetch is two batches - one in hand, one on its way - and AMQP counts it in 16 bits."""


@dataclass(frozen=True, slots=True)
class Window:
    """A batch ends at ``size`` messages, or ``within_s`` seconds after its first."""

    size: int
    within_s: float

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


def plan_settling(finished: Sequence[bool]) -> list[Step]:
    """Settle a batch whose deliveries are in the order of their tags, with nothing unsettled
    before them: one multiple ack for the finished prefix, the rest one by one."""
    prefix = next((i for i, done in enumerate(finished) if not done), len(finished))
    steps = [Step(Verb.ACK_MULTIPLE, prefix - 1, prefix)] if prefix else []
    steps += [
        Step(Verb.ACK if finished[index] else Verb.NACK, index)
        for index in range(prefix, len(finished))
    ]
    return steps
