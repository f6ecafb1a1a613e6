"""The settlement of a delivery after its handler: a pure decision.

A queue with a retry policy does what the policy says (:mod:`mqkit.retry.policy`). One without has
no tiers and no parking lot, and still nothing may be lost without a word:

=====================  ==========================  =========================================
the handler            the queue dead-letters      it does not
=====================  ==========================  =========================================
returned               ack                         ack
raised ``Drop``        ack                         ack
raised ``Park``,       reject: the broker puts it  requeue after a pause; logged, for the
or body misfit         into the queue's own        handler asks for what the queue has not
                       dead-letter exchange
raised anything else   requeue after a pause       requeue after a pause
=====================  ==========================  =========================================

Only what the topology file says of the queue counts as dead-lettering; a policy set on the broker
can't be seen from here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Message
from mqkit.retry import (
    DiscardAction,
    Drop,
    Failure,
    Park,
    ParkAction,
    RetryAction,
    RetryPolicy,
    failures_of,
    to_parking_lot,
    to_tier,
)
from mqkit.topology.model import QueueModel

_LOG = logging.getLogger(__name__)

SCHEMA = "schema"
"""The reason with which a body that does not fit is parked."""


class Destination(StrEnum):
    """The queues that a failed message is republished to."""

    TIER = "retry tier"
    PARKING_LOT = "parking lot"


@dataclass(frozen=True, slots=True)
class Ack:
    """The handler is done with it."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Ack it; nobody wants it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Republish:
    """Publish ``message``; when that is confirmed, and only then, ack the delivery."""

    to: Destination
    message: Message


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Reject it without requeue: the queue dead-letters it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """Pause, then give it back to the queue."""

    reason: str


HANDLED = Ack()
"""One object for all handled deliveries, for they are the most."""

Settlement: TypeAlias = Ack | Discard | Republish | DeadLetter | Requeue


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of a queue for failed messages: its retry policy, and its dead-lettering."""

    queue: str
    policy: RetryPolicy | None = None
    dead_letters: bool = False

    @classmethod
    def of(cls, queue: str, model: QueueModel | None) -> QueueRules:
        """The rules that the topology gives ``queue``; ``model`` is ``None`` if the queue is not in
        it."""
        if model is None:
            return cls(queue)
        dead_letters = model.dead_letter is not None or "x-dead-letter-exchange" in model.arguments
        return cls(queue, model.retry, dead_letters)


def settlement_of(
    rules: QueueRules, delivery: Delivery, raised: BaseException | None, at: datetime
) -> Settlement:
    """The settlement of ``delivery``, whose handler raised ``raised`` (``None``: it returned)."""
    if raised is None:
        return HANDLED
    # A misfit is parked as if the handler had asked for it; the headers keep the true error.
    verdict = Park(SCHEMA) if isinstance(raised, BodyMisfit) else raised
    if rules.policy is None:
        return _without_policy(rules, verdict)
    return _by_policy(rules.policy, rules.queue, delivery, verdict, Failure.of(raised, at))


def _by_policy(
    policy: RetryPolicy, queue: str, delivery: Delivery, raised: BaseException, failure: Failure
) -> Settlement:
    try:
        action = policy.decide(failures_of(delivery.headers, queue), raised)
    except ConfigurationError as error:
        _LOG.error("the handler of %s is wrong: %s", queue, error)
        action = policy.give_up(str(error))
    match action:
        case RetryAction(after_ms):
            message = to_tier(delivery, queue, after_ms, failure)
            return Republish(Destination.TIER, message)
        case ParkAction(reason):
            message = to_parking_lot(delivery, queue, reason, failure)
            return Republish(Destination.PARKING_LOT, message)
        case DiscardAction(reason):
            return Discard(reason)


def _without_policy(rules: QueueRules, raised: BaseException) -> Settlement:
    if isinstance(raised, Drop):
        return Discard(raised.reason or "the handler dropped it")
    if isinstance(raised, Park):
        reason = raised.reason or "the handler parked it"
        if rules.dead_letters:
            return DeadLetter(reason)
        return Requeue(f"{reason}; there is no parking lot: give the queue a retry policy")
    return Requeue(f"{type(raised).__name__}: the queue has no retry policy")
