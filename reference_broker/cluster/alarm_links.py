"""The resource alarms of the nodes, told over their links: a publisher of any node is blocked while
one member has an alarm.

A node tells its own alarms when they change, and as a link begins. They go over the link, and not
with the heartbeats: those have a connection of their own, and one that is overtaken would end an
alarm that has begun. What a node has told is over when it says so, and with its link: a node that
is gone blocks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.cluster.link.lane import OWNER_KINDS, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.core.alarms import Alarm, Alarms
from reference_broker.errors import LinkError

ALARMS = OWNER_KINDS + 1
"""Control: the alarms that are on at the sender itself, a bit for each (u8)."""

_BITS = {Alarm.MEMORY: 1, Alarm.DISK: 2}


class AlarmLinks:
    """Both ends of it, for the links that ``shell`` writes. :meth:`attach` the alarms of the node's
    broker; a node without one tells nothing, and nobody there is blocked."""

    def __init__(self, shell: LinkShell) -> None:
        self._shell = shell
        self._alarms: Alarms | None = None
        self._links: dict[str, Link] = {}
        """The open link with each node, by its name."""
        self._told = 0

    def attach(self, alarms: Alarms) -> None:
        """From now on these alarms are told, and block for what others tell. Call it once, before
        there are links."""
        self._alarms = alarms
        self._told = _encoded(alarms.on)
        alarms.follow(self._changed)

    def _changed(self) -> None:
        assert self._alarms is not None
        on = _encoded(self._alarms.on)
        if on != self._told:
            self._told = on
            for link in self._links.values():
                self._tell(link)

    def _tell(self, link: Link) -> None:
        link.send(Lane.CONTROL, ALARMS, (bytes((self._told,)),))
        self._shell.look_at(link)

    def link_open(self, link: Link) -> None:
        """There is a link with the node, in the place of any earlier one."""
        self._links[link.peer.node] = link
        self._tell(link)

    def link_down(self, link: Link) -> None:
        """The link has ended. Idempotent."""
        for node in [name for name, each in self._links.items() if each is link]:
            del self._links[node]
            self._hear(node, ())

    def take(self, link: Link, payload: memoryview) -> None:
        """The node at the other end tells its alarms. Raises :exc:`LinkError` for what can't be
        read; alarms of a later version are none for this one."""
        if len(payload) != 1:
            raise LinkError("ALARMS that can't be read")
        bits = payload[0]
        self._hear(link.peer.node, tuple(alarm for alarm, bit in _BITS.items() if bits & bit))

    def _hear(self, node: str, on: tuple[Alarm, ...]) -> None:
        if self._alarms is not None:
            self._alarms.hear(node, on)


def _encoded(on: Sequence[Alarm]) -> int:
    return sum(_BITS[alarm] for alarm in on)
