"""One life of the broker's process: the real core and the real log, with simulated ends.

The order of things is the server's (:mod:`reference_broker.runtime.server`): an input, then the end
of its turn, which is the runtime's own, as the timer of ticks is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.core.base.wall_clock import WallClock
from reference_broker.core.broker import DEFAULT_VHOST, Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.journal import Fetched
from reference_broker.core.work.budget import Budget
from reference_broker.runtime.disk.disk_retry import DiskRetry
from reference_broker.runtime.disk.disk_space import DiskSpace
from reference_broker.runtime.net.connection_protocol import ConnectionProtocol
from reference_broker.runtime.net.lost_sockets import LostSockets
from reference_broker.runtime.process.timers import TickTimer
from reference_broker.runtime.process.turn_end import end_turn
from reference_broker.simulation.disk.inspection import reads_met
from reference_broker.simulation.disk.power import Folder, PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.backlog_pump import BacklogPump
from reference_broker.simulation.machine.disk_pump import DiskPump
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.machine.rewrite_pump import RewritePump
from reference_broker.simulation.machine.socket import SimulatedSocket, SocketLoop, Wiretap
from reference_broker.simulation.plan.plans import BrokerPlan, Syncing
from reference_broker.store import Log, RecoveredLog
from reference_broker.store.start.restore import restore, resume

NEXT_TURN_US = (1, 400)
"""Microseconds until the next turn, while work is left over: batches are synced and ticks are due
in between, other clients' requests come, and the process may be killed."""

TURNS_OF_A_STOP = (100_000, 100_000, 3)
"""Turns that a stop may have for the work that is left over: enough for all of it, or too few."""

USER = "guest"


def establish(broker: Broker, vhosts: Sequence[str]) -> None:
    """Make the user and the virtual hosts that have to be there durable, where they are not yet: an
    earlier life may have ended in the middle of this. Within an input."""
    if broker.is_new:
        broker.add_vhost(DEFAULT_VHOST)
    if broker.is_new or USER not in broker.users:
        broker.access.store_user(_user())
    for vhost in (DEFAULT_VHOST, *vhosts):
        if vhost not in broker.vhosts:
            broker.add_vhost(vhost)
        if broker.is_new or broker.access.permission(USER, vhost) is None:
            broker.access.allow_everything(USER, vhost)
    broker.finish()


def _user() -> User:
    return User(USER, hash_password(USER.encode(), b"salt"), loopback_only=True)


def _new_broker(log: Log, plan: BrokerPlan, secret: bytes) -> Broker:
    users = UserStore()
    users.add(_user())
    return Broker(
        log,
        users,
        limits=Limits(memory_high_watermark_bytes=plan.memory_bytes),
        window=MemoryWindow(plan.window_bytes),
        version="simulated",
        secret=secret,
        budget=Budget(plan.turn_units),
    )


class Node:
    """A running broker. ``failed`` is called when the disk did: the process promises nothing any
    more, and has to be crashed."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        plan: BrokerPlan,
        folder: Folder,
        disk: PoweredDisk,
        log: Log,
        recovered: RecoveredLog,
        wiretap: Wiretap,
        failed: Callable[[], None],
    ) -> None:
        self._alive = True
        self._closing = False
        self._clock = clock
        self._wall = WallClock(clock.mono_s(), clock.system_us)
        self._random = random
        self._next_turn_armed = False
        self._folder = folder
        self._wiretap = wiretap
        self._failed = failed
        self._loop = SocketLoop(clock)
        self._sockets: dict[int, SimulatedSocket] = {}
        """By the number of their link, those that the broker has closed included."""
        self._protocols: dict[int, ConnectionProtocol] = {}
        self._lost = LostSockets()
        self.turn = 0
        self._turn_wanted = self._turn_ends = False
        self._timer = TickTimer(clock.call_at, self._tick)
        self._disk_retry = DiskRetry(clock.call_later, self._is_short_of_disk, self.retry_disk)
        self._memory_alarm = self._any_alarm = False
        self._blocked_us = clock.now_us
        self._counts: Counter[str] = Counter()
        self.log = log
        self.broker = _new_broker(log, plan, random.randbytes(32))
        self.broker.begin(*self.now())
        restore(self.broker, recovered)
        resume(self.broker, log, folder)
        if plan.vhosts:
            establish(self.broker, plan.vhosts)
        self._begin_store(plan, disk)
        self.input_handled()

    def _begin_store(self, plan: BrokerPlan, disk: PoweredDisk) -> None:
        """Write, read, rewrite and watch the disk from now on."""
        clock, random, log, folder = self._clock, self._random, self.log, self._folder
        self._pump = DiskPump(
            clock,
            random,
            log,
            folder,
            self,
            Syncing.BY_CHANCE if plan.system is None else plan.system.syncing,
            lambda: disk.slow_sync_chance,
        )
        self._backlog = BacklogPump(clock, random, log, folder.access(), self)
        self._rewriter = RewritePump(
            clock,
            random,
            log,
            folder.access(),
            self._pump.kick,
            plan.copying,
            lambda: disk.copies_slowly,
        )
        limit_bytes = plan.disk_free_limit_bytes
        self._space = DiskSpace(clock.call_later, folder.free_bytes, limit_bytes, log, self)

    @property
    def counts(self) -> Counter[str]:
        """Counts of the store's work beside logging, and of its shortages."""
        return self._counts + self._pump.counts + self._backlog.counts + self._rewriter.counts

    @property
    def unblocked_us(self) -> int:
        """Microseconds since an alarm was on, or since the start; 0 while one is on."""
        return 0 if self._any_alarm else self._clock.now_us - self._blocked_us

    def now(self) -> tuple[float, int]:
        """Monotonic seconds, and milliseconds of the broker's wall clock: the time of an input."""
        mono_s = self._clock.mono_s()
        return mono_s, self._wall.at(mono_s)

    # From the network

    def connect(self, link: Link) -> None:
        """A client connected over ``link``."""
        socket = self._sockets[link.number] = SimulatedSocket(link, self._wiretap)
        socket.begin(self, self._loop)

    def receive(self, link: Link, data: bytes) -> None:
        """Bytes arrived."""
        socket = self._sockets.get(link.number)
        if socket is not None:
            socket.received(data)

    def receive_eof(self, link: Link) -> None:
        """The link ended."""
        socket = self._sockets.pop(link.number, None)
        if socket is not None:
            socket.ended()

    def administer(self, act: Callable[[Broker], None]) -> None:
        """Have an operator do something, as over HTTP."""
        self.broker.begin(*self.now())
        act(self.broker)
        self.broker.finish()
        self.input_handled()

    # From the sockets (ConnectionHost)

    def connected(self, protocol: ConnectionProtocol, peer: Peer) -> Connection:
        connection = self.broker.connect(peer, *self.now())
        self._protocols[connection.id] = protocol
        self.input_handled()
        return connection

    def lost(self, protocol: ConnectionProtocol) -> None:
        self._lost.add(protocol)
        self.input_handled()

    def disconnected(self, protocol: ConnectionProtocol) -> None:
        del self._protocols[protocol.connection.id]

    def input(self, cause: str) -> tuple[float, int]:
        return self.now()

    def input_handled(self) -> None:
        """End the turn now, or have the one that ends be followed by another."""
        self._turn_wanted = True
        if self._turn_ends:
            return
        self._turn_ends = True
        while self._turn_wanted:
            self._turn_wanted = False
            self._end_turn()
        self._turn_ends = False

    # From the disk

    def synced(self, position: int) -> None:
        if not self._closing:
            self._rewriter.synced()
        self.broker.synced(position, *self.now())
        self.input_handled()

    def spare_made(self) -> None:
        self._counts["spares missing"] += self.log.spare_missing
        if not self._closing:
            self._space.look()

    def disk_full(self) -> None:
        self._counts["full logs"] += 1
        self.broker.disk_full(*self.now())
        self.input_handled()
        self._disk_retry.later()

    def disk_low(self) -> None:
        self._counts["disk alarms"] += 1
        self.broker.disk_low(*self.now())
        self.input_handled()
        self._disk_retry.later()

    def disk_recovered(self) -> None:
        self.broker.disk_recovered(*self.now())
        self.input_handled()

    def fetched(self, answers: list[Fetched]) -> None:
        self._counts += reads_met(self.broker, answers)
        self.broker.fetched(answers, *self.now())
        self.input_handled()

    def disk_failed(self) -> None:
        self.broker.disk_failed(*self.now())
        self.input_handled()
        self._failed()

    def _is_short_of_disk(self) -> bool:
        return Alarm.DISK in self.broker.alarms.on

    def retry_disk(self) -> None:
        """Try again what the disk had no room for. The node does so by itself from time to time."""
        self._counts["tries of a full disk"] += 1
        self._space.retry()
        self._kick_disk()

    # The end

    def crash(self) -> None:
        """End the process, from one moment to the next."""
        self._alive = False
        self._disk_retry.close()
        self._space.close()
        for pump in (self._rewriter, self._backlog, self._pump):
            pump.stop()
        self._part(finish=False)

    def stop(self) -> bool:
        """Stop on purpose: close every connection, give back what they held as far as there is time
        for it, write what is pending. Returns true if that was all."""
        self.broker.close("shutdown", *self.now())
        self.input_handled()
        self._complete_work()
        self._closing = True
        self._disk_retry.close()
        self._space.close()
        self._rewriter.close()
        self._backlog.close()
        clean = self._pump.end(clean=not self.broker.has_work)
        self._folder.close()
        self._alive = False
        self._part(finish=True)
        return clean

    def _part(self, *, finish: bool) -> None:
        for socket in self._sockets.values():
            socket.vanish(finish=finish)
        self._sockets.clear()

    def _complete_work(self) -> None:
        if not self.broker.has_work:
            return
        turns = self._random.choice(TURNS_OF_A_STOP)
        while self.broker.has_work and turns:
            turns -= 1
            self.broker.go_on(*self.now())
            self.input_handled()

    # The turn's end

    def _end_turn(self) -> None:
        self.turn += 1
        self._lost.end_some()
        end_turn(self.broker, self._protocols, self._kick_disk, self._timer.arm)
        self._look_at_alarms()
        self.broker.budget.refill()
        if self.broker.has_work and not self._next_turn_armed:
            self._next_turn_armed = True
            self._clock.after(self._random.randint(*NEXT_TURN_US), self._go_on)

    def _look_at_alarms(self) -> None:
        alarms = self.broker.alarms.on
        memory_alarm = Alarm.MEMORY in alarms
        self._counts["memory alarms"] += memory_alarm and not self._memory_alarm
        self._memory_alarm = memory_alarm
        if self._any_alarm or alarms:
            self._blocked_us = self._clock.now_us
        self._any_alarm = bool(alarms)

    def _go_on(self) -> None:
        self._next_turn_armed = False
        if self._alive and self.broker.has_work:
            self._counts["turns of work left over"] += 1
            self.broker.go_on(*self.now())
            self.input_handled()

    def _kick_disk(self) -> None:
        self._pump.kick()
        self._backlog.kick()

    def _tick(self) -> None:
        if self._alive:
            self.broker.tick(*self.now())
            self.input_handled()
