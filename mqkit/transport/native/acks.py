"""Acks of one channel, held back until the turn ends, and then said in as few frames as can be.

A multiple ack speaks for every delivery up to its tag, so it is only used up to where everything
is settled. The broker numbers deliveries from 1; ``_floor`` is the highest tag up to which all are
settled, and beyond it stand those that were settled out of order:

    1 2 3 4 5 6 7 8      floor 4, ahead {6, 7}; when 5 is settled the floor is 7
    # # # # . # # .

Each delivery is acked once and its ack is sent once. What the table of deliveries does not know (a
tag twice, a tag that was never delivered) is not this object's to hide: the broker is told, and
closes the channel.
"""

from __future__ import annotations

from typing import NamedTuple


class AckFrame(NamedTuple):
    """One ``basic.ack`` to send."""

    delivery_tag: int
    multiple: bool


class Acks:
    """Tell it of every delivery with :meth:`delivered`; take what is to be sent with :meth:`take`.

    A delivery that needs no ack (of a ``no_ack`` consumer) is :meth:`settled` as it arrives.
    """

    __slots__ = ("_ahead", "_ahead_unsent", "_floor", "_floor_unsent", "_highest", "_top_acked")

    def __init__(self) -> None:
        self._highest = 0
        self._floor = 0
        self._ahead: set[int] = set()
        """Settled tags above the floor."""
        self._ahead_unsent: dict[int, None] = {}
        """Tags of ``_ahead`` whose ack has not been sent, in the order of the acks."""
        self._floor_unsent = 0
        """The number of acks up to the floor that have not been sent."""
        self._top_acked = 0
        """The highest tag of these: a multiple ack must name a delivery that is still unsettled."""

    @property
    def is_pending(self) -> bool:
        """True if :meth:`take` would return frames."""
        return bool(self._floor_unsent or self._ahead_unsent)

    def delivered(self, tag: int) -> None:
        """A delivery arrived that wants to be settled."""
        self._highest = tag

    def settled(self, tag: int) -> None:
        """The delivery needs no ack from here: its consumer is a ``no_ack`` one, or a nack was
        sent."""
        if tag > self._highest:
            self._highest = tag
        if tag == self._floor + 1:
            self._raise_floor(tag)
        elif tag > self._floor:
            self._ahead.add(tag)

    def ack(self, tag: int) -> bool:
        """Hold the ack of one delivery back. False: it is not unsettled, so send it as it is."""
        if tag == self._floor + 1 and tag <= self._highest:
            self._floor_unsent += 1
            self._top_acked = tag
            if self._ahead:
                self._raise_floor(tag)
            else:
                self._floor = tag
            return True
        if tag <= self._floor or tag > self._highest or tag in self._ahead:
            return False
        self._ahead.add(tag)
        self._ahead_unsent[tag] = None
        return True

    def settled_up_to(self, tag: int) -> None:
        """A multiple ack or nack was sent for everything up to ``tag``; 0 means all so far.

        Take what is pending first.
        """
        tag = min(tag or self._highest, self._highest)
        if tag > self._floor:
            self._ahead = {ahead for ahead in self._ahead if ahead > tag}
            self._raise_floor(tag)

    def take(self) -> list[AckFrame]:
        """The ack frames to send now, in order. Nothing is pending afterwards."""
        frames = []
        if self._floor_unsent:
            frames.append(AckFrame(self._top_acked, self._floor_unsent > 1))
            self._floor_unsent = 0
        if self._ahead_unsent:
            frames += [AckFrame(tag, False) for tag in self._ahead_unsent]
            self._ahead_unsent.clear()
        return frames

    def _raise_floor(self, floor: int) -> None:
        """Raise the floor to ``floor``, and over all tags that were settled ahead of it."""
        ahead, unsent = self._ahead, self._ahead_unsent
        while floor + 1 in ahead:
            floor += 1
            ahead.remove(floor)
            if floor in unsent:
                del unsent[floor]
                self._floor_unsent += 1
                self._top_acked = floor
        self._floor = floor
