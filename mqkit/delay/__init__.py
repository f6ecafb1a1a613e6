"""Delayed publishing: the queues that an exchange's delays compile to, and the way of one message.

A message is never given a TTL of its own: a queue expires messages at its head only, so a short
one behind a long one would wait for the long one.
"""

from mqkit.delay.compile import compile_delay
from mqkit.delay.delayed import DELAY_HEADER, DELAYED_TYPE, delayed
from mqkit.delay.names import delay_name, owner_of_delay

__all__ = [
    "DELAYED_TYPE",
    "DELAY_HEADER",
    "compile_delay",
    "delay_name",
    "delayed",
    "owner_of_delay",
]
