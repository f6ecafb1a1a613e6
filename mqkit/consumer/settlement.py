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

``Unavailable`` does not come here (:mod:`mqkit.consumer.breaker.breaker`), except for one entry of
a batch, which is requeued with or without a policy.

Only what the topology file says of the queue counts as dead-lettering; a policy set on the broker
can't be seen from here.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from mqkit.consumer.observing.log_fields import log_fields
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
    Signal,
    Unavailable,
    failures_of,
    first_failure_of,
    to_parking_lot,
    to_tier,
    unknown_names,
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
    after_ms: int = 0
    """The time that it waits there, in a tier."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Reject it without requeue: the queue dead-letters it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """Pause, then give it back to the queue."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep it, unsettled, and call the handler again after ``after_s`` seconds: where the order of
    its key matters."""

    after_s: float


HANDLED = Ack()
"""One object for all handled deliveries, for they are the most."""

Settlement: TypeAlias = Ack | Discard | Republish | DeadLetter | Requeue | Hold


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of a queue for failed messages: its retry policy, and its dead-lettering.

    ``rng`` gives numbers from 0 to 1, and draws among tiers where the policy has jitter.
    """

    queue: str
    policy: RetryPolicy | None = None
    dead_letters: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The queue's own arguments, as the topology has them."""
    rng: Callable[[], float] = field(default=random.random, compare=False, repr=False)
    parks_for: tuple[str, ...] = ()
    """The queues whose parking lot it is, as far as the topology says."""

    @property
    def retries(self) -> int | None:
        """The retries that the policy gives a message; ``None`` without one."""
        return None if self.policy is None else len(self.policy.after)

    @classmethod
    def of(
        cls, queue: str, model: QueueModel | None, parks_for: tuple[str, ...] = ()
    ) -> QueueRules:
        """The rules that the topology gives ``queue``; ``model`` is ``None`` if the queue is not in
        it."""
        if model is None:
            return cls(queue, parks_for=parks_for)
        dead_letters = model.dead_letter is not None or "x-dead-letter-exchange" in model.arguments
        return cls(queue, model.retry, dead_letters, model.arguments, parks_for=parks_for)


def warn_of_unknown_errors(rules: QueueRules) -> None:
    """Log a warning for each exception that the retry policy names and that no handler can raise,
    as far as this program is loaded."""
    if rules.policy is None or not rules.policy.errors:
        return
    for name in unknown_names(rules.policy.errors, unasked=(Signal, BodyMisfit)):
        _LOG.warning(
            "the retry rules of %s name %r, and no exception that a handler of this program can"
            " raise is called so: misspelled, or its module is not imported yet",
            rules.queue,
            name,
        )


def settlement_of(
    rules: QueueRules, delivery: Delivery, raised: BaseException | None, at: datetime
) -> Settlement:
    """The settlement of ``delivery``, whose handler raised ``raised`` (``None``: it returned)."""
    if raised is None:
        return HANDLED
    if isinstance(raised, Unavailable):
        return Requeue(raised.reason)  # of one entry of a batch: no attempt is used up
    # A misfit is parked as if the handler had asked for it; the headers keep the true error.
    verdict = Park(SCHEMA) if isinstance(raised, BodyMisfit) else raised
    if rules.policy is None:
        return _without_policy(rules, verdict)
    return _by_policy(rules, rules.policy, delivery, verdict, Failure.of(raised, at))


def _by_policy(
    rules: QueueRules,
    policy: RetryPolicy,
    delivery: Delivery,
    raised: BaseException,
    failure: Failure,
) -> Settlement:
    queue = rules.queue
    try:
        action = policy.decide(
            failures_of(delivery.headers, queue),
            raised,
            elapsed_ms=_elapsed_ms(delivery, queue, failure.at),
            rng=rules.rng,
        )
    except ConfigurationError as error:
        extra = log_fields(delivery, queue)
        _LOG.error("the handler of %s is wrong: %s", queue, error, extra=extra)
        action = policy.give_up(str(error))
    match action:
        case RetryAction(after_ms):
            tier = policy.names.tier(queue, after_ms)
            message = to_tier(delivery, queue, after_ms, failure, tier=tier)
            return Republish(Destination.TIER, message, after_ms)
        case ParkAction(reason):
            lot = policy.names.lot(queue)
            message = to_parking_lot(delivery, queue, reason, failure, lot=lot)
            return Republish(Destination.PARKING_LOT, message)
        case DiscardAction(reason):
            return Discard(reason)


def _elapsed_ms(delivery: Delivery, queue: str, now: datetime) -> int:
    """Since the first failure on ``queue``. Never negative: clocks of two machines may differ."""
    first = first_failure_of(delivery.headers, queue)
    return 0 if first is None else max(0, (now - first) // timedelta(milliseconds=1))


def _without_policy(rules: QueueRules, raised: BaseException) -> Settlement:
    if isinstance(raised, Drop):
        return Discard(raised.reason or "the handler dropped it")
    if isinstance(raised, Park):
        reason = raised.reason or "the handler parked it"
        if rules.dead_letters:
            return DeadLetter(reason)
        return Requeue(f"{reason}; there is no parking lot: give the queue a retry policy")
    return Requeue(f"{type(raised).__name__}: the queue has no retry policy")
