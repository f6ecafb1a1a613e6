"""Which segments may be deleted, and which are worth rewriting. Counted in bytes of the log.

The law: a segment may go when no live message is in it, and when every ack, requeue and move in it
that refers to another segment refers to one that is gone, or that was rewritten without the entry
in question. Otherwise a message whose ack was synced would come back. "Gone" means that the
deletion itself is durable, which is why :meth:`Liveness.removed` is called only after the directory
was synced.

Definitions are needed until a later snapshot, in another segment, has carried them on.

A message that nobody takes keeps its segment; its neighbours' acks would keep the next one too, and
so on to the end of the log. So a segment that is less than half needed is rewritten: the acks and
requeues that refer to it are *baked* into the new file, and the segments that had them until then
may go.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.store.format.extents import ExtentTable
from reference_broker.store.format.record import RecordType, encode_bases
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.rewrite_plan import Source

ALL = 1 << 62
"""More than there can be, where somebody has to say how many at most."""


class SegmentState(Enum):
    """The life of a segment."""

    OPEN = "open"
    """In use: records are appended."""
    SEALED = "sealed"
    REWRITING = "rewriting"
    """A source of the rewriting that is on its way: kept until that has ended."""
    DELETING = "deleting"
    """Its deletion was ordered, or another file is in its place."""


TRANSITIONS: dict[SegmentState, tuple[SegmentState, ...]] = {
    SegmentState.OPEN: (SegmentState.SEALED,),
    SegmentState.SEALED: (SegmentState.REWRITING, SegmentState.DELETING),
    SegmentState.REWRITING: (SegmentState.SEALED, SegmentState.DELETING),
    SegmentState.DELETING: (),
}


class SegmentUse:
    """The books of one segment: what of it is still needed, and the segments that it refers to."""

    __slots__ = (
        "baking",
        "base",
        "capacity_bytes",
        "checksum",
        "damaged",
        "defines",
        "end",
        "extents",
        "live_bytes",
        "looks",
        "name",
        "referenced_by",
        "references",
        "shared",
        "size_bytes",
        "state",
        "touched",
        "watch_below",
    )  # fmt: skip

    def __init__(
        self, name: SegmentName, size_bytes: int, checksum: ChecksumKind = ChecksumKind.CRC32C
    ) -> None:
        self.name = name
        self.base = name.base
        self.end = name.base + size_bytes
        """No record of this segment has a position at or after this."""
        self.size_bytes = size_bytes
        """Length of the file."""
        self.checksum = checksum
        self.state = SegmentState.OPEN
        self.live_bytes = 0
        """:attr:`Content.stored` of its live entries."""
        self.capacity_bytes = 0
        """The bytes that it was sealed or rewritten with, to compare with :attr:`needed_bytes`."""
        self.watch_below = 0
        """With fewer live bytes than this it has to be examined (:meth:`Liveness.examine`)."""
        self.looks = 0
        """The number of looks in a row that found it to be a victim (:meth:`Liveness.look`)."""
        self.shared = False
        """A message in it may have gone to several queues: a copy has all of it for any of them."""
        self.defines = False
        """It has definitions that no later snapshot has."""
        self.damaged = False
        """Something in it could not be read: it is put aside, never rewritten or deleted."""
        self.touched = array("Q")
        """The queues that got a message in it."""
        self.references: dict[int, int] = {}
        """By base of another segment: bytes of its ranges that refer to that one."""
        self.baking: dict[int, int] = {}
        """As :attr:`references`, for ranges that are being baked into the other's new file."""
        self.referenced_by: dict[int, SegmentUse] = {}
        """By base: the segments that refer to this one."""
        self.extents: ExtentTable | None = None

    def __repr__(self) -> str:
        return f"<SegmentUse {self.name.file} {self.state.value} live={self.live_bytes}>"

    def change(self, state: SegmentState) -> None:
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"segment: {self.state.name} -> {state.name}")
        self.state = state

    @property
    def sealed(self) -> bool:
        """Nothing is appended to it any more."""
        return self.state is not SegmentState.OPEN

    @property
    def foreign_bytes(self) -> int:
        return sum(self.references.values()) + sum(self.baking.values())

    @property
    def needed_bytes(self) -> int:
        """Bytes that a rewriting would have to carry on."""
        return self.live_bytes + self.foreign_bytes

    @property
    def copy_bytes(self) -> int:
        """Bytes that a copy of it takes at most, but for its header and footer."""
        return self.size_bytes if self.shared else self.needed_bytes

    @property
    def rewritable(self) -> bool:
        """It may be a source of a rewriting: at rest, sound, and something of it is needed."""
        return (
            self.state is SegmentState.SEALED
            and not self.damaged
            and not self.defines
            and bool(self.live_bytes or self.references)
        )

    @property
    def victim_below(self) -> int:
        """With fewer live bytes than this, less than half of it is needed; 1 at least, as it may
        go when nothing is."""
        return max(1, (self.capacity_bytes + 1) // 2 - self.foreign_bytes)

    @property
    def victim(self) -> bool:
        """It is worth a rewriting: less than half of it is needed."""
        return self.rewritable and 2 * self.needed_bytes < self.capacity_bytes

    def source(self) -> Source:
        """Its place on the disk just now: another file, after a rewriting."""
        return Source(self.name, self.checksum, self.size_bytes, self.end, self.extents)


class Liveness:
    """The books of all segments. Recovery fills them by the same calls that the log makes.

    ``worth_a_look`` is set when a rewriting may have become worth it, and stays until whoever
    looked clears it.
    """

    def __init__(self) -> None:
        self.segments: dict[int, SegmentUse] = {}
        self.worth_a_look = False
        self._bases: list[int] = []
        self._last_found: SegmentUse | None = None
        self._dead: dict[int, SegmentUse] = {}
        self._held: dict[int, SegmentUse] = {}
        """Segments under half that can't go because they define something."""

    def __iter__(self) -> Iterator[SegmentUse]:
        """All segments, in log order."""
        return (self.segments[base] for base in self._bases)

    @property
    def bases(self) -> Sequence[int]:
        """Of all segments, in log order."""
        return self._bases

    def census(self) -> bytes:
        """The CENSUS record: the segments that should be there at a start. Those being deleted are
        left out: the REMOVED record that names them may stand before this one."""
        kept = (
            base for base in self._bases if self.segments[base].state is not SegmentState.DELETING
        )
        return encode_bases(RecordType.CENSUS, kept)

    def add(self, use: SegmentUse) -> SegmentUse:
        """Open the books of a new segment; its base must lie above all others."""
        assert not self._bases or use.base > self._bases[-1]
        self.segments[use.base] = use
        self._bases.append(use.base)
        return use

    def seal(self, use: SegmentUse, end: int, size_bytes: int, capacity_bytes: int) -> None:
        """The log goes on at ``end``, and nothing will be written to it any more: from now on it
        may be found dead, or worth rewriting."""
        use.end = end
        use.size_bytes = size_bytes
        use.capacity_bytes = capacity_bytes
        use.change(SegmentState.SEALED)
        self._watch(use)

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

    def settle(self, position: int, stored: int) -> SegmentUse | None:
        """An entry of the message at ``position`` is done with. Returns its segment: when the ACK
        or MOVE is in another one, that one must :meth:`add_reference`."""
        use = self.find(position)
        if use is not None:
            use.live_bytes -= stored
            if use.live_bytes < use.watch_below:
                self.examine(use)
        return use

    def add_reference(self, to: SegmentUse, by: SegmentUse, size_bytes: int) -> None:
        """``by`` has so many more bytes of acks or requeues that refer to the segment ``to``."""
        by.references[to.base] = by.references.get(to.base, 0) + size_bytes
        to.referenced_by[by.base] = by

    def snapshot(self, use: SegmentUse) -> None:
        """``use`` has a DEFINITIONS record: segments before it needn't define anything."""
        use.defines = True
        self._held.clear()
        for earlier in self:
            if earlier.base < use.base and earlier.defines:
                earlier.defines = False
                self._watch(earlier)

    def held_by_definitions_bytes(self) -> int:
        """Bytes that deleting or rewriting could free if the definitions were written again."""
        if not self._held:
            return 0
        return sum(use.size_bytes - use.needed_bytes for use in self._held.values())

    @property
    def may_be_dead(self) -> bool:
        """:meth:`take_dead` may have something."""
        return bool(self._dead)

    def take_dead(self, most: int = ALL) -> list[SegmentUse]:
        """The segments that may be deleted now, oldest first, and no more than so many. They stay
        in the books until :meth:`removed`, but are not returned again."""
        if not self._dead:
            return []
        ordered = [self._dead[base] for base in sorted(self._dead)]
        dead = [use for use in ordered if self._is_dead(use)]
        self._dead = {use.base: use for use in dead[most:]}
        del dead[most:]
        for use in dead:
            use.change(SegmentState.DELETING)
        return dead

    def removed(self, uses: Iterable[SegmentUse]) -> None:
        """Their deletion is durable: acks and requeues that refer to them needn't be kept."""
        for use in uses:
            self._forget(use)
            for referrer in use.referenced_by.values():
                referrer.references.pop(use.base, None)
                self.examine(referrer)
        if len(self._bases) != len(self.segments):  # Sorting thousands takes a while.
            self._bases = sorted(self.segments)

    # Rewriting

    def look(self) -> bool:
        """Count, for each segment, the looks in a row that found it a victim; ``True`` if there is
        one."""
        victims = 0
        for use in self.segments.values():
            victim = use.victim
            use.looks = use.looks + 1 if victim else 0
            victims += victim
        return bool(victims)

    def bake(self, sources: Sequence[SegmentUse]) -> None:
        """The acks and requeues that refer to ``sources`` are going into their new file."""
        for source in sources:
            source.change(SegmentState.REWRITING)
            for referrer in source.referenced_by.values():
                ranges_bytes = referrer.references.pop(source.base, 0)
                if ranges_bytes:
                    referrer.baking[source.base] = ranges_bytes

    def unbake(self, sources: Sequence[SegmentUse]) -> None:
        """The rewriting of ``sources`` was given up: all is as it was."""
        for source in sources:
            source.change(SegmentState.SEALED)
            for referrer in source.referenced_by.values():
                ranges_bytes = referrer.baking.pop(source.base, 0)
                if ranges_bytes:
                    self.add_reference(source, referrer, ranges_bytes)
        for source in sources:
            self.examine(source)

    def replace(
        self, sources: Sequence[SegmentUse], new: SegmentUse, foreign: Mapping[int, int]
    ) -> None:
        """``new`` is durably in the place of ``sources``; ``foreign`` has, by base, the bytes of
        its ranges about other segments. Ranges that came to refer to a source since it was baked
        refer to ``new`` from now on."""
        new.live_bytes = sum(source.live_bytes for source in sources)
        new.capacity_bytes = new.live_bytes + sum(foreign.values())
        new.shared = any(source.shared for source in sources)
        new.touched = array("Q", dict.fromkeys(id for use in sources for id in use.touched))
        new.change(SegmentState.SEALED)
        referrers: dict[int, SegmentUse] = {}
        for source in sources:
            source.change(SegmentState.DELETING)
            self._forget(source)
            referrers |= source.referenced_by
        self.segments[new.base] = new
        self._bases = sorted(self.segments)
        for source in sources:
            referrers.pop(source.base, None)
        for referrer in referrers.values():
            ranges_bytes = 0
            for source in sources:
                referrer.baking.pop(source.base, None)
                ranges_bytes += referrer.references.pop(source.base, 0)
            if ranges_bytes:
                self.add_reference(new, referrer, ranges_bytes)
        for base, ranges_bytes in foreign.items():
            other = self.find(base)
            if other is not None and other is not new:
                self.add_reference(other, new, ranges_bytes)
        for use in (*referrers.values(), new):
            self._watch(use)

    def _forget(self, use: SegmentUse) -> None:
        """Take it out of the books; the segments that refer to it keep their ranges."""
        del self.segments[use.base]
        self._dead.pop(use.base, None)
        self._held.pop(use.base, None)
        if self._last_found is use:
            self._last_found = None
        for base in (*use.references, *use.baking):
            other = self.segments.get(base)
            if other is not None:
                other.referenced_by.pop(use.base, None)

    def _is_dead(self, use: SegmentUse) -> bool:
        return (
            use.state is SegmentState.SEALED
            and not use.live_bytes
            and not use.references
            and not use.baking
            and not use.defines
        )

    def _watch(self, use: SegmentUse) -> None:
        """Look into it when less than half of it is live, and again when nothing is."""
        if use.sealed:
            use.watch_below = use.victim_below
            self.worth_a_look = True
            if use.live_bytes < use.watch_below:
                self.examine(use)

    def examine(self, use: SegmentUse) -> None:
        """Something of ``use`` is not needed any more: it may be dead, or worth rewriting."""
        if not use.sealed:
            return
        victim_below = use.victim_below
        if use.live_bytes >= victim_below:
            use.watch_below = victim_below
        else:
            use.watch_below = 1 if use.live_bytes else 0
        self.worth_a_look = True
        if use.defines:
            self._held[use.base] = use
        elif self._is_dead(use):
            self._dead[use.base] = use
