"""The budget of a turn: units of work that may still be done before sockets, timers and the disk
are looked at again.

A unit is about the time that one message takes into or out of one queue. Most work is a message, or
less than one; what costs a multiple of that says so by the constants here.
"""

from __future__ import annotations

TURN_UNITS = 1_000
"""Units of one turn of the loop: 3 ms where messages follow each other into one queue, 5 where they
go through a thousand of them."""

UNLIMITED_UNITS = 1 << 60
"""Units of a turn that never ends: for a broker whose inputs are to be handled whole."""

METHOD_UNITS = 4
"""A frame that is neither a message nor an ack: decoding, checks and the answer take 10 us."""

HEARTBEAT_UNITS = 50
"""A heartbeat frame: far more than it costs, so that a connection that sends nothing else has few
of them in a turn. A client sends one in some seconds."""

DECLARATION_UNITS = 16
"""A queue, exchange or binding that is made or removed: its record, its index, its routes."""

CONNECTION_UNITS = 32
"""A connection that is closed for somebody."""

DEAD_LETTER_UNITS = 8
"""A dead letter beside what its queues cost: its route and its history."""


class Budget:
    """The units that are left in this turn. Whoever works subtracts from ``left``, and stops at 0
    or below: one step may cost more than there was. Whoever has the loop refills it."""

    __slots__ = ("left", "units")

    def __init__(self, units: int = UNLIMITED_UNITS) -> None:
        self.units = units
        self.left = units

    def refill(self) -> None:
        """Begin another turn."""
        self.left = self.units
