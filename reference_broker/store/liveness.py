"""Which segments may be deleted.

The law: a segment may go when no live message needs it, and when everything that it says about
other segments (acks, requeues, moves) is about segments that are gone. Otherwise a message whose
ack was synced would come back. "Gone" means that the deletion itself is durable, which is why
:meth:`Liveness.removed` is called only after the directory was synced.

A live message needs the segment of its record and, after a move, also the segment that has its
body. Definitions are needed until a later snapshot, in another segment, has carried them on.

A message that nobody takes keeps its segment. Without more, it would keep the next one too, which
has acks of its neighbours, and the one after that, and so on to the end of the log. So a segment
that is needed for its acks alone is a *messenger*: what it says is said again in the segment in
use (:meth:`Liveness.take_messengers`), and it goes.
"""

from __future__ import annotations

from bisect import bisect_right

from reference_broker.store.segment import SegmentName
from reference_broker.store.speech import Speech


class SegmentUse:
    """What still needs one segment, and what it speaks about."""

    __slots__ = (
        "base",
        "damaged",
        "defines",
        "end",
        "live",
        "name",
        "sealed",
        "size_bytes",
        "speaks_about",
        "spoken_of_by",
    )

    def __init__(self, name: SegmentName, size_bytes: int) -> None:
        self.name = name
        self.base = name.base
        self.end = name.base + size_bytes
        """No record of this segment starts at or after this position."""
        self.size_bytes = size_bytes
        self.live = 0
        """Live entries whose message or body is stored here."""
        self.defines = False
        self.sealed = False
        self.damaged = False
        """Something in it could not be read: it is put aside, never deleted."""
        self.speaks_about: dict[int, Speech] = {}
        self.spoken_of_by: dict[int, SegmentUse] = {}


class MovedBody:
    """A moved message's body is elsewhere; ``live`` of its entries still need it there."""

    __slots__ = ("live", "position")

    def __init__(self, position: int, live: int) -> None:
        self.position = position
        self.live = live


class Liveness:
    """The books of all segments. Recovery fills them by the same calls that the log makes."""

    def __init__(self) -> None:
        self.segments: dict[int, SegmentUse] = {}
        self.moved: dict[int, MovedBody] = {}
        """Position of a MOVE record -> where the body is. Only for moves that refer to one."""
        self._bases: list[int] = []
        self._last_found: SegmentUse | None = None
        self._dead: dict[int, SegmentUse] = {}
        self._messengers: dict[int, SegmentUse] = {}
        self._messengers_changed = False
        self._snapshot_base = -1

    def add(self, name: SegmentName, size_bytes: int) -> SegmentUse:
        """Open the books of a new segment; its base must lie above all others."""
        assert not self._bases or name.base > self._bases[-1]
        use = SegmentUse(name, size_bytes)
        self.segments[use.base] = use
        self._bases.append(use.base)
        return use

    def seal(self, use: SegmentUse, end: int) -> None:
        """Its records end at ``end``, and nothing will be written to it any more: from now on it
        may be found dead."""
        use.end = end
        use.sealed = True
        self._examine(use)

    def find(self, position: int) -> SegmentUse | None:
        """The segment that has this position; ``None`` when it was deleted."""
        use = self._last_found
        if use is None or not use.base <= position < use.end:
            index = bisect_right(self._bases, position) - 1
            if index < 0:
                return None
            use = self.segments[self._bases[index]]
            if position >= use.end:
                return None
            self._last_found = use
        return use

    def settle(self, position: int, queue_id: int, sequence: int, by: SegmentUse | None) -> None:
        """This entry of the message at ``position`` is done with; ``by`` has the record of it."""
        moved = self.moved.get(position)
        if moved is not None:
            moved.live -= 1
            if not moved.live:
                del self.moved[position]
            self._release(moved.position)
        use = self._release(position)
        if by is not None and use is not None and use is not by:
            self.speech(use, by).acked.add(queue_id, sequence, sequence)

    def requeue(self, position: int, queue_id: int, sequence: int, by: SegmentUse) -> None:
        """``by`` has a record which says that this entry of ``position`` came back."""
        use = self.find(position)
        if use is not None and use is not by:
            self.speech(use, by).requeued.add(queue_id, sequence, sequence)

    def refer(self, position: int, body_position: int, entries: int) -> None:
        """A MOVE was written at ``position`` whose body stays at ``body_position``. Call it before
        the source is settled, or the body's segment might look dead in between."""
        use = self.find(body_position)
        if use is not None and entries:
            use.live += entries
            self.moved[position] = MovedBody(body_position, entries)

    def snapshot(self, use: SegmentUse) -> None:
        """``use`` has a DEFINITIONS record: segments before it needn't define anything."""
        use.defines = True
        self._snapshot_base = use.base
        for candidate in list(self._dead.values()):
            self._examine(candidate)

    def held_by_definitions_bytes(self) -> int:
        """What could be deleted if the definitions were written again."""
        return sum(use.size_bytes for use in self._dead.values() if self._defines(use))

    def take_dead(self) -> list[SegmentUse]:
        """The segments that may be deleted now, oldest first. They stay in the books until
        :meth:`removed`, but are not returned again."""
        if not self._dead:
            return []
        dead = [self._dead[base] for base in sorted(self._dead)]
        dead = [use for use in dead if self._is_dead(use) and not self._defines(use)]
        for use in dead:
            del self._dead[use.base]
        return dead

    def take_messengers(self, bytes_per_range: int, gain: int) -> list[tuple[SegmentUse, Speech]]:
        """What has to be said again, and about which segments: then the ones that said it before
        are dead. Add it to the :meth:`speech` of the segment that says it now.

        One whose size is less than ``gain`` times what that costs is left alone; so is one that
        speaks about another messenger, which may go first and take the matter with it.
        """
        if not self._messengers_changed:
            return []
        self._messengers_changed = False
        speeches: list[tuple[SegmentUse, Speech]] = []
        for base in sorted(self._messengers):
            use = self._messengers[base]
            if use.live or not use.speaks_about or base not in self.segments:
                del self._messengers[base]
                continue
            cost_bytes = bytes_per_range * sum(map(len, use.speaks_about.values()))
            spoken_of = [self.segments[about] for about in use.speaks_about]
            if cost_bytes * gain <= use.size_bytes and all(about.live for about in spoken_of):
                speeches += zip(spoken_of, use.speaks_about.values(), strict=True)
                for about in spoken_of:
                    del about.spoken_of_by[base]
                use.speaks_about = {}
                del self._messengers[base]
                self._examine(use)
        return speeches

    def removed(self, uses: list[SegmentUse]) -> None:
        """Their deletion is durable: what spoke about them needn't be kept for their sake."""
        for use in uses:
            del self.segments[use.base]
            if self._last_found is use:
                self._last_found = None
            for speaker in use.spoken_of_by.values():
                del speaker.speaks_about[use.base]
                self._examine(speaker)
        self._bases = list(self.segments)

    def _release(self, position: int) -> SegmentUse | None:
        use = self.find(position)
        if use is not None:
            use.live -= 1
            if not use.live:
                self._examine(use)
        return use

    def speech(self, use: SegmentUse, by: SegmentUse) -> Speech:
        """What ``by`` says about ``use``, to add to: ``use`` must stay in the books until then."""
        speech = by.speaks_about.get(use.base)
        if speech is None:
            speech = by.speaks_about[use.base] = Speech()
            use.spoken_of_by[by.base] = by
        return speech

    def _is_dead(self, use: SegmentUse) -> bool:
        return use.sealed and not use.live and not use.speaks_about

    def _defines(self, use: SegmentUse) -> bool:
        return use.defines and use.base >= self._snapshot_base

    def _examine(self, use: SegmentUse) -> None:
        if self._is_dead(use):
            self._dead[use.base] = use
        elif use.sealed and not use.live:
            self._messengers[use.base] = use
        self._messengers_changed = True
