"""The bound on unconfirmed publishes of one channel of a blocking adapter, in messages and bytes.

A publisher takes a place before its message is queued, and the place is given back when the
message is answered. So the window bounds what is queued, what lies in write buffers and what the
broker has not confirmed, all together.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_WINDOW_MESSAGES = 8192
"""RabbitMQ confirms a batch per disk sync; some thousands keep it busy between two of them."""

DEFAULT_WINDOW_BYTES = 32 * 1024 * 1024
"""The memory that one channel may hold, whatever the size of the messages."""

MESSAGE_OVERHEAD_BYTES = 256
"""The cost of a message beside its body: frames, properties, the entry in the ledger."""


@dataclass(frozen=True, slots=True)
class WindowSize:
    """The bounds of a window. A message larger than ``bytes`` goes when it is alone."""

    messages: int = DEFAULT_WINDOW_MESSAGES
    bytes: int = DEFAULT_WINDOW_BYTES
