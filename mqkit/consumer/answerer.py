"""Handling a question: a message with a ``reply_to``, which its handler answers by returning.

=============================  =====================================================================
the handler                    the question
=============================  =====================================================================
returned a value               answered with it (``None`` is JSON's null); it was handled
raised ``RetryLater``          not answered yet: the retry answers, if it is in time
raised ``Park`` or ``Drop``    answered with that, then parked or dropped
raised anything else, or the   answered with the error, then dropped: the caller knows, and may ask
body does not fit              again (``Unavailable``, too: nothing is gained by waiting)
was not called                 dropped: the caller's deadline was over
=============================  =====================================================================

The answer is confirmed before the question is settled. One that can't be published is counted, and
the question settled all the same: it was handled, and its caller's deadline ends the waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from mqkit.consumer.handler import AnyHandler, HandlerTimeout
from mqkit.consumer.observing.log_fields import log_fields
from mqkit.consumer.settlement_steps import Settler
from mqkit.errors import MqkitError
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Message
from mqkit.outcome import Rejected, RejectReason
from mqkit.retry.signals import Drop, RetryLater, Signal, Unavailable
from mqkit.rpc.answers import answer_to, failure_answer
from mqkit.rpc.headers import is_late
from mqkit.timing.clock import wall_ms

_LOG = logging.getLogger(__name__)


class LateQuestion(Drop):
    """The deadline of a question was over before its handler could begin."""


class AnsweredWithError(Drop):
    """The handler's error was the answer, and nothing is left to do for the question."""


class TooLargeAnswer(MqkitError):
    """A handler returned more than one message may hold."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Handles the questions of one queue. Never raises for what a handler or a broker did."""

    handler: AnyHandler
    arguments: Callable[[Delivery], tuple[object, ...]]
    settler: Settler
    now_ms: Callable[[], int] = wall_ms

    async def outcome(self, question: Delivery) -> Exception | None:
        """Run the handler and publish the answer. Returns what the question is to be settled for:
        ``None`` where it was handled, else what counts as raised."""
        stats = self.settler.stats
        if is_late(question.headers, self.now_ms()):
            stats.late_questions += 1
            return LateQuestion("the deadline of its caller was over")
        try:
            answer = answer_to(question, await self.handler(*self.arguments(question)))
        except Exception as error:  # noqa: BLE001 - handlers and validators are other people's code
            stats.misfits += isinstance(error, BodyMisfit)
            stats.timeouts += isinstance(error, HandlerTimeout)
            return await self._failed(question, error)
        await self._send(question, answer)
        return None

    async def _failed(self, question: Delivery, error: Exception) -> Exception:
        if isinstance(error, RetryLater):
            return error
        await self._send(question, failure_answer(question, error))
        if isinstance(error, Signal) and not isinstance(error, Unavailable):
            return error
        self.settler.stats.failed_questions += 1
        self.settler.failures.answered(question, error)
        return AnsweredWithError("its error was the answer")

    async def _send(self, question: Delivery, answer: Message) -> None:
        outcome = await self.settler.publish(answer)
        if isinstance(outcome, Rejected) and outcome.reason is RejectReason.TOO_LARGE:
            error = TooLargeAnswer(f"the handler's answer is too large: {outcome.detail}")
            outcome = await self.settler.publish(failure_answer(question, error))
        if not outcome:
            self.settler.stats.lost_answers += 1
            _LOG.warning(
                "the answer to %s was not sent: %s",
                question.message_id,
                outcome,
                extra=log_fields(question, self.settler.rules.queue),
            )
