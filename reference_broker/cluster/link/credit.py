"""Credit: what a sender may have under way in a lane, and what its receiver gives back.

Both ends count from the beginning of the connection, so a CREDIT says how much the receiver's owner
has taken in all, and only the last one counts.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.errors import LinkError

GIVE_BACK_PARTS = 4
"""Credit goes back when this part of a window was taken: the sender then still has three of them,
and a window costs four small frames."""

_CREDIT = struct.Struct(">BQ")


class Credit(NamedTuple):
    """The contents of a CREDIT: bytes that were consumed in a lane, in all."""

    lane: Lane
    consumed: int

    def encode(self) -> bytes:
        return _CREDIT.pack(*self)


def decode_credit(payload: memoryview) -> Credit:
    """Raises :exc:`LinkError` for what is none, or is for a lane that has none."""
    try:
        number, consumed = _CREDIT.unpack(payload)
        lane = Lane(number)
    except (struct.error, ValueError) as error:
        raise LinkError("a CREDIT that can't be read") from error
    if lane not in WINDOWS:
        raise LinkError(f"a CREDIT for lane {lane.name}, which needs none")
    return Credit(lane, consumed)


class SendingCredit:
    """The credit of one lane at its sender. A message may go while there is any."""

    __slots__ = ("_consumed", "_lane", "_sent", "_window")

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._window = WINDOWS[lane]
        self._sent = 0
        self._consumed = 0

    @property
    def left(self) -> int:
        """Bytes; below 0 if the last message went beyond the window."""
        return self._window - self._sent + self._consumed

    def spend(self, size: int) -> None:
        """Count a message that goes."""
        self._sent += size

    def give(self, consumed: int) -> None:
        """Take what a CREDIT says. Raises :exc:`LinkError` for more than was sent, or less than was
        said before."""
        if not self._consumed <= consumed <= self._sent:
            raise LinkError(
                f"a CREDIT of lane {self._lane.name} for {consumed} octets, of {self._sent} that "
                f"were sent and {self._consumed} that were given back"
            )
        self._consumed = consumed


class ReceivingCredit:
    """The credit of one lane at its receiver, which holds the sender to it."""

    __slots__ = ("_consumed", "_given", "_lane", "_received", "_window")

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._window = WINDOWS[lane]
        self._received = 0
        self._consumed = 0
        self._given = 0

    @property
    def held(self) -> int:
        """Bytes that the owner was handed, and has not consumed."""
        return self._received - self._consumed

    def receive(self, size: int) -> None:
        """Count a message that came. Raises :exc:`LinkError` if the sender had no credit."""
        if self._received - self._given >= self._window:
            raise LinkError(f"a message of lane {self._lane.name} came without credit")
        self._received += size

    def consume(self, size: int) -> Credit | None:
        """Count what the owner has done with; the CREDIT that is due then, if one is."""
        if size > self.held:
            raise AssertionError(f"{size} octets consumed, of {self.held} that were handed out")
        self._consumed += size
        if (self._consumed - self._given) * GIVE_BACK_PARTS < self._window:
            return None
        self._given = self._consumed
        return Credit(self._lane, self._consumed)
