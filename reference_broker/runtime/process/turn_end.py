"""The end of a turn: what came of its inputs goes out, in the same order in a loop and in the
simulator.

Answers go to their sockets first, for clients wait for them. Then the disk is told: all that the
turn has logged, answers that made room for more included, is one batch. The next tick comes last,
when everything that sets a deadline is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from reference_broker.core.broker import Broker


class Flushable(Protocol):
    """The socket of one connection."""

    def flush(self) -> None:
        """Take what the connection has to say, as far as there is room, and do what it wants."""


def end_turn(
    broker: Broker,
    sockets: Mapping[int, Flushable],
    kick_disk: Callable[[], None],
    arm_tick: Callable[[float | None], None],
) -> None:
    """End a turn of ``broker``, whose connections have these ``sockets`` by their id; one that is
    not there is gone already. Then refill the budget, and begin another turn where the broker has
    work left over: when is up to the caller."""
    for connection in broker.take_dirty_connections():
        socket = sockets.get(connection.id)
        if socket is not None:
            socket.flush()
    kick_disk()
    arm_tick(broker.next_deadline())
