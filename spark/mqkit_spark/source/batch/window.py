"""The number of messages that are asked for at a time. Pure.

A broker is asked for messages, not for octets; so windows begin small, and grow as long as what
came was small.
"""

from __future__ import annotations

FIRST_MESSAGES = 20
"""Of any size: RabbitMQ's largest message has 16 MiB by default (128 MiB before 4.0)."""

MESSAGES_MAX = 1_000
"""Enough to hide the round trip to the broker, and for an Arrow batch."""

OCTETS_MAX = 8 * 1024 * 1024
"""Octets of bodies that are wanted in memory at a time. It may be one message more, however large
it is, and more after a change from small messages to large ones."""

GROWTH = 4
"""A window is at most so many times as large as the last one."""

HEADER_OCTETS = 1_024
"""A message's share of memory beside its body, nearly."""


def next_size(last_messages: int, last_octets: int) -> int:
    """The size of a window after one with so many messages, and octets in their bodies."""
    if not last_messages:
        return FIRST_MESSAGES
    mean = last_octets // last_messages + HEADER_OCTETS
    return max(1, min(MESSAGES_MAX, GROWTH * last_messages, OCTETS_MAX // mean))
