"""The lines about messages whose handlers failed: one at each failure, with its traceback when the
message is parked, and else once a minute for each type of error.

What a handler asks for with a signal is no failure: its line is without a traceback, and where the
message is not lost to the queue it is none that Python shows by default.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqkit.consumer.handler import HandlerTimeout
from mqkit.consumer.observing.log_fields import log_fields, log_fields_of_copy
from mqkit.consumer.settlement import (
    Ack,
    DeadLetter,
    Destination,
    Discard,
    Hold,
    Republish,
    Requeue,
    Settlement,
)
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery
from mqkit.retry.signals import Signal
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.timing.token_bucket import TokenBucket

TRACEBACK_EVERY_S = 60.0

UNCONFIRMED_TOLD = 3
"""Lines at first about messages that did not get where they were to go; then one a minute."""

ERROR_TYPES_MAX = 100
"""Types of errors that are remembered. A program may make types as it runs; then some are told
again."""

ERROR_TEXT_MAX = 300
"""Characters of an error's text in a line."""

_LOG = logging.getLogger(__name__)

_WITHOUT_TRACEBACK = (Signal, BodyMisfit, HandlerTimeout)
"""They say all there is to say: no line of the handler is to blame."""


class FailureLog:
    """The failures of one queue's handler."""

    def __init__(self, queue: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self._queue = queue
        self._clock = clock
        self._tracebacks: dict[type[BaseException], TokenBucket] = {}
        self._unconfirmed = TokenBucket(UNCONFIRMED_TOLD, TRACEBACK_EVERY_S, clock)

    def tell(
        self, deliveries: Sequence[Delivery], raised: BaseException, settlement: Settlement
    ) -> None:
        """A line about ``deliveries``, whose handler raised ``raised`` for all of them, and which
        are all settled as ``settlement``, the settlement of the first."""
        fate = _fate(settlement)
        if fate is not None:
            is_lot = isinstance(settlement, Republish) and settlement.to is Destination.PARKING_LOT
            is_asked = isinstance(raised, Signal) and not is_lot and not _is_stuck(settlement)
            level = logging.INFO if is_asked else logging.WARNING
            self._line(deliveries, raised, fate, is_parked=is_lot, level=level)

    def _line(
        self,
        deliveries: Sequence[Delivery],
        raised: BaseException,
        fate: str,
        *,
        is_parked: bool,
        level: int = logging.WARNING,
    ) -> None:
        others = f" and {len(deliveries) - 1} others" if len(deliveries) > 1 else ""
        _LOG.log(
            level,
            "message %s%s from %s %s after %s: %s",
            deliveries[0].message_id,
            others,
            self._queue,
            fate,
            type(raised).__name__,
            " ".join(str(raised).split())[:ERROR_TEXT_MAX],
            exc_info=raised if self._wants_traceback(raised, is_parked=is_parked) else None,
            extra=log_fields(deliveries[0], self._queue),
        )

    def answered(self, question: Delivery, raised: BaseException) -> None:
        """A line about a call whose handler raised ``raised``, which was the answer."""
        self._line([question], raised, "is answered with its error", is_parked=False)

    def too_late(self, delivery: Delivery, raised: BaseException) -> None:
        """A line about a message that was settled already when its handler raised ``raised``. What
        a signal asks for is not done either."""
        self._line([delivery], raised, "stays settled", is_parked=False)

    def not_confirmed(self, settlement: Republish, why: str) -> None:
        """A line about a message that the broker did not take for its tier or parking lot, and that
        is requeued for that."""
        if self._unconfirmed.take():
            _LOG.warning(
                "message %s did not get from %s into its %s, and is requeued: %s",
                settlement.message.properties.message_id,
                self._queue,
                settlement.to,
                why,
                extra=log_fields_of_copy(settlement.message, self._queue),
            )

    def _wants_traceback(self, raised: BaseException, *, is_parked: bool) -> bool:
        if isinstance(raised, _WITHOUT_TRACEBACK):
            return False
        bucket = self._tracebacks.get(type(raised))
        if bucket is None:
            if len(self._tracebacks) >= ERROR_TYPES_MAX:
                self._tracebacks.clear()
            bucket = TokenBucket(1, TRACEBACK_EVERY_S, self._clock)
            self._tracebacks[type(raised)] = bucket
        return bucket.take() or is_parked


def _fate(settlement: Settlement) -> str | None:
    match settlement:
        case Republish(to=Destination.TIER):
            return "goes to a retry tier"
        case Republish():
            return "goes to the parking lot"
        case Hold(after_s):
            return f"is tried again here in {after_s:g} s"
        case Requeue(reason):
            return f"is requeued ({reason})"
        case DeadLetter(reason):
            return f"is dead-lettered ({reason})"
        case Discard(reason):
            return f"is dropped ({reason})"
        case Ack():
            return None


def _is_stuck(settlement: Settlement) -> bool:
    """A queue without what the handler asks for: somebody should give it a retry policy."""
    return isinstance(settlement, (Requeue, DeadLetter))
