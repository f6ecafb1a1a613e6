"""The modes of acking, and the queues that one of them does not go with. Pure."""

from __future__ import annotations

from enum import StrEnum

from mqkit.errors import ConfigurationError
from mqkit.topology.model import QueueModel


class AckMode(StrEnum):
    """The time at which a message is settled."""

    AFTER = "after"
    """When its handler is done."""
    BEFORE = "before"
    """When its handler is about to begin."""
    MANUAL = "manual"
    """When its handler says so, by its ``ManualDelivery``."""


def check_ack(ack: str, queue: str, model: QueueModel | None) -> AckMode:
    """The mode that ``ack`` names, for a consumer of ``queue``; ``model`` is what the topology has
    of that queue.

    Raises :exc:`~mqkit.errors.ConfigurationError` for another word, and for "before" on a queue
    with a retry policy: nothing would ever be retried by it.
    """
    try:
        mode = AckMode(ack)
    except ValueError:
        known = ", ".join(f'"{each}"' for each in AckMode)
        raise ConfigurationError(f"ack={ack!r}: expected one of {known}") from None
    if mode is AckMode.BEFORE and model is not None and model.retry is not None:
        raise ConfigurationError(
            f'ack="before" settles a message of {queue} before its handler begins, so the retry'
            f" policy of {queue} would never be used: take the policy out of the topology, or"
            " ack after the handler"
        )
    return mode
