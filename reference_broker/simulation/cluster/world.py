"""A world of several nodes: one etcd, a network, clients, faults; and the figures of a run.

faults for a while --> all faults end, everybody is back --> everything has to be whole again
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from random import Random

from reference_broker.cluster.coordinator import Put, Transaction
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.metadata.keys import LIVE, cluster_prefix
from reference_broker.core.journal.definition_keys import QUEUE
from reference_broker.simulation.cluster.cable import Cables
from reference_broker.simulation.cluster.deletions import Deletions
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.laws import LawBroken, Laws
from reference_broker.simulation.cluster.link_sizes import link_sizes_of, small_links
from reference_broker.simulation.cluster.messages.alarm_laws import AlarmLaws
from reference_broker.simulation.cluster.messages.message_laws import MessageLaws
from reference_broker.simulation.cluster.messages.workload import Workload
from reference_broker.simulation.cluster.operation import Kind, Operation
from reference_broker.simulation.cluster.process import CLUSTER, NodeProcess
from reference_broker.simulation.cluster.request import Request, drawn
from reference_broker.simulation.cluster.shape import leftovers_in, shape_of
from reference_broker.simulation.cluster.shortages import Shortages
from reference_broker.simulation.etcd.faults import EtcdFaultInjector
from reference_broker.simulation.etcd.model import EtcdModel
from reference_broker.simulation.etcd.profile import etcd_profile_of
from reference_broker.simulation.events.clock import SimulatedClock

STORM_US = 60_000_000
CALM_US = 120_000_000
"""Microseconds in which everything has to be whole again, after the last fault: patience with etcd
(30 s), a request that is under way (35 s), and a reading."""

PAGE_ROWS = 7
"""Rows of a page, so that readings have many."""

OPERATION_US = (1_000, 200_000)
OTHERS_US = (5_000, 200_000)
REQUEST_CHANCE = 0.5
"""Of what clients do: the rest are bare proposals, whose outcomes are held against etcd."""

SHARED_CHANCE = 0.3
"""Of seeds whose etcd others write to, too."""

FAULT_US = (500_000, 8_000_000)
DOWN_US = (10_000, 15_000_000)
PAUSE_US = (100_000, 20_000_000)
STAND_US = (100_000, 8_000_000)
OVERLOOKED_US = 2_500_000
"""Microseconds that a loop may stand without being taken for dead."""
LATER_US = (CALM_US // 2, CALM_US - 10_000_000)
"""Microseconds after the last fault in which loops stand that long, and nothing comes of it."""
AFTERWARDS_US = 500_000
QUIET_US = 4_000_000
"""Microseconds after a fault in which links may still go down for it."""
CUT_US = (200_000, 15_000_000)


@dataclass(slots=True)
class ClusterResult:
    """The outcome of a run. ``failure`` is the law that was broken, ``None`` where none was."""

    seed: int
    failure: str | None = None
    counts: Counter[str] = field(default_factory=Counter)


class ClusterWorld:
    """The world of a seed; :meth:`run` plays it, once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(f"cluster/{seed}")
        self.message_random = Random(f"messages/{seed}")
        """For what came later than the rest: so that it changes as little of that as can be."""
        self.link_sizes = link_sizes_of(seed)
        self.clock = SimulatedClock()
        self.profile = etcd_profile_of(seed)
        self.etcd = EtcdModel(self.clock, self.random, self.profile, PAGE_ROWS)
        self.faults = EtcdFaultInjector(self.clock, self.random, self.etcd)
        self.cables = Cables(self.clock, self.random)
        self.laws = Laws(self)
        self.deletions = Deletions(self.etcd.server.record, cluster_prefix(CLUSTER))
        self.counts: Counter[str] = Counter()
        self.counts["small links"] += self.link_sizes is not None
        self.names = [f"n{number}" for number in range(self.random.choice((3, 3, 4, 5)))]
        self.processes: dict[str, NodeProcess] = {}
        self.shortages = Shortages(self)
        self.alarm_laws = AlarmLaws(self)
        self.message_laws = MessageLaws(self)
        self.workload = Workload(self)
        self._replaced: list[NodeProcess] = []
        self._folders = {name: Folder() for name in self.names}
        letters = self.random.choice(("abc", "abcdefghij"))
        self._keys = [f"def/parameter/{letter}" for letter in letters]
        self._operations = 0
        self._open: dict[int, Operation | Request] = {}
        self._calm = False
        self._disturbed_us = 0

    def run(self) -> ClusterResult:
        """Play it. The failure of a law is in the result; any other exception goes up."""
        result = ClusterResult(self.seed)
        try:
            with small_links(self.link_sizes):
                self._play()
        except LawBroken as broken:
            result.failure = str(broken)
        result.counts += self.counts + self.laws.counts + self.faults.counts
        result.counts += self.message_laws.counts
        result.counts += self.etcd.server.counts + self.cables.counts
        return result

    def _play(self) -> None:
        for name in self.names:
            self._later((0, 3_000_000), lambda name=name: self._start(name))
        self._later(OPERATION_US, self._operate)
        self._later(FAULT_US, self._strike)
        if self.random.random() < SHARED_CHANCE:
            self._later(OTHERS_US, self._write_as_others_do)
        self.faults.begin()
        self.shortages.begin()
        self.alarm_laws.begin()
        self.workload.begin()
        self.clock.run(STORM_US)
        self._end_faults()
        self.workload.calm()
        self.clock.run(STORM_US + CALM_US)
        self._hold_whole()
        self.workload.hold()
        self.laws.hold_outcomes()
        self.laws.hold_fencing()
        self.counts["deletions held"] += self.deletions.hold()

    def _later(self, within_us: tuple[int, int], act: object) -> None:
        assert callable(act)
        self.clock.after(self.random.randint(*within_us), act)

    # Clients

    def _operate(self) -> None:
        if self._calm:
            return
        self._later(OPERATION_US, self._operate)
        serving = [each for each in self.processes.values() if each.serves and not each.is_gone]
        if not serving:
            return
        process = self.random.choice(serving)
        if process.stands_since_us is None:
            self.laws.hold_hanging(process)
        self._operations = number = self._operations + 1
        if self.random.random() < REQUEST_CHANCE:
            self._request(process, number)
            return
        kind = self.random.choice(list(Kind))
        first, second = self.random.sample(self._keys, 2)
        ended = partial(self._ended, number, kind.value)
        operation = Operation(self, process, kind, (first, second), number, ended)
        self._open[number] = operation
        self.laws.begun(operation)
        process.inbox.tell(operation.attempt)

    def _request(self, process: NodeProcess, number: int) -> None:
        kind, ask = drawn(self, process)
        request = Request(self, process, ask, partial(self._ended, number, kind))
        self._open[number] = request
        process.inbox.tell(request.attempt)

    def _ended(self, number: int, kind: str, how: str) -> None:
        self._open.pop(number, None)
        self.counts[f"{kind}: {how}"] += 1

    def _write_as_others_do(self) -> None:
        """Write what no node watches: the etcd is not this cluster's alone."""
        self.counts["written by others"] += 1
        put = Put("/somebody else's", b"")
        self.etcd.server.transact(Transaction((), (put,)))
        self._later(OTHERS_US, self._write_as_others_do)

    # Faults

    def _start(self, name: str) -> None:
        self.counts["processes started"] += 1
        before = self.processes.get(name)
        if before is not None:
            self.counts["views held"] += before.copy.revisions_held
            self.counts["transactions relayed"] += before.node.relay.taken
        self.processes[name] = process = NodeProcess(self, name, self._folders[name])
        process.start()

    def _strike(self) -> None:
        if self._calm:
            return
        self._later(FAULT_US, self._strike)
        name = self.random.choice(self.names)
        process = self.processes.get(name)
        if process is None:
            return
        strike = self.random.choice(
            (
                self._kill,
                self._kill,
                self._pause,
                self._pause,
                self._stand,
                self._stand,
                self._cut,
                self._cut,
                self._copy,
            )
        )
        strike(process)

    def _disturb(self) -> None:
        """Note that something happens after which links may be down."""
        self._disturbed_us = self.clock.now_us

    def _kill(self, process: NodeProcess) -> None:
        self._disturb()
        if not process.is_gone:
            self.counts["killed"] += 1
            process.kill()
        self._later(DOWN_US, lambda: self._restart(process))

    def _restart(self, process: NodeProcess) -> None:
        """Start the node again, if nobody else has."""
        if self.processes[process.name] is process and process.is_gone:
            self._start(process.name)

    def _pause(self, process: NodeProcess) -> None:
        self._disturb()
        self.counts["paused"] += 1
        process.pause()
        self._later(PAUSE_US, lambda: self._resume(process))

    def _stand(self, process: NodeProcess, within_us: tuple[int, int] = STAND_US) -> None:
        """Have one node's loop stand, and nothing else of it."""
        if process.stands_since_us is not None:
            return
        self.counts["loops stood"] += 1
        stands_us = self.random.randint(*within_us)
        if stands_us <= OVERLOOKED_US and self._is_quiet():
            links = self.laws.links_of(process)
            since_us = self.clock.now_us
            self.clock.after(stands_us, process.resume)
            self.clock.after(
                stands_us + AFTERWARDS_US, lambda: self._hold_overlooked(process, links, since_us)
            )
        else:
            self.clock.after(stands_us, lambda: self._resume(process))
        process.stand()

    def _hold_overlooked(self, process: NodeProcess, links: list[Link], since_us: int) -> None:
        if self._disturbed_us < since_us and not process.is_gone:
            self.laws.overlooked(process, links)

    def _resume(self, process: NodeProcess) -> None:
        self._disturb()
        process.resume()

    def _heal(self) -> None:
        self._disturb()
        self.cables.heal()

    def _is_quiet(self) -> bool:
        """True if nothing has happened to links for a while, and all loops go round."""
        going = all(each.stands_since_us is None for each in self.processes.values())
        calm_since_us = self.clock.now_us - QUIET_US
        return going and self._disturbed_us < calm_since_us and not self.cables.is_any_cut

    def _cut(self, process: NodeProcess) -> None:
        """Cut one node off from some of the others, one-way or both ways."""
        self._disturb()
        self.counts["cables cut"] += 1
        for other in self.names:
            if other != process.name:
                way = self.random.randint(0, 3)
                if way & 1:
                    self.cables.cut(process.name, other)
                if way & 2:
                    self.cables.cut(other, process.name)
        self._later(CUT_US, self._heal)

    def _copy(self, process: NodeProcess) -> None:
        """Start a process of the node while the other is there: a machine that was taken for dead,
        and slept."""
        if self._folders[process.name].mark is None or self.random.random() < 0.5:
            return
        self._disturb()
        self.counts["replaced"] += 1
        self._replaced.append(process)
        self._start(process.name)

    def _end_faults(self) -> None:
        self._calm = True
        self.faults.stop()
        self.shortages.end()
        self.cables.heal()
        for process in [*self._replaced, *self.processes.values()]:
            process.resume()
        for process in list(self.processes.values()):
            if process.is_gone:
                self._start(process.name)
        for name in self.names:
            self._later(LATER_US, lambda name=name: self._stand_later(name))

    def _stand_later(self, name: str) -> None:
        self._stand(self.processes[name], (OVERLOOKED_US // 2, OVERLOOKED_US))

    # Afterwards

    def _hold_whole(self) -> None:
        """Everybody serves, everything is answered, and all views are the same."""
        for number, operation in self._open.items():
            if not operation.process.is_gone:
                raise LawBroken(f"operation {number} at {operation.process.name} hangs")
        if len(self.processes) < len(self.names):
            raise LawBroken("a node was never started")
        for process in self._replaced:
            if not process.is_gone:
                raise LawBroken(f"{process.name} was replaced, and its earlier process is there")
        for process in self.processes.values():
            if process.end_reason is not None or not process.serves:
                raise LawBroken(
                    f"{process.name} does not serve: {process.end_reason or process.node.stage}"
                )
            if not process.accepts:
                raise LawBroken(f"{process.name} accepts no clients")
            key = cluster_prefix(CLUSTER) + LIVE + process.name
            page = self.etcd.server.store.read(key)
            if not getattr(page, "rows", ()):
                raise LawBroken(f"{process.name} is there, and its key is not in etcd")
            others = [name for name in self.names if name != process.name]
            if sorted(process.node.barrier.awaited) != others:
                raise LawBroken(
                    f"{process.name} waits for {process.node.barrier.awaited}, not {others}"
                )
            if sorted(process.mesh.last_heard) != others:
                raise LawBroken(
                    f"{process.name} hears of {sorted(process.mesh.last_heard)}, not {others}"
                )
            if process.copy.values != self.processes[self.names[0]].copy.values:
                raise LawBroken(f"{process.name} has another view than {self.names[0]}")
            self.counts["views held"] += process.copy.revisions_held
            self.counts["transactions relayed"] += process.node.relay.taken
            runs = {name: each.run for name, each in self.processes.items()}
            if left := leftovers_in(process.copy.rows, runs):
                raise LawBroken(f"nobody has removed {left}")
            for entry in shape_of(process.broker.broker):
                if entry[0] == QUEUE and entry[5]:
                    raise LawBroken(f"{process.name} has {entry}, whose connection has ended")
            self.counts["definitions at the end"] += len(shape_of(process.broker.broker))
        self.counts["whole at the end"] += 1
