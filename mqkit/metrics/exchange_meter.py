"""The meter of publishes to one exchange, and the publisher that is measured by it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Protocol

from mqkit.message import Message
from mqkit.metrics.bounded import OTHER, BoundedCells
from mqkit.metrics.histogram import Histogram
from mqkit.metrics.values import ExchangeMetrics
from mqkit.middleware.surrounded_publisher import Publishes
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool import WhenBlocked
from mqkit.pool.publisher import OnOutcome


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


class TellsOutcomes(Publishes, Protocol):
    """A publisher that tells the outcomes of its lone messages."""

    def tell(self, on_outcome: OnOutcome) -> None: ...


class MeasuredPublisher:
    """Takes the place of ``publisher``. A publish that raises came to no outcome, and is not
    counted. Lone messages go to the publisher itself, which tells their outcomes: one coroutine
    more around each would cost more than all the rest of measuring."""

    def __init__(
        self, publisher: TellsOutcomes, exchanges: BoundedCells[str, ExchangeMeter]
    ) -> None:
        self._publisher = publisher
        self._exchanges = exchanges
        self.publish = publisher.publish
        publisher.tell(self._settled)

    def _settled(self, message: Message, outcome: Outcome, begun_s: float) -> None:
        """A lone message has come to ``outcome``; its publish began at ``begun_s``."""
        meter = self._exchanges[message.exchange]
        if type(outcome) is Confirmed:
            meter.confirmed.observe(perf_counter() - begun_s)
        else:
            meter.doubtful(outcome)

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
            self._exchanges[exchanges.pop()].confirmed.observe_all(took_s, len(outcomes))
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
