"""The broker: one object that holds virtual hosts, connections, ledger and timers, and passes each
input through them. Wiring only.

Every input begins with :meth:`Broker.begin`, which takes the time, and ends with
:meth:`Broker.finish`: queues that were touched hand out messages, the ledger enters the promises of
this input, and the bytes in memory are compared with the watermark. The results are in the output
of the connections listed in ``dirty_connections``, and in the journal's pending batch.

    shell                                        core
    connect(peer), connection.receive_data  ->   output, journal records
    synced(position), disk_failed()         ->   confirms, -oks
    fetched(answers)                        ->   deliveries of what was on disk
    tick()  no later than next_deadline()   ->   heartbeats, expiries
    go_on() once a turn while has_work      ->   what earlier turns had no time for

The shell refills ``budget`` at the end of each turn of its loop. Inputs that come when it is spent
are taken, and wait for a later turn.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from reference_broker.core.access import access_definition
from reference_broker.core.access.access_control import AccessControl
from reference_broker.core.access.login_attempts import LoginAttempts
from reference_broker.core.access.mechanisms import DEFAULT_MECHANISMS
from reference_broker.core.access.users import UserStore
from reference_broker.core.alarms import Alarm, Alarms
from reference_broker.core.base.deadlines import Deadline, Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.channel.confirms import ConfirmLedger
from reference_broker.core.channel.direct_reply import DirectReplies
from reference_broker.core.channel.publish_target import TargetMemory
from reference_broker.core.channel.transactions import TransactionSpace
from reference_broker.core.connection.connection import Connection
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.core.definition_kinds import refuse_unknown_kinds
from reference_broker.core.exchange.definitions import decode_queue
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.definition_keys import INNER_QUEUES, QUEUE_SEEN
from reference_broker.core.journal.definition_store import Change, DefinitionStore
from reference_broker.core.journal.journal import EntryColumns, Fetched, Journal
from reference_broker.core.memory_watermark import MemoryWatermark
from reference_broker.core.message.content_frames import FRAME_OVERHEAD
from reference_broker.core.policy.global_parameters import GlobalParameters
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.traffic import VHostTraffic
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.vhost.virtual_hosts import DEFAULT_VHOST as DEFAULT_VHOST
from reference_broker.core.vhost.virtual_hosts import VirtualHosts
from reference_broker.core.waiting_publishers import WaitingPublishers
from reference_broker.core.work.budget import CONNECTION_UNITS, Budget
from reference_broker.core.work.locks import Lock
from reference_broker.core.work.task import Steps, followed_by
from reference_broker.errors import ConnectionException, ReferenceBrokerError, ReplyCode


class TooManyConnections(ReferenceBrokerError):
    """``Limits.connections_max`` sockets are open, or ``Limits.handshakes_per_address_max`` of the
    same address are not through their handshake: close the new one."""


class Broker:
    """The whole core. Its caller is the shell: a runtime with sockets, or a simulator.

    All inputs are methods here and on :class:`Connection`; none is called from within another.
    The ``users`` that it is handed may do everything in the default virtual host, until
    :meth:`restore` finds others in the journal: whoever hands them in makes them durable, if at
    all. ``window`` is the broker's from now on; without one it has the default size.
    ``version`` is what clients are told; ``secret`` is what makes generated names hard to guess
    (see :class:`Ids`). ``mechanisms`` are how clients may log in, by the names in
    :data:`~reference_broker.core.access.mechanisms.MECHANISMS`. ``shared_definitions`` are those of
    a cluster; without them the broker is on its own, and has its definitions in ``journal``.
    """

    def __init__(
        self,
        journal: Journal,
        users: UserStore,
        *,
        limits: Limits | None = None,
        window: MemoryWindow | None = None,
        version: str = "0",
        secret: bytes = b"",
        mechanisms: frozenset[str] = DEFAULT_MECHANISMS,
        node_name: str = "mqkit@localhost",
        budget: Budget | None = None,
        shared_definitions: DefinitionStore | None = None,
    ) -> None:
        self.journal = journal
        self.node_name = node_name
        journal.attach(self)
        self.users = users
        self.limits = limits or Limits()
        self.version = version
        self.mechanisms = mechanisms
        parts = self._parts = VHostParts(
            journal,
            Ids(journal.epoch, secret),
            window=window or MemoryWindow(),
            budget=budget or Budget(),
            shared_definitions=shared_definitions,
        )
        self._share(parts)
        self.timers = Deadlines()
        """Deadlines in monotonic milliseconds: those that a connection or a channel waits for."""
        self._due = _DueDeadlines(self)
        self.ledger = ConfirmLedger(journal)
        self.direct_replies = DirectReplies()
        self.transactions = TransactionSpace(self.limits.memory_high_watermark_bytes)
        self.alarms = Alarms(self)
        self.waiting_publishers = WaitingPublishers(journal.free_space)
        journal.free_space.listen(self._room_became_scarce)
        self.memory = MemoryWatermark(self, self.limits.memory_high_watermark_bytes)
        self.targets = TargetMemory(self.after)
        self.handshakes = OpenHandshakes(self.limits.handshakes_per_address_max)
        self.login_attempts = LoginAttempts()
        self.connections: dict[int, Connection] = {}
        self._awaited_ends: dict[int, list[Callable[[], None]]] = {}
        self.dirty_connections: list[Connection] = []
        self.global_parameters = GlobalParameters(parts.definitions)
        self._virtual_hosts = VirtualHosts(parts.definitions, self._make_vhost)
        self.vhosts: Mapping[str, VHost] = self._virtual_hosts.by_name
        self.access = AccessControl(users, parts.definitions, self._access_changed)
        if not parts.definitions.shared:
            self.access.assume(DEFAULT_VHOST)
        self.is_new = True
        """The journal holds nothing of :meth:`note_set_up`, no user and no virtual host: nobody has
        set this broker up yet."""
        self._connections_made = 0
        self.connections_opened = self.connections_closed = 0
        """Connections that have chosen a virtual host, and those of them that are closed."""
        self.past = VHostTraffic()
        """Message counts of virtual hosts that are deleted."""
        self._disk_low = False

    def _share(self, parts: VHostParts) -> None:
        """Have the parts that the broker has in common with its virtual hosts."""
        self.definitions = parts.definitions
        self._clock_mark = parts.clock_mark
        self.ids = parts.ids
        self.moment = parts.moment
        self.window = parts.window
        self.budget = parts.budget
        self.queues_by_id: Mapping[int, Queue] = parts.queues_by_id
        self.work = parts.work
        """Work that is left over from earlier turns."""
        self.locks = parts.locks
        self._touched = parts.touched
        self.deadlines = parts.deadlines
        """Deadlines in wall-clock milliseconds: those that are stored with a message or a queue."""

    def _make_vhost(self, name: str) -> VHost:
        vhost = VHost(name, self._parts)
        vhost.dead_letters.header_bytes_max = self.limits.frame_max - FRAME_OVERHEAD
        return vhost

    def _access_changed(self, vhost_name: str) -> None:
        vhost = self.vhosts.get(vhost_name)
        if vhost is not None:
            vhost.reroute()

    def _room_became_scarce(self) -> None:
        """Void all routes that channels remember: from now on each publish has to ask for space,
        and one with a known route doesn't."""
        for vhost in self.vhosts.values():
            vhost.reroute()

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Recovery, before anything else: virtual hosts, users, permissions, exchanges, queues and
        bindings as the log has them. The messages follow, through
        :meth:`~reference_broker.core.queue.queue.Queue.restore`. Raises :exc:`Corrupt`, and
        :exc:`LaterVersion` for what this version doesn't know."""
        refuse_unknown_kinds(definitions, self.version)
        self._clock_mark.restore(definitions)
        self.global_parameters.restore(definitions)
        self._virtual_hosts.restore(definitions)
        kinds = (access_definition.SET_UP, access_definition.VHOST, access_definition.USER)
        self.is_new = not any(key.partition("/")[0] in kinds for key in definitions)
        if not self.is_new:
            self.access.restore(definitions)

    def restore_own(self, definitions: Mapping[str, bytes]) -> None:
        """Recovery of a node of a cluster, in place of :meth:`restore`: what its own log has beside
        messages. The inner queues there are for owners that are still to come; those of owners that
        don't come are told by :meth:`take_unowned`. Raises :exc:`Corrupt`."""
        self._clock_mark.restore(definitions)
        for key, value in definitions.items():
            if key.partition("/")[0] in (*INNER_QUEUES, QUEUE_SEEN):
                self._parts.kept_inner_ids[key] = decode_queue(value).id

    def take_unowned(self) -> list[str]:
        """The keys of inner queues whose owners have not come by now, and never will."""
        keys = list(self._parts.kept_inner_ids)
        self._parts.kept_inner_ids.clear()
        return keys

    def note_set_up(self) -> None:
        """Have a later start know that this broker was set up once: the first user does not come
        back then, even if all users were deleted. Idempotent."""
        key = access_definition.key_of(access_definition.SET_UP, "once")
        self.definitions.agree((Change(key, access_definition.encode_set_up()),))
        self.is_new = False

    # Administration. Each within an input of whoever asks: between begin and finish.

    def add_vhost(self, name: str, info: VHostInfo | None = None) -> VHost:
        """Make a virtual host of that name, with its pre-declared exchanges, or change its labels
        and limits. Durable. Raises :exc:`NotYet` while an import declares there, or it is being
        deleted."""
        self.locks.require_free(name)
        return self._virtual_hosts.put(name, info or VHostInfo())

    def delete_vhost(self, name: str, done: Callable[[], None] | None = None) -> None:
        """Close every connection to the virtual host (320), and delete it with everything in it.
        It must be there. ``done`` is called when all is gone: now, or in a later turn. Until then
        whoever else declares or deletes there waits. Raises :exc:`NotYet` while an import declares
        there, or somebody else's deletion of it goes on."""
        vhost = self.vhosts[name]
        self._virtual_hosts.agree_without(vhost)
        self.work.start(self.end_vhost(vhost, done), "")

    def enter_vhost(self, name: str, info: VHostInfo) -> None:
        """Have the virtual host be there, as was agreed, with these labels and limits."""
        self._virtual_hosts.enter(name, info)

    def end_vhost(self, vhost: VHost, done: Callable[[], None] | None = None) -> Steps:
        """The steps of ending a virtual host, as was agreed."""
        lock = self.locks.take((vhost.name,))
        vhost.is_leaving = True
        self.access.forget_vhost(vhost.name)
        return self._vhost_deletion(vhost, lock, done)

    def _vhost_deletion(self, vhost: VHost, lock: Lock, done: Callable[[], None] | None) -> Steps:
        try:
            for connection in list(self.connections.values()):
                if connection.vhost is vhost:
                    yield from self._closing(connection, f"vhost '{vhost.name}' is deleted")
            yield from self._virtual_hosts.remove(vhost)
            self.access.forget_vhost(vhost.name)  # what somebody was allowed meanwhile
            self.past.absorb(vhost.traffic, vhost.dead_letters)
        finally:
            self.locks.release(lock)
        if done is not None:
            done()

    def delete_user(self, name: str) -> None:
        """Forget user and permissions, and close every connection of the user (320), now or in
        later turns. The user must be there."""
        self.delete_users((name,))

    def delete_users(self, names: Iterable[str]) -> None:
        """Delete several users, as :meth:`delete_user` does; a name may come twice."""
        gone = dict.fromkeys(names)
        for name in gone:
            self.access.delete_user(name)
        self.work.start(self._end_of_users(gone), "")

    def end_user(self, name: str) -> None:
        """Forget a user, as was agreed, and close the connections, now or in later turns."""
        self.access.drop_user(name)
        self.work.start(self._end_of_users((name,)), "")

    def _end_of_users(self, names: Container[str]) -> Steps:
        for connection in [it for it in self.connections.values() if it.user_name in names]:
            yield from self._closing(connection, f"user '{connection.user_name}' is deleted")

    def _closing(self, connection: Connection, text: str) -> Steps:
        connection.fail(_forced(text))
        self.budget.left -= CONNECTION_UNITS
        if self.budget.left <= 0:
            yield None

    def dismiss(self, reason: str, done: Callable[[], None]) -> None:
        """Tell every client that is connected now to go (320), a portion in each turn, and call
        ``done`` when the last one was told, which may be now."""
        self.work.start(followed_by(self._dismissal(reason), done), "")

    def _dismissal(self, reason: str) -> Steps:
        for connection in list(self.connections.values()):
            yield from self._closing(connection, reason)

    # Inputs

    def connect(self, peer: Peer, now: float, wall_ms: int) -> Connection:
        """A client connected; feed what it sends to the connection that this returns.

        Raises :exc:`TooManyConnections`; then nothing was made.
        """
        if len(self.connections) >= self.limits.connections_max:
            raise TooManyConnections(f"{self.limits.connections_max} connections are open")
        if not self.handshakes.enter(peer):
            most = self.limits.handshakes_per_address_max
            raise TooManyConnections(f"{most} handshakes of {peer.shown.host} are under way")
        self.begin(now, wall_ms)
        self._connections_made += 1
        connection = Connection(self, self._connections_made, peer)
        self.connections[connection.id] = connection
        return connection

    def synced(self, position: int, now: float, wall_ms: int) -> None:
        """The log is on disk up to ``position``: everything that was waiting for it goes out."""
        self.begin(now, wall_ms)
        if not self._disk_low:
            self.alarms.clear(Alarm.DISK)
        self.ledger.reached(position)
        self._clock_mark.synced()
        self.waiting_publishers.wake()
        self.finish()

    def disk_full(self, now: float, wall_ms: int) -> None:
        """The log can't grow: nack what is unconfirmed and block publishers, until the next
        :meth:`synced`. What was logged is kept, so a nacked message may still be in its queues."""
        self.begin(now, wall_ms)
        self.alarms.sound(Alarm.DISK)
        self.waiting_publishers.block_in_alarm()
        self.ledger.nack_publishes()
        self.finish()

    def disk_low(self, now: float, wall_ms: int) -> None:
        """The disk is getting full: block publishers until :meth:`disk_recovered`. What they have
        sent is still taken, and confirmed. Idempotent."""
        self.begin(now, wall_ms)
        self._disk_low = True
        self.alarms.sound(Alarm.DISK)
        self.waiting_publishers.block_in_alarm()
        self.finish()

    def disk_recovered(self, now: float, wall_ms: int) -> None:
        """There is room on the disk again, and the log can grow. Idempotent."""
        self.begin(now, wall_ms)
        self._disk_low = False
        self.alarms.clear(Alarm.DISK)
        self.finish()

    def disk_failed(self, now: float, wall_ms: int) -> None:
        """The disk failed: nack what is unconfirmed, refuse what waits. Nothing is confirmed any
        more; the shell flushes and ends the process."""
        self.begin(now, wall_ms)
        self.ledger.fail()
        self.finish()

    def fetched(self, answers: Sequence[Fetched], now: float, wall_ms: int) -> None:
        """Messages were read, as :meth:`Journal.fetch` had asked. Those of a queue that was deleted
        meanwhile, or of a message that is gone, are dropped."""
        self.begin(now, wall_ms)
        for answer in answers:
            queue = self.queues_by_id.get(answer.queue_id)
            if queue is not None:
                queue.fetched(answer.contents)
        self.finish()

    def tick(self, now: float, wall_ms: int) -> None:
        """Time has passed. To be called at ``next_deadline`` at the latest; more often is fine."""
        self.begin(now, wall_ms)
        self._due.fire()
        self.finish()

    @property
    def has_work(self) -> bool:
        """True while work is left over: call :meth:`go_on` once in each turn of the loop."""
        return bool(self.work)

    def go_on(self, now: float, wall_ms: int) -> None:
        """Do what one turn has time for of the work that is left over."""
        self.begin(now, wall_ms)
        self.work.run()
        self.finish()

    def next_deadline(self) -> float | None:
        """The monotonic second at which :meth:`tick` has something to do; ``None`` for never, and
        while what is due is work that is left over.

        Good until the next input.
        """
        if self._due.is_listed:
            return None
        soonest: float | None = None
        timer_ms = self.timers.next_ms()
        if timer_ms is not None:
            soonest = timer_ms / 1000
        deadline_ms = self.deadlines.next_ms()
        if deadline_ms is not None:
            at = self.moment.mono_s + (deadline_ms - self.moment.wall_ms) / 1000
            soonest = at if soonest is None else min(soonest, at)
        return soonest

    def close(self, reason: str, now: float, wall_ms: int) -> None:
        """The broker stops: tell every client (320). The shell flushes, and closes the sockets."""
        self.begin(now, wall_ms)
        error = _forced(forced_for(reason))
        for connection in list(self.connections.values()):
            connection.fail(error)
        self.finish()

    # Output

    def take_dirty_connections(self) -> list[Connection]:
        """The connections that the shell has to look at; they are off the list now."""
        dirty, self.dirty_connections = self.dirty_connections, []
        for connection in dirty:
            connection.dirty = False
        return dirty

    # What the journal asks

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[EntryColumns]:
        """See :class:`~reference_broker.core.journal.journal.EntrySource`."""
        queue = self.queues_by_id.get(queue_id)
        if queue is not None:
            for index in queue.indexes():
                yield from map(queue.delayed.stored.mark, index.live_columns(queue_id, start, end))

    # Within the core

    def begin(self, now: float, wall_ms: int) -> None:
        """Begin an input that happens at these times: monotonic seconds, wall-clock
        milliseconds."""
        self.moment.mono_s = now
        self.moment.wall_ms = wall_ms

    def finish(self) -> None:
        """End an input: queues hand out messages, promises are kept or written down."""
        self._dispatch()
        self.ledger.close_batch()

    def _dispatch(self) -> None:
        """Have the queues that were touched hand out messages; those that the turn has no time for
        go on in the next one."""
        if self._touched:
            self.budget.release_reserve()
        while self._touched:
            dirty = self._touched.pop()
            if not dirty.advance():
                self.work.add(dirty)

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """Run ``callback`` in the first :meth:`tick` after ``delay_s`` from now."""
        return self.timers.at(round((self.moment.mono_s + delay_s) * 1000), callback)

    def opened(self, connection: Connection) -> None:
        """Count a connection that has chosen its virtual host: its handshake is over."""
        self.connections_opened += 1
        self.handshakes.leave(connection.peer)

    def forget(self, connection: Connection) -> None:
        """Drop a connection that is closed, and add its counts to those of its virtual host.
        Idempotent."""
        known = self.connections.pop(connection.id, None)
        if known is None:
            return
        if known.vhost is None:
            self.handshakes.leave(known.peer)
        else:
            self.connections_closed += 1
            deleted = self.vhosts.get(known.vhost.name) is not known.vhost
            traffic = self.past if deleted else known.vhost.traffic
            traffic.received_bytes += known.received_bytes
            traffic.sent_bytes += known.sent_bytes
        for is_gone in self._awaited_ends.pop(known.id, ()):
            is_gone()

    def await_end(self, connection: Connection, is_gone: Callable[[], None]) -> None:
        """Call ``is_gone`` when the connection is closed; at once if it is."""
        if connection.id in self.connections:
            self._awaited_ends.setdefault(connection.id, []).append(is_gone)
        else:
            is_gone()


class _DueDeadlines:
    """The deadlines of both clocks that are due, fired in portions: 50,000 queues may have theirs
    at once. They are the broker's own work (a Job) from the first on that a turn has no time
    for."""

    __slots__ = ("_broker", "is_listed")

    vhost_name = ""
    connection_id = 0

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.is_listed = False

    def fire(self) -> None:
        """Run what is due, as far as the turn goes, and the rest in later ones. Does nothing while
        such a rest is listed: what has come due since goes behind it."""
        if self.is_listed:
            return
        ended = False
        try:
            ended = self.advance()
        finally:
            if not ended:
                self.is_listed = True
                self._broker.work.add(self)

    def advance(self) -> bool:
        """Go on until the budget is spent; true when nothing is due any more."""
        broker = self._broker
        ended = broker.timers.fire(round(broker.moment.mono_s * 1000), broker.budget)
        ended = broker.deadlines.fire(broker.moment.wall_ms, broker.budget) and ended
        if ended:
            self.is_listed = False
        return ended


def forced_for(reason: str) -> str:
    """The text with which an operator has connections closed, as RabbitMQ says it."""
    return f"broker forced connection closure with reason '{reason}'"


def _forced(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.CONNECTION_FORCED, text)
