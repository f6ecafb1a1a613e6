"""Handling a question: a message with a ``reply_to``, which its handler answers by returning.

=============================  =====================================================================
the handler                    the question
=============================  =====================================================================
returned a value               answered with it (``None`` is JSON's null), then acked
raised ``RetryLater``          settled as any message: the retry answers, if it is in time
raised ``Park`` or ``Drop``    answered with that, then settled as any message
raised anything else, or the   answered with the error, then acked: the caller knows, and may ask
body does not fit              again
was not called                 acked: the caller's deadline had passed
=============================  =====================================================================

The answer is confirmed before the ack. Where it can't be published the question is acked all the
same: it was handled, and its caller's deadline ends the waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from mqkit.clock import wall_ms
from mqkit.consumer.handler import HandlerTimeout, MessageHandler
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.errors import MqkitError
from mqkit.incoming import BodyMisfit
from mqkit.message import Message
from mqkit.outcome import Rejected, RejectReason
from mqkit.retry.signals import RetryLater, Signal
from mqkit.rpc.answers import answer_to, failure_answer
from mqkit.rpc.headers import is_late

_LOG = logging.getLogger(__name__)


class TooLargeAnswer(MqkitError):
    """A handler returned more than one message may hold."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Handles the questions of one queue. Never raises for what a handler or a broker did."""

    handler: MessageHandler
    settler: Settler
    now_ms: Callable[[], int] = wall_ms

    async def handle(self, arrival: Arrival) -> None:
        """Answer the question and settle it; a question that is late is acked unseen."""
        stats = self.settler.stats
        question = arrival.delivery
        if is_late(question.headers, self.now_ms()):
            if await self.settler.ack(arrival):
                stats.late_questions += 1
            return
        raised: Exception | None = None
        try:
            value = await self.handler(*self.handler.arguments(question))
            answer = answer_to(question, value)
        except Exception as error:  # noqa: BLE001 - handlers and validators are other people's code
            raised = error
            stats.misfits += isinstance(error, BodyMisfit)
            stats.timeouts += isinstance(error, HandlerTimeout)
            if isinstance(error, RetryLater):
                await self.settler.settle(arrival, error)
                return
            answer = failure_answer(question, error)
        await self._send(arrival, answer)
        if raised is None:
            await self.settler.settle(arrival, None)
        elif isinstance(raised, Signal):
            await self.settler.settle(arrival, raised)
        elif await self.settler.ack(arrival):
            stats.failed_questions += 1
            self.settler.failures.answered(question, raised)

    async def _send(self, arrival: Arrival, answer: Message) -> None:
        outcome = await self.settler.publish(answer)
        if isinstance(outcome, Rejected) and outcome.reason is RejectReason.TOO_LARGE:
            error = TooLargeAnswer(f"the handler's answer is too large: {outcome.detail}")
            outcome = await self.settler.publish(failure_answer(arrival.delivery, error))
        if not outcome:
            self.settler.stats.lost_answers += 1
            _LOG.warning("the answer to %s was not sent: %s", answer.properties.message_id, outcome)
