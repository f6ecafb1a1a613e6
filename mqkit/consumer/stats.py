"""Counters of settled deliveries, for logs, metrics and tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter


@dataclass(slots=True)
class Stats:
    """Counters of one consumer, or sums over all of an app; they only ever grow.

    Every delivery that a handler got ends in exactly one of ``acked``, ``retried``, ``parked``,
    ``dropped``, ``dead_lettered``, ``requeued``, ``stale_acks`` - or in none, if its handler was
    still running when the drain timeout passed (the broker delivers it again).
    """

    delivered: int = 0
    """Deliveries received."""
    acked: int = 0
    """The handler returned; or, where it is not acked after its handler, the ack was sent."""
    retried: int = 0
    """Confirmed in a retry tier, then acked."""
    parked: int = 0
    """Confirmed in the parking lot, then acked."""
    dropped: int = 0
    """Acked and gone, as ``Drop`` or the policy's ``then: drop`` wants it."""
    dead_lettered: int = 0
    """Rejected to the queue's own dead-letter exchange, having no parking lot."""
    requeued: int = 0
    """Given back to the queue after a handler failed, with nowhere better to go."""
    unconfirmed_republishes: int = 0
    """Retries and parkings that the broker did not confirm; each was requeued."""
    returned: int = 0
    """Given back unhandled: while draining, by a pause, or because a handler said
    ``Unavailable``."""
    stale_acks: int = 0
    """Settled after the channel was gone: nothing was sent, the broker delivers again. Where it
    follows a confirmed republish, the message is there twice (same id)."""
    stale_deliveries: int = 0
    """Not handed to a handler, because their channel was gone before its turn came."""
    failed_too_late: int = 0
    """Handlers that raised when their message was settled already (``ack="before"`` or "manual").
    The message is counted above as what it was settled as."""
    misfits: int = 0
    """Bodies that did not fit the handler's type."""
    late_questions: int = 0
    """Calls of which the handler did not begin, their caller's deadline being over. They are
    counted as dropped, too."""
    failed_questions: int = 0
    """Calls whose handler failed: answered with the error. They are counted as dropped, too."""
    lost_answers: int = 0
    """Answers that the broker did not confirm; their callers' deadlines end the waiting."""
    unavailable: int = 0
    """Handlers that raised ``Unavailable``, probes too. Their messages are handled later, or given
    back."""
    circuits_opened: int = 0
    """Times that a consumer stopped for an ``Unavailable``."""
    circuits_closed: int = 0
    """Times that one went on again: so many fewer than opened are open now, or were at their
    end."""
    timeouts: int = 0
    """Handlers that took longer than their timeout."""
    held: int = 0
    """Retries that wait in this process, unsettled, for the order of their key."""
    keys_given_up: int = 0
    """Keys whose messages were parked, or given back, because one could not be waited for."""
    cancelled_by_broker: int = 0
    """Consumers that the broker cancelled, because their queue went away."""
    drift_looks: int = 0
    """Looks for drift that saw everything, but for those at connects over AMQP."""
    drifts: int = 0
    """Things that were found not to be as declared; each is counted once until it is over."""
    drifts_mended: int = 0
    """Those of them that were missing, and were declared or bound again."""

    @property
    def unsettled(self) -> int:
        """Deliveries that have not ended yet: they wait for a handler, or are being handled."""
        ended: int = sum(_ended(self))
        return self.delivered - ended


def sum_of(parts: Iterable[Stats]) -> Stats:
    """The counters of several consumers, added up."""
    return Stats(*map(sum, zip(*map(_all, parts), strict=True)))


COUNTERS = tuple(field.name for field in fields(Stats))
"""The names of the counters."""

ENDS = (
    *("acked", "retried", "parked", "dropped", "dead_lettered", "requeued", "returned"),
    *("stale_acks", "stale_deliveries"),
)
"""Those of them that are ends of deliveries: each delivery comes to one."""

_ended = attrgetter(*ENDS)
_all = attrgetter(*COUNTERS)
