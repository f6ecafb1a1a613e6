"""A virtual host: its exchanges, queues and bindings, and the routes of messages.

The law: a method that is refused has changed nothing, and when a method returns, everything of it
that is durable is in the journal. What clients declare and delete is in
:mod:`exchange_declaration`, :mod:`queue_declaration` and :mod:`binding_declaration`, the state in
:mod:`topology`, the routes in :mod:`router`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.moment import Moment
from reference_broker.core.base.names import described
from reference_broker.core.base.vhost_info import MAX_QUEUES, VHostInfo
from reference_broker.core.dead_letter.dead_letters import DeadLetters
from reference_broker.core.exchange.arriving import Arriving
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE, Exchange
from reference_broker.core.exchange.router import Router
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.clock_mark import ClockMark
from reference_broker.core.journal.definition_store import DefinitionStore, JournalDefinitions
from reference_broker.core.journal.journal import Journal
from reference_broker.core.queue.dirty_queues import DirtyQueues, Urgent
from reference_broker.core.queue.ports import DeduplicationPort
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import remove_everything
from reference_broker.core.vhost.binding_declaration import BindingDeclarations
from reference_broker.core.vhost.exchange_declaration import ExchangeDeclarations
from reference_broker.core.vhost.firehose import Firehose
from reference_broker.core.vhost.inner_queues import InnerQueues
from reference_broker.core.vhost.policies import Policies
from reference_broker.core.vhost.queue_declaration import QueueDeclarations
from reference_broker.core.vhost.queue_deletion import one_by_one
from reference_broker.core.vhost.topology import Topology, restore_vhost
from reference_broker.core.vhost.topology_bounds import TopologyBounds
from reference_broker.core.vhost.traffic import VHostTraffic
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.locks import Locks
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import Steps
from reference_broker.errors import ChannelException, ReplyCode


@dataclass(slots=True)
class VHostParts:
    """The parts that the virtual hosts of one broker have in common.

    ``queues_by_id`` are all their queues, inner queues included, until they are deleted;
    ``touched`` the dirty queues of those with any; ``kept_inner_ids`` see :class:`InnerQueues`.
    """

    journal: Journal
    ids: Ids
    moment: Moment = field(default_factory=Moment)
    deadlines: Deadlines = field(default_factory=Deadlines)
    window: MemoryWindow = field(default_factory=MemoryWindow)
    budget: Budget = field(default_factory=Budget)
    queues_by_id: dict[int, Queue] = field(default_factory=dict)
    kept_inner_ids: dict[str, int] = field(default_factory=dict)
    touched: list[DirtyQueues] = field(default_factory=list)
    clock_mark: ClockMark = field(init=False)
    shared_definitions: DefinitionStore | None = None
    definitions: DefinitionStore = field(init=False)
    work: Portions = field(init=False)
    locks: Locks = field(init=False)

    def __post_init__(self) -> None:
        self.clock_mark = ClockMark(self.journal, self.moment)
        self.definitions = self.shared_definitions or JournalDefinitions(self.journal)
        self.work = Portions(self.budget)
        self.locks = Locks(self.work, self.budget)


class VHost:
    """One virtual host, and the :class:`~reference_broker.core.queue.ports.QueueEnvironment` of its
    queues.

    ``exchanges`` and ``queues`` are in order of declaration, and read only; ``queues_by_id`` are
    of every virtual host of the broker. A route that was
    resolved holds while ``topology_version`` stays the same. ``owner`` is always the connection
    that asks; ``None`` is the broker's own management, which owns nothing. What declares, binds or
    deletes raises :exc:`NotYet` while an import has the lock.
    """

    def __init__(
        self, name: str, parts: VHostParts, *, bounds: TopologyBounds | None = None
    ) -> None:
        self.name = self.vhost_name = name
        self.journal = parts.journal
        self.clock_mark = parts.clock_mark
        self.definitions = parts.definitions
        self.moment = parts.moment
        self.deadlines = parts.deadlines
        self.window = parts.window
        self.budget = parts.budget
        self.work = parts.work
        self.require_unlocked: Callable[[], None] = partial(parts.locks.require_free, name)
        self._own_bounds = bounds or TopologyBounds()
        self.traffic = VHostTraffic()
        self.topology_version = 0
        self.is_leaving = False
        """It is being deleted, and nobody is let in any more."""
        self.describe(VHostInfo())
        self._topology = topology = Topology(
            name,
            parts.definitions,
            parts.journal,
            self._topology_changed,
            self._end_inner_queue,
            parts.budget,
            parts.queues_by_id,
        )
        self.exchanges: Mapping[str, Exchange] = topology.exchanges
        self.queues: Mapping[str, Queue] = topology.queues
        self.queues_by_id: Mapping[int, Queue] = parts.queues_by_id
        self.dead_letters = DeadLetters(self)
        self.policies = Policies(self, parts.ids, self._topology_changed)
        self.inner_queues = InnerQueues(self, parts.ids, parts.kept_inner_ids)
        self.router = Router(self.exchanges, self.queues, parts.budget)
        self.arriving = Arriving()
        self._take_declarations(topology, parts.ids)
        self._dirty = DirtyQueues(parts.budget, parts.touched, name)
        # Not methods of this class: marking is on the path of every message.
        self.mark_dirty = self._dirty.mark
        self.mark_in_turn = self._dirty.mark_in_turn
        self.mark_urgent = self._dirty.mark_urgent
        self.is_overtaken = self._dirty.is_overtaken

    def _take_declarations(self, topology: Topology, ids: Ids) -> None:
        """Have the methods by which exchanges, queues and bindings come and go: what is declared
        and deleted here, and what enters and leaves since the nodes of a cluster have agreed."""
        exchanges = ExchangeDeclarations(self, topology)
        self._named_exchange = exchanges.named
        self._exchange_goes = exchanges.going_with_vhost
        self.enter_exchange = exchanges.enter
        self.leave_exchange = topology.drop_exchange
        self.declare_exchange = exchanges.declare
        self.delete_exchange = exchanges.delete

        queues = QueueDeclarations(self, topology, ids)
        self._queue_goes = queues.going_with_vhost
        self.enter_queue = queues.enter_agreed
        self.leave_queue = queues.leave
        self.declare_queue = queues.declare
        self.delete_queue = queues.delete
        self.queue_for = queues.named
        self.queue_there = queues.there
        self.release_exclusive = queues.release_exclusive
        self.queue_expired = self.queue_unused = queues.delete_unused

        bindings = BindingDeclarations(self, topology, queues, ids)
        self.bind = bindings.bind
        self.unbind = bindings.unbind
        self.enter_binding = topology.add_binding
        self.leave_binding = topology.drop_binding
        self.bindings_from = topology.bindings_from
        self.bindings_to = topology.bindings_to

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of queues, exchanges and bindings as such, without messages."""
        return self._topology.held_bytes

    def __repr__(self) -> str:
        return f"<VHost {self.name!r} exchanges={len(self.exchanges)} queues={len(self.queues)}>"

    def describe(self, info: VHostInfo) -> None:
        """Take over labels and limits. A limit holds for what is declared from now on."""
        self.info = info
        self.bounds = self._own_bounds.with_queues_at_most(info.limit(MAX_QUEUES))
        self.firehose = Firehose(self) if info.tracing else None
        self._topology_changed()  # what is resolved goes past the firehose, or has gone by it

    def delete_everything(self) -> Steps:
        """The steps of deleting every policy, queue, exchange and binding."""
        yield from self.policies.drop_all()
        yield from one_by_one(self.queues, self._queue_goes, self.budget)
        yield from one_by_one(self.exchanges, self._exchange_goes, self.budget)

    def reroute(self) -> None:
        """Have every route that was resolved, or allowed to somebody, asked for again."""
        self._topology_changed()

    @property
    def loading(self) -> bool:
        """True while, after a start, some deduplication window is still to be read."""
        return any(window.loading for window in self.windows())

    def windows(self) -> list[DeduplicationPort]:
        """The deduplication windows of exchanges and queues."""
        of_exchanges = [exchange.deduplication for exchange in self.exchanges.values()]
        of_queues = [queue.deduplication for queue in self.queues.values()]
        return [window for window in (*of_exchanges, *of_queues) if window is not None]

    def exchange_for_publish(self, name: str) -> Exchange:
        """Raises :exc:`ChannelException`: 404, or 403 for an internal exchange."""
        exchange = self._named_exchange(name)
        if exchange.internal:
            raise ChannelException(
                ReplyCode.ACCESS_REFUSED,
                f"cannot publish to internal {described('exchange', name, self.name)}",
            )
        return exchange

    def _end_inner_queue(self, queue: Queue) -> None:
        queue.end()
        self.work.start(remove_everything(queue), self.name)

    def bindings(self) -> list[Binding]:
        """Every binding; those of the default exchange, which nobody declared, come first."""
        return [*self._topology.bindings_from(DEFAULT_EXCHANGE), *self._topology.bindings]

    def _topology_changed(self) -> None:
        self.topology_version += 1

    # Routing

    def resolve(
        self,
        exchange: Exchange,
        routing_key: str,
        header: bytes | None,
        copies: Sequence[str] = (),
        *,
        again: bool = False,
    ) -> tuple[Queue, ...]:
        """The queues for a message, each once: see :meth:`Router.resolve`, and with ``again``
        :meth:`Router.resolve_again`."""
        if again:
            return self.router.resolve_again(exchange, routing_key, header, copies)
        return self.router.resolve(exchange, routing_key, header, copies)

    def route(
        self,
        exchange_name: str,
        routing_key: str,
        header: bytes,
        copies: Sequence[str] = (),
        *,
        again: bool = False,
    ) -> tuple[Queue, ...] | None:
        """:meth:`resolve` by name, internal exchanges included; ``None`` for one that is not
        there. What would be refused to a publisher finds no queue."""
        exchange = self.exchanges.get(exchange_name)
        if exchange is None:
            return None
        try:
            return self.resolve(exchange, routing_key, header, copies, again=again)
        except ChannelException:
            return ()

    def depends_on_headers(self, exchange: Exchange, routing_key: str) -> bool:
        """True when a route from ``exchange`` must be resolved for each message anew."""
        return self.router.depends_on_headers(exchange, routing_key)

    # What its queues ask of it

    def follow_letters(self, end: Urgent | None = None) -> bool:
        """Go on with what dead letters have pushed out, until there is nothing or ``end`` has had
        its turn; false when the budget is spent before that. Not within a letter."""
        return not self.dead_letters.sending and self._dirty.follow_letters(end)

    # Recovery

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up the definitions of this virtual host, and leave those of others. Call it before
        anything else happens here. Messages follow, by :meth:`Queue.restore`.

        Raises :exc:`Corrupt` for a definition that can't be read.
        """
        restore_vhost(self, self._topology, definitions)
