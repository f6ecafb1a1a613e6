"""Counts of a link: frames and octets both ways, and waits for credit, by lane."""

from __future__ import annotations

from reference_broker.cluster.link.lane import Lane

_LANES = len(Lane)


class LinkCounts:
    """Each is a list of numbers that only rise, with a place for each :class:`Lane`. Octets are
    those of whole frames, their heads included, before TLS."""

    __slots__ = ("received_frames", "received_octets", "sent_frames", "sent_octets", "stalls")

    def __init__(self) -> None:
        self.sent_frames = [0] * _LANES
        self.sent_octets = [0] * _LANES
        self.received_frames = [0] * _LANES
        self.received_octets = [0] * _LANES
        self.stalls = [0] * _LANES
        """The number of times that messages began to wait for nothing but credit."""

    def add(self, other: LinkCounts) -> None:
        """Add the counts of another link."""
        for name in self.__slots__:
            numbers, more = getattr(self, name), getattr(other, name)
            for lane in Lane:
                numbers[lane] += more[lane]


class PastLinks:
    """The links of one node that were open and have ended, by the node at their other end."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: dict[str, LinkCounts] = {}

    def add(self, node: str, counts: LinkCounts) -> None:
        """A link with ``node`` has ended. To be called once for each."""
        self._numbers[node] = self.number(node) + 1
        self._counts.setdefault(node, LinkCounts()).add(counts)

    def number(self, node: str) -> int:
        """The number of those with ``node``."""
        return self._numbers.get(node, 0)

    def counts_with(self, node: str, now: LinkCounts | None) -> LinkCounts:
        """The counts of all links with ``node``, and of the one that is open ``now``, if one is."""
        whole = LinkCounts()
        for each in (self._counts.get(node), now):
            if each is not None:
                whole.add(each)
        return whole
