"""The output of one end in a lane: small items of one kind together, in order, and all that the
lane has no room for just now.

An item is a few octets or a message. Those of a kind that follow each other in a turn are one
message of the link, until it is :data:`BATCH_BYTES` large or the turn ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from reference_broker.cluster.link.frame import Buffer
from reference_broker.cluster.link.lane import MESSAGE_OVERHEAD_BYTES, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.core.work.until import Until

BATCH_BYTES = 64 * 1024
"""Octets of a batch that goes before the turn ends: larger ones save nothing more."""


class _Batch(NamedTuple):
    """A message of the link that waits for room."""

    kind: int
    buffers: Sequence[Buffer]
    accounted: int


class LaneOutput:
    """The output of this end in one lane. ``look_at`` has the link written before the turn ends;
    :meth:`flush` has to be called then.

    ``has_room`` is false while something waits in front of the lane; ``waiting`` are the accounted
    octets of that. ``is_held``: nothing goes for now, whatever the lane says (:meth:`release`).
    """

    __slots__ = (
        "_accounted", "_batch", "_is_listening", "_kind", "_lane", "_link", "_look_at", "_waiting",
        "has_room", "is_held", "room_comes", "waiting",
    )  # fmt: skip

    def __init__(self, link: Link, lane: Lane, look_at: Callable[[Link], None]) -> None:
        self._link = link
        self._lane = lane
        self._look_at = look_at
        self._batch: list[Buffer] = []
        self._kind = 0
        self._accounted = 0
        self._waiting: deque[_Batch] = deque()
        self._is_listening = False
        self.has_room = True
        self.is_held = False
        self.waiting = 0
        self.room_comes = Until()
        """Happens when ``waiting`` has become less, and when the link is down. It tells all who
        wait at once: who has many of them spreads it over turns."""

    @property
    def held_bytes(self) -> int:
        """Accounted octets of all that is not in the lane."""
        return self.waiting + self._accounted

    def add(self, kind: int, buffers: Sequence[Buffer], size: int) -> None:
        """Send an item of ``size`` octets, behind all before it. Nothing may change the buffers
        any more."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        if not self._batch:
            self._look_at(self._link)
        self._batch += buffers
        self._accounted += size + MESSAGE_OVERHEAD_BYTES
        if self._accounted >= BATCH_BYTES:
            self.flush()

    def add_small(self, kind: int, item: bytes) -> None:
        """:meth:`add`, of an item in one piece."""
        self.add(kind, (item,), len(item))

    def look_at_end(self) -> None:
        """Have whoever has the output flush it at the end of the turn, with more to come."""
        self._look_at(self._link)

    def flush(self) -> None:
        """The turn ends, or what comes next goes in a message of its own."""
        if not self._batch:
            return
        batch = _Batch(self._kind, self._batch, self._accounted)
        self._batch, self._accounted = [], 0
        if self._waiting or self.is_held or self._link.room(self._lane) <= 0:
            self._waiting.append(batch)
            self.waiting += batch.accounted
        else:
            self._link.send(self._lane, batch.kind, batch.buffers)
        if self._waiting or self._link.room(self._lane) <= 0:
            self._listen()

    def release(self) -> None:
        """Nothing holds the output any more: what waits goes as far as there is room."""
        self.is_held = False
        self._go_on()

    def close(self) -> None:
        """The link is down: drop everything, and tell who waits. Idempotent."""
        self._batch = []
        self._waiting.clear()
        self._accounted = self.waiting = 0
        self.has_room = False
        self._is_listening = True
        self.room_comes.happened()

    def _listen(self) -> None:
        """There is no room, until somebody is told that it comes."""
        self.has_room = False
        if not self.is_held and not self._is_listening:
            self._is_listening = True
            self._link.room_comes(self._lane).then(self._room_has_come)

    def _room_has_come(self) -> None:
        if self._link.reason:
            return  # it has ended: whoever owns the output is told, and closes it
        self._is_listening = False
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and not self.is_held and self._link.room(self._lane) > 0:
            batch = self._waiting.popleft()
            self.waiting -= batch.accounted
            self._link.send(self._lane, batch.kind, batch.buffers)
        self._look_at(self._link)
        if self._waiting or self._link.room(self._lane) <= 0:
            self._listen()
        else:
            self.has_room = True
        self.room_comes.happened()
