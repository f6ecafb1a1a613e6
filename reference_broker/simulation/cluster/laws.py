"""The laws of a cluster's metadata, and the history that they are held against.

views       a view at a revision is what etcd had at it (see :mod:`copy`)
outcomes    what has won is in etcd once, at the revision that was told; what has lost, or was
            refused, never is
-ok         nobody is told -ok while a node that is vouched for has not applied it
fencing     once a later run of a node has proposed, no earlier one changes anything
vouching    a loop that stands for less than 2.5 s is not taken for dead, by nobody and by itself
            neither; one that hangs is vouched for by nobody
serving     a node serves when its view has its own key, and everything that was agreed before
isolation   a node that has whole links with a majority of the members that it knows lets no
            client go
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reference_broker.cluster.link.link import Link
from reference_broker.cluster.membership.joining import Joined
from reference_broker.cluster.membership.records import LiveRecord, decoded
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS, PROPOSALS, cluster_prefix

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.operation import Operation, Try
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

HANGING_US = 5_300_000
"""Microseconds after which nobody may vouch for a loop that hangs: its thread does so for 3 s, and
is missed for 2 s. (After 6 s the link itself is silent.)"""


class LawBroken(AssertionError):
    """A law does not hold; the text says which, and where."""


class Laws:
    """Everything that is held against the record of etcd. ``counts`` says how often each was
    looked at."""

    def __init__(self, world: ClusterWorld) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._operations: list[Operation] = []
        self._agreed = 0

    def begun(self, operation: Operation) -> None:
        """An operation was proposed, and its outcome will be held against the record."""
        self._operations.append(operation)

    def serving(self, process: NodeProcess, joined: Joined) -> None:
        """``process`` begins to serve clients."""
        view = process.node.view
        self.counts["serving"] += 1
        if not view.is_whole or view.revision_of(LIVE + process.name) <= joined.member_revision:
            raise LawBroken(f"{process.name} serves, and its view has no key of its own")
        if self._has_key(process, self._agreed) and view.revision.value < self._agreed:
            raise LawBroken(
                f"{process.name} serves at revision {view.revision.value}, and {self._agreed} was"
                " agreed before"
            )

    def agreed(self, by: NodeProcess, revision: int) -> None:
        """A client of ``by`` is told -ok now, for what was changed at ``revision``."""
        self.counts["-ok"] += 1
        self._agreed = max(self._agreed, revision)
        if by.node.view.revision.value < revision:
            raise LawBroken(f"{by.name} says -ok before its own view has revision {revision}")
        for other in self._world.processes.values():
            if other is by or other.is_gone or not other.serves:
                continue
            if not self._is_vouched_for(other, by, revision):
                continue
            self.counts["-ok, another node awaited"] += 1
            if other.node.view.revision.value < revision:
                raise LawBroken(
                    f"{by.name} says -ok for revision {revision}, and {other.name} is at"
                    f" {other.node.view.revision.value}"
                )

    def hold_hanging(self, by: NodeProcess) -> None:
        """``by``, whose loop goes round, hears of nobody whose loop hangs."""
        now_us = self._world.clock.now_us
        fresh_us = max(by.goes_since_us, self._world.cables.healed_us)
        for other in self._world.processes.values():
            since_us = other.stands_since_us
            link = by.mesh.links.get(other.name)
            if other is by or other.is_gone or since_us is None:
                continue
            if now_us - max(since_us, fresh_us) > HANGING_US:
                self.counts["vouching, a loop that hangs"] += 1
                if link is not None and link.peer.run == other.run:
                    raise LawBroken(
                        f"{by.name} hears of {other.name}, whose loop has stood for"
                        f" {(now_us - since_us) / 1_000_000:.1f} s"
                    )

    def cut_off(self, process: NodeProcess) -> None:
        """``process`` lets its clients go."""
        self.counts["isolation, clients let go"] += 1
        keys = process.node.view.keys()
        members = {key for key in keys if key.startswith(MEMBERS)}
        ends = {link.peer.node for link in self.links_of(process)} - {process.name}
        linked = sum(MEMBERS + name in members for name in ends)
        if (linked + 1) * 2 > len(members):
            raise LawBroken(
                f"{process.name} lets its clients go, and has links with {linked} of the others, of"
                f" {len(members)} members"
            )

    def links_of(self, process: NodeProcess) -> list[Link]:
        """The whole links with ``process``, both ends."""
        links = []
        for other in self._world.processes.values():
            if process.name in other.mesh.last_heard and other.name in process.mesh.last_heard:
                links += [other.mesh.links[process.name], process.mesh.links[other.name]]
        return links

    def overlooked(self, process: NodeProcess, links: list[Link]) -> None:
        """The loop of ``process`` stood for a moment, and goes round again; before that it had
        ``links``."""
        self.counts["vouching, a loop that stood"] += len(links) > 0
        for link in links:
            if link.reason:
                raise LawBroken(
                    f"the loop of {process.name} stood for a moment, and {link} ended:"
                    f" {link.reason}"
                )

    def _is_vouched_for(self, other: NodeProcess, by: NodeProcess, revision: int) -> bool:
        """True while ``by`` hears of it, or its key was there at ``revision`` and is still."""
        return by.hears(other.name) or self._has_key(other, revision)

    def _has_key(self, process: NodeProcess, revision: int) -> bool:
        key = cluster_prefix("sim") + LIVE + process.name
        page = self._world.etcd.server.store.read(key)
        rows = getattr(page, "rows", ())
        return any(
            row.key == key
            and row.revision <= revision
            and decoded(LiveRecord, row.key, row.value).run == process.run
            for row in rows
        )

    # At the end

    def hold_outcomes(self) -> None:
        """Hold what proposers were told against what has happened."""
        happened: dict[bytes, list[int]] = {}
        for changed in self._world.etcd.server.record.changes:
            for event in changed.events:
                if event.value is not None:
                    happened.setdefault(event.value, []).append(changed.revision)
        tries = {tried.value: tried for each in self._operations for tried in each.tries}
        for value, tried in tries.items():
            self.counts["outcomes"] += 1
            tried.hold_against(happened.get(value, []))
        self._hold_conditions(tries)

    def _hold_conditions(self, tries: dict[bytes, Try]) -> None:
        prefix = cluster_prefix("sim")
        revisions: dict[str, int] = {}
        for changed in self._world.etcd.server.record.changes:
            values = [event.value for event in changed.events if event.value in tries]
            for value in dict.fromkeys(values):
                assert value is not None
                for key, revision in tries[value].compares:
                    self.counts["conditions"] += 1
                    if revisions.get(prefix + key, 0) != revision:
                        raise LawBroken(
                            f"{value!r} was carried out at revision {changed.revision}, where"
                            f" {key} was at {revisions.get(prefix + key, 0)}, not at {revision}"
                        )
            for event in changed.events:
                revisions[event.key] = 0 if event.value is None else event.revision

    def hold_fencing(self) -> None:
        """Hold the runs in the nodes' own keys against each other."""
        last: dict[str, tuple[int, int]] = {}
        prefix = cluster_prefix("sim") + PROPOSALS
        for changed in self._world.etcd.server.record.changes:
            for event in changed.events:
                if event.key.startswith(prefix) and event.value is not None:
                    run, number = map(int, event.value.split())
                    before = last.get(event.key, (0, 0))
                    if (run, number) <= before:
                        raise LawBroken(f"{event.key}: {run, number} was written after {before}")
                    last[event.key] = (run, number)
                    self.counts["fencing"] += 1
