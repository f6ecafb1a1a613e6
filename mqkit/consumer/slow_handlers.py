"""The watch over handlers that run for long. RabbitMQ closes the channel of a delivery that is not
acked within its consumer timeout (https://www.rabbitmq.com/docs/consumers#acknowledgement-timeout),
and then everything that the channel had at hand is delivered again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from mqkit.consumer.observing.log_fields import log_fields
from mqkit.consumer.settlement_steps import Arrival
from mqkit.timing.clock import Clock

CONSUMER_TIMEOUT_S = 1800.0
"""RabbitMQ's, where neither queue nor consumer says another. A policy can't be seen from here."""

CONSUMER_TIMEOUT = "x-consumer-timeout"
"""In milliseconds: an argument of a queue and of a consumer."""

LOOKS = 4
"""Looks within the consumer timeout: a handler that is seen at three of them has run for half of
it."""

_LOG = logging.getLogger(__name__)


def consumer_timeout_s(*arguments: Mapping[str, Any] | None) -> float:
    """The shortest consumer timeout of these arguments, or RabbitMQ's own."""
    said = [
        value / 1000
        for each in arguments
        if isinstance(value := (each or {}).get(CONSUMER_TIMEOUT), int) and value > 0
    ]
    return min(said, default=CONSUMER_TIMEOUT_S)


def warn_of_timeout(queue: str, handler_timeout_s: float | None, broker_timeout_s: float) -> None:
    """A line where a handler may take longer than the broker waits for its ack."""
    if handler_timeout_s is not None and handler_timeout_s > broker_timeout_s:
        _LOG.warning(
            "the handler of %s may take %g s, but the broker's consumer timeout is %g s: what is"
            " not acked by then is delivered again",
            queue,
            handler_timeout_s,
            broker_timeout_s,
        )


class SlowHandlers:
    """Looks at what the workers of one consumer have at hand: ``at_hand`` has the arrival that each
    is at, or ``None``."""

    def __init__(
        self,
        queue: str,
        at_hand: Sequence[Arrival | None],
        broker_timeout_s: float,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._at_hand = at_hand
        self._broker_timeout_s = broker_timeout_s
        self._clock = clock
        self._seen: list[tuple[Arrival | None, int]] = [(None, 0)] * len(at_hand)

    async def run(self) -> None:
        """Look, until cancelled."""
        while True:
            await self._clock.sleep(self._broker_timeout_s / LOOKS)
            self.look()

    def look(self) -> None:
        """Tell of each handler that has been at the same message since the look before the last."""
        for place, arrival in enumerate(self._at_hand):
            before, times = self._seen[place]
            times = times + 1 if arrival is not None and arrival is before else 0
            self._seen[place] = arrival, times
            if times == LOOKS // 2:
                assert arrival is not None
                _LOG.warning(
                    "a handler of %s has been at message %s for %g s at least: the broker waits"
                    " %g s for its ack, then it delivers the message again",
                    self._queue,
                    arrival.delivery.message_id,
                    self._broker_timeout_s / 2,
                    self._broker_timeout_s,
                    extra=log_fields(arrival.delivery, self._queue),
                )
