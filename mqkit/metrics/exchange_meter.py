"""The meter of publishes to one exchange, and the publisher that is measured by it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from mqkit.message import Message
from mqkit.metrics.bounded import OTHER, BoundedCells
from mqkit.metrics.histogram import Histogram
from mqkit.metrics.values import ExchangeMetrics
from mqkit.middleware.surrounded_publisher import Publishes
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool import Fill, WhenBlocked


class ExchangeMeter:
    """The cells of one exchange."""

    __slots__ = ("_rejected", "_unknown", "confirmed")

    def __init__(self) -> None:
        self.confirmed = Histogram()
        self._rejected = dict.fromkeys(RejectReason, 0)
        self._unknown = 0

    def doubtful(self, outcome: Outcome) -> None:
        """A publish came to ``outcome``, and was not confirmed."""
        if isinstance(outcome, Rejected):
            self._rejected[outcome.reason] += 1
        else:
            self._unknown += 1

    def values(self, exchange: str) -> ExchangeMetrics:
        """The exchange as it is now; ``exchange`` is its label."""
        latency = self.confirmed.values
        return ExchangeMetrics(
            exchange, latency.count, dict(self._rejected), self._unknown, latency
        )


class MeasuredPublisher:
    """Takes the place of ``publisher``. A publish that raises came to no outcome, and is not
    counted."""

    def __init__(self, publisher: Publishes, exchanges: BoundedCells[str, ExchangeMeter]) -> None:
        self._publisher = publisher
        self._exchanges = exchanges

    async def publish(
        self,
        message: Message,
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        fill: Fill | None = None,
    ) -> Outcome:
        """As the publisher's."""
        begun_s = perf_counter()
        outcome = await self._publisher.publish(message, deadline_s, resend, on_blocked, fill)
        meter = self._exchanges[message.exchange]
        if type(outcome) is Confirmed:
            meter.confirmed.observe(perf_counter() - begun_s)
        else:
            meter.doubtful(outcome)
        return outcome

    async def publish_batch(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """As the publisher's."""
        begun_s = perf_counter()
        outcomes = await self._publisher.publish_batch(messages, deadline_s, resend, on_blocked)
        took_s = perf_counter() - begun_s
        exchanges = {message.exchange for message in messages}
        if len(exchanges) == 1 and all(outcomes):
            self._exchanges[exchanges.pop()].confirmed.observe(took_s, len(outcomes))
            return outcomes
        for message, outcome in zip(messages, outcomes, strict=True):
            meter = self._exchanges[message.exchange]
            if outcome:
                meter.confirmed.observe(took_s)
            else:
                meter.doubtful(outcome)
        return outcomes


def exchange_cells() -> BoundedCells[str, ExchangeMeter]:
    """The cells of all exchanges of an app."""
    return BoundedCells(ExchangeMeter, OTHER)
