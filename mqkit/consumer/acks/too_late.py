"""A failure that comes when the message is settled already: it is counted and logged, no more."""

from __future__ import annotations

import logging

from mqkit.consumer.stats import Stats
from mqkit.errors import MqkitError
from mqkit.message import Delivery
from mqkit.retry.signals import Signal

_LOG = logging.getLogger(__name__)


def failed_too_late(queue: str, delivery: Delivery, raised: Exception, stats: Stats) -> None:
    """Count and log ``raised``, which the handler of ``queue`` raised when ``delivery`` was
    settled. What a signal asks for is not done either, so it is logged, too."""
    stats.failed_too_late += 1
    _LOG.warning(
        "the handler of %s raised %s when message %s was settled already: %s",
        queue,
        type(raised).__name__,
        delivery.message_id,
        raised,
        exc_info=None if isinstance(raised, (Signal, MqkitError)) else raised,
    )
