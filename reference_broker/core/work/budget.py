"""The budget of a turn: units of work that may still be done before sockets, timers and the disk
are looked at again.

A unit is about the time that one message takes into or out of one queue. Most work is a message, or
less than one; what costs a multiple of that says so by the constants here.
"""

from __future__ import annotations

TURN_UNITS = 2_000
"""Units of one turn of the loop: about 5 ms, at 2.5 us each."""

UNLIMITED_UNITS = 1 << 60
"""Units of a turn that never ends: for a broker whose inputs are to be handled whole."""

FAN_OUT_UNITS = 2
"""One of many queues that a message goes to: nothing of it is in the processor's cache."""

TABLE_OCTETS_PER_UNIT = 64
"""Octets of a message's headers that are checked in the time of a unit: 80,000 of small tables, as
many as there may be, take 5 ms."""

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
    or below: one step may cost more than there was. Whoever has the loop refills it, and may set
    ``paced`` to what turns have time for: of ``units`` they have that many at most.

    ``reserve`` is half as much again, for handing out what the turn's inputs brought: what comes in
    must not always be ahead of what goes out.
    """

    __slots__ = ("left", "paced", "reserve", "units")

    def __init__(self, units: int = UNLIMITED_UNITS) -> None:
        self.units = self.paced = units
        self.refill()

    def refill(self) -> None:
        """Begin another turn."""
        self.left = min(self.units, self.paced)
        self.reserve = self.left // 2

    def release_reserve(self) -> None:
        """Have the reserve be there, if the turn is spent without it."""
        if self.left <= 0:
            self.left, self.reserve = self.reserve, 0
