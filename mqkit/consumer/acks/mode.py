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
    NONE = "none"
    """When the broker has sent it."""


def check_ack(
    ack: str, queue: str, model: QueueModel | None, prefetch: int | None = None
) -> AckMode:
    """The mode that ``ack`` names, for a consumer of ``queue``; ``model`` is what the topology has
    of that queue, ``prefetch`` what the program asks for.

    Raises :exc:`~mqkit.errors.ConfigurationError` for another word, for "before" and "none" on a
    queue with a retry policy (nothing would ever be retried by it), and for "none" with a prefetch.
    """
    try:
        mode = AckMode(ack)
    except ValueError:
        known = ", ".join(f'"{each}"' for each in AckMode)
        raise ConfigurationError(f"ack={ack!r}: expected one of {known}") from None
    if mode is AckMode.NONE and prefetch is not None:
        raise ConfigurationError(
            f'prefetch={prefetch!r} with ack="none": nothing is unsettled then, so a prefetch'
            " bounds nothing"
        )
    early = mode is AckMode.BEFORE or mode is AckMode.NONE
    if early and model is not None and model.retry is not None:
        raise ConfigurationError(
            f'ack="{mode}" settles a message of {queue} before its handler begins, so the retry'
            f" policy of {queue} would never be used: take the policy out of the topology, or"
            " ack after the handler"
        )
    return mode
