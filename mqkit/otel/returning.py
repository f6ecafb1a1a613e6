"""A span for each message that goes out of a lot: replayed, moved, restored. It is in the trace
that the message was created in, and linked to that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from opentelemetry.trace import Span

from mqkit.lots.publishing import PublishOver
from mqkit.message import Message
from mqkit.otel.describing import describe_error, describe_outcomes
from mqkit.otel.sending import SendSpans
from mqkit.outcome import Outcome
from mqkit.transport.seam import Channel


class TracedReturns:
    """Takes the place of ``publish_over``."""

    def __init__(self, publish_over: PublishOver, spans: SendSpans) -> None:
        self._publish_over = publish_over
        self._spans = spans

    async def __call__(
        self, channel: Channel, messages: Sequence[Message]
    ) -> list[asyncio.Future[Outcome]]:
        """As :func:`mqkit.lots.publishing.publish_over`."""
        begun = [self._spans.begin(message) for message in messages]
        try:
            outcomes = await self._publish_over(channel, [message for _, message in begun])
        except BaseException as error:
            for span, _ in begun:
                if span.is_recording():
                    describe_error(span, error)
                span.end()
            raise
        for (span, _), outcome in zip(begun, outcomes, strict=True):
            outcome.add_done_callback(_ending(span))
        return outcomes


def _ending(span: Span) -> Callable[[asyncio.Future[Outcome]], None]:
    return partial(_end, span)


def _end(span: Span, outcome: asyncio.Future[Outcome]) -> None:
    if span.is_recording():
        if outcome.cancelled():
            describe_error(span, asyncio.CancelledError())
        else:
            describe_outcomes(span, [outcome.result()])
    span.end()
