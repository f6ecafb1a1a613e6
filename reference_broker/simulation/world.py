"""One run of one scenario: its parts, and its two phases.

First faults and clients together, then neither: a last consumer must get everything that was
promised, and after it acked all of that nothing may come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from random import Random

from reference_broker.core.alarms import Alarm
from reference_broker.core.broker import DEFAULT_VHOST, Broker
from reference_broker.runtime.net.paced_output import PORTION_BYTES
from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.clients.features import FEATURES, FeatureActor
from reference_broker.simulation.clients.tap import Tap
from reference_broker.simulation.clients.workload import Actor
from reference_broker.simulation.cut import WHOLE, Cut
from reference_broker.simulation.disk import bookkeeping, definitions, inspection
from reference_broker.simulation.disk.channel_books import channel_books_of
from reference_broker.simulation.disk.chunks import small_chunks
from reference_broker.simulation.disk.disk_use import disk_use_of
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.disk.system_disk import SystemDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import BitRot
from reference_broker.simulation.machine.faults import FaultInjector
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.machine.portions import small_portions
from reference_broker.simulation.plan.plans import ClientPlan, Copying, Scenario
from reference_broker.simulation.watch.calm import (
    CALM_REST_US,
    CALM_US,
    LATE_MS,
    LATELY_MS,
    judge,
    judge_overdue,
    judge_room,
)
from reference_broker.simulation.watch.checkers import (
    AckChecker,
    BooksChecker,
    ChannelBooksChecker,
    Checker,
    DefinitionsChecker,
    DiskUseChecker,
    DurabilityChecker,
    ExpiryChecker,
    FalseAlarmChecker,
    OrderChecker,
    PrefetchChecker,
    PriorityChecker,
    RebuildChecker,
    RedeliveredChecker,
    Violation,
    XDeathChecker,
)
from reference_broker.simulation.watch.history import History
from reference_broker.store.format.record import CHUNK_BYTES

CONVERGE_US = 120_000_000
"""Microseconds of virtual time for each step of the last phase: far more than one takes."""

REST_US = 45_000_000
"""Microseconds of rest after the last client's end: messages that wait expire within 15 s, and 30 s
after the last ack the log has to be tidy."""

REBUILD_PAUSE_US = (3_000_000, 15_000_000)
_NOT_SYNCED_PAUSE_US = 3_000
SOURCES = ("footers", "records")
"""The parts of a log by which a new broker can know its messages."""

LAST_MESSAGES = 5
"""Messages that are published in one piece at the very end."""


class World:
    """The world of what ``cut`` leaves of a scenario; :meth:`run` it once. ``disk`` is for those
    who want to watch it, or to have one that forgets; it must be a new one."""

    def __init__(
        self, scenario: Scenario, disk: PoweredDisk | None = None, cut: Cut = WHOLE
    ) -> None:
        self.cut = cut
        self.scenario = scenario = cut.of(scenario)
        self.clock = SimulatedClock()
        queues = {queue.name: queue for queue in scenario.queues}
        self.durability = DurabilityChecker(queues, self.clock)
        self.history = History(_checkers(scenario, self.durability, self.clock), self.clock)
        self.disk = disk or self._new_disk()
        self.disk.copies_slowly = scenario.broker.copying is Copying.SLOWLY
        self.machine = Machine(
            self.clock,
            self._random("machine"),
            self.disk,
            scenario.broker,
            self,
            self.broker_sent,
        )
        self.faults = FaultInjector(
            self.clock,
            self._random("faults"),
            self.machine,
            scenario.fault_pause_us,
            self._damaged if scenario.bit_rot or scenario.reads_fail else None,
            scenario.faults,
            cut.strikes,
            reads_again=scenario.reads_fail,
            sets_clock=scenario.clock_is_set,
        )
        clients = [self._actor(plan, cut.actions) for plan in cut.clients_of(scenario)]
        self.actors = [*clients, self._actor(scenario.drainer())]
        self.features = [self._at_work(name) for name in scenario.features]
        self._taps: dict[int, Tap] = {}
        self._rebuilds = self._random("rebuilds")
        self._looks = 0
        self._disk_differs = False
        """True when a bit of a file is not what the running broker once wrote."""
        self._started_ms = 0
        self._last_published: tuple[object, int] | None = None

    def run(self) -> None:
        """Both phases. Raises :exc:`Violation` where a law is broken, and whatever the broker
        itself raises, which it never should."""
        broker = self.scenario.broker
        with small_chunks(broker.chunk_bytes), small_portions(broker.portion_bytes):
            self._run()

    def _run(self) -> None:
        *clients, drainer = self.actors
        self.machine.start()
        everybody: list[Actor | FeatureActor] = [*clients, *self.features]
        for each in everybody:
            each.begin()
        self.faults.begin()
        self._rebuild_later()
        self.clock.run(self.scenario.duration_us)
        self.faults.stop()
        self._calm(everybody)
        for each in everybody:
            each.leave()
        self._last_end()
        self._converge("everybody is gone and all is synced", self._is_quiet)
        self.history.left_over(bookkeeping.held_for_clients(self._running.broker))
        self._rest()
        for feature in self.features:
            feature.drain()
        drainer.begin()
        self._converge("everything is consumed", lambda: self._is_drained(drainer))
        broker = self._running.broker
        self.history.drained(inspection.losses_of(broker))
        self.history.left_over(bookkeeping.held_for_messages(broker))
        self._converge("the last messages are confirmed", lambda: self._publish_last(drainer))
        drainer.leave()
        self._rest()
        self.machine.recoveries_cut_short = False
        self.machine.lose_power()
        self._converge("the broker starts", self._is_quiet)
        self._rest()
        for feature in self.features:
            feature.came_to_rest(self._running.broker)
        self.ended(self._running)

    @property
    def fault_counts(self) -> Counter[str]:
        """Faults by kind, those that struck in the middle of a recovery included."""
        profile = f"profile: {self.scenario.faults.name}"
        return self.faults.counts + Counter(
            {"power loss in recovery": self.machine.cuts_in_recovery, profile: 1}
        )

    @property
    def counts(self) -> Counter[str]:
        """All that happened, by kind: to the clients, to the features, and in the broker."""
        counts = Counter(self.history.counts)
        for actor in self.features:
            counts[f"{actor.feature.name} at work"] += 1
            counts[f"{actor.feature.name} messages"] += len(actor.feature.ledger.posts)
            counts += actor.feature.counts
        counts["failed reads"] += self.disk.failed_reads
        chunk_bytes = self.scenario.broker.chunk_bytes
        if chunk_bytes < CHUNK_BYTES:
            counts["runs with small chunks"] += 1
            counts["messages in small chunks"] += self.history.larger_than(chunk_bytes)
        counts["runs with small portions"] += self.scenario.broker.portion_bytes < PORTION_BYTES
        counts[f"runs with copies made {self.scenario.broker.copying.value}"] += 1
        counts["runs with a limit of the free space"] += (
            self.scenario.broker.disk_free_limit_bytes > 0
        )
        system = self.scenario.broker.system
        if system is not None:
            counts["runs through the data folder"] += 1
            counts[f"runs with syncs {system.syncing.value}"] += 1
        counts += self.disk.counts
        return counts

    @property
    def _running(self) -> Node:
        if self.machine.node is None:
            raise Violation("liveness", "nothing fails any more, and the broker doesn't start")
        return self.machine.node

    def broker_sent(self, link: Link, data: bytes) -> None:
        """Make the bytes that the broker sends to a client at the end of an input part of the
        trace."""
        self.history.note("sent", self.clock.now_us, link.number, data)
        tap = self._taps.get(link.number)
        if tap is not None:
            tap.broker_sent(data)

    def connected(self, link: Link, session: Session) -> None:
        """A client has a new connection, on which nothing was sent yet."""
        if any(consume.no_ack for channel in session.channels for consume in channel.plan.takes):
            self._taps[link.number] = Tap(session, self.history)

    # Processes come and go

    def started(self, node: Node, found: inspection.Found) -> None:
        self._started_ms = self.clock.wall_ms()
        self._disk_differs = False
        stamp, wall_ms = self.clock.stamp(), self.clock.wall_ms()
        self.history.started(inspection.start_of(node.broker, found, stamp, wall_ms))
        vhost = node.broker.vhosts[DEFAULT_VHOST]
        self.history.definitions_found(definitions.of_vhost(vhost))
        self._count(node)
        for feature in self.features:
            feature.started(node)

    def stopped_cleanly(self, node: Node) -> None:
        self._compare(node)

    def ended(self, node: Node) -> None:
        self.history.life_ended(inspection.losses_of(node.broker), node.counts)

    def _damaged(self, rot: BitRot) -> None:
        self._disk_differs = True
        self.history.bit_flipped(rot)

    # Rebuilds

    def _rebuild_later(self) -> None:
        self.clock.after(self._rebuilds.randint(*REBUILD_PAUSE_US), self._rebuild_when_synced)

    def _rebuild_when_synced(self) -> None:
        node = self.machine.node
        if node is not None and inspection.is_synced(node.broker):
            self._look_for_late(node)
            # Now by the one, now by the other: each takes as long as all else between two looks.
            self._compare(node, SOURCES[self._looks % len(SOURCES) :][:1])
            self._looks += 1
            self._rebuild_later()
        else:
            self.clock.after(_NOT_SYNCED_PAUSE_US, self._rebuild_when_synced)

    def _look_for_late(self, node: Node) -> None:
        if self.clock.wall_ms() - self._started_ms <= LATE_MS:
            return
        now_ms = node.now()[1]
        judge_overdue(inspection.overdue_of(node.broker, now_ms))
        heads = [
            head
            for head, late_ms in inspection.overdue_heads_of(node.broker, now_ms).items()
            if late_ms > LATE_MS
        ]
        if heads:
            self.clock.after(LATE_MS * 1_000, lambda: self._look_again(node, heads))

    def _look_again(self, node: Node, heads: Collection[inspection.Head]) -> None:
        """Each of ``heads`` has been the head for as long as it may be late, if it still is."""
        if self.machine.node is node:
            late_ms = inspection.overdue_heads_of(node.broker, node.now()[1])
            judge_overdue({each.queue: late_ms[each] for each in heads if each in late_ms})

    def _count(self, node: Node) -> None:
        if not node.broker.has_work:
            self.history.channels_counted(channel_books_of(node.broker))
        if not bookkeeping.is_damaged(node.log):
            self.history.counted(bookkeeping.books_of(node.log, node.broker))

    def _compare(self, node: Node, sources: Sequence[str] = SOURCES) -> None:
        self._count(node)
        vhost = node.broker.vhosts[DEFAULT_VHOST]
        self.history.definitions_seen(definitions.of_vhost(vhost))
        if self._disk_differs:
            return
        index = inspection.index_of(node.broker)
        # Where a file is rotten, records alone have less to say.
        for source in SOURCES[:1] if self.disk.rotten else sources:
            self._compare_with(node.broker, index, source)

    def _compare_with(self, broker: Broker, index: inspection.Indexes, source: str) -> None:
        rebuilt = inspection.rebuilt(self.disk, trust_footers=source == "footers")
        logged = definitions.logged_of(broker, rebuilt.definitions)
        self.history.definitions_compared(definitions.durable_of(broker), logged, source)
        self.history.compared(index, inspection.rebuilt_index(broker, rebuilt), source)

    # The last phase

    def _calm(self, everybody: list[Actor | FeatureActor]) -> None:
        """Nothing fails, and clients only ack: then look at what each of them has."""
        for each in everybody:
            each.calm()
        end_us = self.clock.now_us + CALM_US
        self.clock.run(end_us - LATELY_MS * 1_000)
        node = self.machine.node
        long_before = {} if node is None else inspection.ready_of(node.broker)
        self.clock.run(end_us - CALM_REST_US)
        for each in everybody:
            each.rest()
        self.clock.run(end_us)
        broker, unblocked_us = self._running.broker, self._running.unblocked_us
        has_room = self.disk.capacity_bytes is None
        judge_room(alarm_on=Alarm.DISK in broker.alarms.on, has_room=has_room)
        now_ms = self.clock.wall_ms()
        self.history.calm(is_blocked=not unblocked_us)
        standings = [each.standing for each in everybody if isinstance(each, Actor)]
        ready = inspection.ready_of(broker)
        judge(
            standings,
            inspection.standings_of(broker.vhosts[DEFAULT_VHOST], ready, long_before),
            now_ms,
            unblocked_us=unblocked_us,
        )
        for each in everybody:
            if isinstance(each, FeatureActor):
                vhost = broker.vhosts[each.feature.vhost]
                standings_there = inspection.standings_of(vhost, ready, long_before)
                judge([each.standing], standings_there, now_ms, unblocked_us=unblocked_us)

    def _last_end(self) -> None:
        """Queues are drained after a crash, after a clean stop, or just after the clients left."""
        end: Callable[[], object] = self._random("end").choice(
            (self.machine.lose_power, self.machine.kill, self.machine.stop, lambda: None)
        )
        end()

    def _rest(self) -> None:
        """Let nobody do anything, until the log has to be tidy; then look at all of it."""
        self.clock.run(self.clock.now_us + REST_US)
        node = self._running
        self._compare(node)
        self.history.rested(disk_use_of(node.log, node.broker, self.disk))

    def _is_quiet(self) -> bool:
        node = self.machine.node
        if node is None or node.broker.connections or node.broker.has_work:
            return False
        return inspection.is_synced(node.broker)

    def _is_drained(self, drainer: Actor) -> bool:
        node, session = self.machine.node, drainer.session
        if node is None or session is None or not session.ready or session.holds:
            return False
        if not all(feature.done for feature in self.features):
            return False
        broker = node.broker
        return len(broker.connections) == 1 and not broker.has_work and inspection.is_empty(broker)

    def _publish_last(self, drainer: Actor) -> bool:
        """A run of messages after all the acks: when it is confirmed they are synced."""
        session = drainer.session
        if session is None or not session.ready:
            return False
        confirmed = self.history.counts["confirmed"]
        if self._last_published is None or self._last_published[0] is not session:
            drainer.publish_to(self.scenario.probe, LAST_MESSAGES)
            self._last_published = (session, confirmed)
        return confirmed >= self._last_published[1] + LAST_MESSAGES

    def _converge(self, what: str, done: Callable[[], bool]) -> None:
        if not self.clock.run(self.clock.now_us + CONVERGE_US, done):
            raise Violation(
                "liveness", f"{CONVERGE_US // 1_000_000} s without faults, and not: {what}"
            )

    def _actor(self, plan: ClientPlan, actions_max: int | None = None) -> Actor:
        return Actor(
            self.clock,
            self._random(f"client/{plan.index}"),
            self.machine,
            self.history,
            self.scenario,
            plan,
            self.connected,
            actions_max,
        )

    def _at_work(self, name: str) -> FeatureActor:
        feature = FEATURES[name](self._random(f"feature/{name}"), self.clock)
        return FeatureActor(self.clock, self._random(f"actor/{name}"), self.machine, feature)

    def _new_disk(self) -> PoweredDisk:
        system = self.scenario.broker.system
        if system is None:
            return PoweredDisk(self._random("disk"))
        return SystemDisk(self._random("disk"), self._random("calls"), system.short_chance)

    def _random(self, part: str) -> Random:
        """A source of randomness for each part: a change in one leaves the others as they were."""
        return Random(f"{part}/{self.scenario.seed}")


def _checkers(
    scenario: Scenario, durability: DurabilityChecker, clock: SimulatedClock
) -> list[Checker]:
    """All checkers, in the order in which they are told."""
    queues = {queue.name: queue for queue in scenario.queues}
    body_max_bytes = max((FEATURES[name].body_max_bytes for name in scenario.features), default=0)
    return [
        XDeathChecker(queues, clock),
        durability,
        AckChecker(queues),
        RedeliveredChecker(),
        OrderChecker(queues),
        PrefetchChecker(),
        ExpiryChecker(queues, clock),
        DefinitionsChecker(),
        RebuildChecker(),
        DiskUseChecker(scenario.broker.segment_bytes, body_max_bytes),
        BooksChecker(),
        ChannelBooksChecker(),
        FalseAlarmChecker(),
        PriorityChecker(queues),
    ]
