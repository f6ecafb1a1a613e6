"""The laws of alarms, as publishers see them.

blocked    what is published while a node has an alarm, and the publisher's node has had the time to
           know it, is neither answered nor delivered before that is over; and the publisher is told
unblocked  nobody is blocked, or told so, when no node has had an alarm lately that the publisher's
           node is linked with: an alarm ends with its node, and with the link
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_broker.cluster.link.link import Link
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.shortages import Shortage

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

TOLD_US = 1_500_000
"""Microseconds in which a node that is linked with another, and goes round, knows of its alarm."""

LOOK_US = 250_000

UNBLOCKED_US = 3_000_000
"""Microseconds in which publishers are unblocked when no alarm is on that their node knows of."""


class _Held(NamedTuple):
    """A message that must not be taken before ``shortage`` is over: its publisher's node knows of
    it by ``link``, ``None`` where it is its own."""

    process: NodeProcess
    shortage: Shortage
    link: Link | None
    sent_us: int


class AlarmLaws:
    """The laws of alarms in a world. :meth:`begin` looking at links."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._links: dict[tuple[NodeProcess, str], tuple[Link, int]] = {}
        """The link of a process with a node, and the time at which it was there first."""
        self._alarmed_us: dict[NodeProcess, int] = {}
        """The time at which an alarm was last of interest to a process."""
        self._held: dict[int, list[_Held]] = {}

    def begin(self) -> None:
        """Look at the links from now on."""
        self._look()

    def _look(self) -> None:
        world = self._world
        now_us = world.clock.now_us
        for process in world.processes.values():
            for name, link in process.mesh.links.items():
                if self._links.get((process, name), (None, 0))[0] is not link:
                    self._links[process, name] = link, now_us
            self._look_for_alarm(process)
        world.clock.after(LOOK_US, self._look)

    def _look_for_alarm(self, process: NodeProcess) -> None:
        if any(self._may_know(process, each) for each in self._world.shortages.all):
            self._alarmed_us[process] = self._world.clock.now_us

    def _may_know(self, process: NodeProcess, shortage: Shortage) -> bool:
        """True while the alarm is on for the process, or its end is under way to it."""
        other, cables = shortage.process, self._world.cables
        if other is process:
            return shortage.ended_us is None
        link = process.mesh.links.get(other.name)
        if link is None or link.peer.run != other.run:
            return False
        if shortage.ended_us is None or other.is_gone or other.stands_since_us is not None:
            return True
        return cables.is_cut(other.name, process.name)

    # Blocked

    def sent(self, number: int, process: NodeProcess) -> None:
        """The message is published at ``process`` now."""
        held = [self._holding(process, each) for each in self._world.shortages.now]
        if found := [each for each in held if each is not None]:
            self._world.counts["publishes in an alarm"] += 1
            self._held[number] = found

    def _holding(self, process: NodeProcess, shortage: Shortage) -> _Held | None:
        world, other = self._world, shortage.process
        now_us = world.clock.now_us
        since_us = [shortage.since_us, process.goes_since_us]
        link: Link | None = None
        if other is not process:
            link, linked_us = self._links.get((process, other.name), (None, 0))
            names = (process.name, other.name)
            is_cut = world.cables.is_cut(*names) or world.cables.is_cut(*reversed(names))
            if link is None or is_cut or other.stands_since_us is not None:
                return None
            since_us += [linked_us, other.goes_since_us, world.cables.healed_us]
        if process.stands_since_us is not None or max(since_us) + TOLD_US > now_us:
            return None
        held = _Held(process, shortage, link, now_us)
        return held if self._is_held(held) else None

    def _is_held(self, held: _Held) -> bool:
        """True while the alarm is on, and the publisher's node knows of it."""
        process, shortage, link, _ = held
        if shortage.ended_us is not None or process.is_gone:
            return False
        if link is None:
            return True
        other = shortage.process
        back = other.mesh.links.get(process.name)
        is_same = back is not None and back.peer.connection == link.peer.connection
        return is_same and process.mesh.links.get(other.name) is link

    def taken(self, number: int, how: str) -> None:
        """The message was answered, or delivered."""
        for held in self._held.get(number, ()):
            if self._is_held(held):
                raise LawBroken(
                    f"message {number} is {how}, which was published at {held.process.name}"
                    f" {self._ago(held.sent_us)} ago, while {held.shortage.process.name} is"
                    f" {held.shortage.alarm.value} since {self._ago(held.shortage.since_us)}"
                )

    def hold_told(self, number: int, *, is_blocked: bool) -> None:
        """The publisher of the message, which is not answered, is told that it is blocked."""
        for held in self._held.get(number, ()):
            waited_us = self._world.clock.now_us - max(held.sent_us, held.process.goes_since_us)
            if waited_us > TOLD_US and self._is_held(held):
                self._world.counts["publishers that are told of an alarm"] += 1
                if not is_blocked:
                    raise LawBroken(
                        f"message {number} waits for an alarm of {held.shortage.process.name} to be"
                        f" over, and its publisher at {held.process.name} was not told"
                    )

    def _ago(self, time_us: int) -> str:
        return f"{(self._world.clock.now_us - time_us) / 1_000_000:.1f} s"

    # Unblocked

    def hold_blocked(self, process: NodeProcess, since_us: int, what: str) -> None:
        """A publisher at ``process`` is blocked, since then: for an alarm, or not for long. Nobody
        knows the links of a process that another was started in the place of."""
        if self._world.processes.get(process.name) is not process:
            return
        self._look_for_alarm(process)  # a link may have come since the last look
        last_us = max(
            since_us,
            process.goes_since_us,
            self._world.cables.healed_us,
            self._alarmed_us.get(process, 0),
            *(each.since_us for each in self._world.shortages.now),
        )
        self._world.counts["liveness, publishers that are blocked"] += 1
        if self._world.clock.now_us - last_us > UNBLOCKED_US:
            raise LawBroken(
                f"{what} of {process.name} is blocked, and no node that is linked with it has had"
                f" an alarm for {self._ago(last_us)}"
            )
