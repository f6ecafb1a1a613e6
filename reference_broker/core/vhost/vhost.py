"""A virtual host: the declaration and deletion of exchanges, queues and bindings, and the routes of
messages.

The law: a method that is refused has changed nothing, and when a method returns, everything of it
that is durable is in the journal. The checks are in :mod:`exchange_declaration`,
:mod:`queue_declaration` and :mod:`binding_declaration`, the state in :mod:`topology`, the routes
in :mod:`router`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from reference_broker.core.access.permission import Action
from reference_broker.core.arguments.queue_type import (
    check_conditional_deletion,
    check_properties,
    check_server_named,
    with_default_type,
)
from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.moment import Moment
from reference_broker.core.base.names import (
    GENERATED_PREFIX,
    cleaned,
    described,
    not_found,
    refuse_reserved,
)
from reference_broker.core.base.vhost_info import MAX_QUEUES, VHostInfo
from reference_broker.core.dead_letter.dead_letters import DeadLetters
from reference_broker.core.exchange.arriving import Arriving
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE, Exchange
from reference_broker.core.exchange.router import Router
from reference_broker.core.index.memory_window import MemoryWindow
from reference_broker.core.journal.journal import Journal
from reference_broker.core.queue.dirty_queues import DirtyQueues, Urgent
from reference_broker.core.queue.ports import DeduplicationPort
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.removal import remove_everything
from reference_broker.core.queue.rest import require_rest
from reference_broker.core.vhost.binding_declaration import BindingEnds
from reference_broker.core.vhost.exchange_declaration import (
    check_exchange_deletion,
    check_new_exchange,
    check_redeclared_exchange,
    exchange_type,
    refuse_default,
)
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.vhost.firehose import Firehose
from reference_broker.core.vhost.inner_queues import InnerQueues
from reference_broker.core.vhost.method_access import UNRESTRICTED, DeclareAccess
from reference_broker.core.vhost.policies import Policies
from reference_broker.core.vhost.queue_declaration import (
    check_queue_deletion,
    check_redeclared_queue,
    default_type_for,
    new_queue,
    require_access,
)
from reference_broker.core.vhost.queue_deletion import UnusedQueues, deletion, one_by_one
from reference_broker.core.vhost.topology import Topology, restore_vhost
from reference_broker.core.vhost.topology_bounds import TopologyBounds
from reference_broker.core.vhost.traffic import VHostTraffic
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.locks import Locks
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import Steps, followed_by
from reference_broker.errors import ChannelException, ReplyCode


class VHost:
    """One virtual host, and the :class:`~reference_broker.core.queue.ports.QueueEnvironment` of its
    queues.

    ``exchanges`` and ``queues`` are in order of declaration, and read only. A route that was
    resolved holds while ``topology_version`` stays the same. ``owner`` is always the connection
    that asks; ``None`` is the broker's own management, which owns nothing.

    ``ids``, ``queues_by_id``, ``window``, ``budget``, ``work``, ``locks`` and ``touched``, the
    dirty queues of those with any, must be the same objects for all virtual hosts of a broker. What
    declares, binds or deletes raises :exc:`NotYet` while an import has the lock.
    """

    def __init__(
        self,
        name: str,
        *,
        journal: Journal,
        moment: Moment,
        deadlines: Deadlines,
        ids: Ids,
        queues_by_id: dict[int, Queue] | None = None,
        window: MemoryWindow | None = None,
        bounds: TopologyBounds | None = None,
        touched: list[DirtyQueues] | None = None,
        budget: Budget | None = None,
        work: Portions | None = None,
        locks: Locks | None = None,
    ) -> None:
        self.name = self.vhost_name = name
        self.journal = journal
        self.moment = moment
        self.deadlines = deadlines
        self.window = window or MemoryWindow()
        self.budget = budget or Budget()
        self.work = Portions(self.budget) if work is None else work
        free = (locks or Locks(self.work, self.budget)).require_free
        self.require_unlocked: Callable[[], None] = partial(free, name)
        self._own_bounds = bounds or TopologyBounds()
        self.traffic = VHostTraffic()
        self.topology_version = 0
        self.is_leaving = False
        """It is being deleted, and nobody is let in any more."""
        self.describe(VHostInfo())
        self._topology = Topology(
            name,
            journal,
            self._topology_changed,
            self._end_inner_queue,
            self.budget,
            {} if queues_by_id is None else queues_by_id,
        )
        self.exchanges: Mapping[str, Exchange] = self._topology.exchanges
        self.queues: Mapping[str, Queue] = self._topology.queues
        self.queues_by_id: Mapping[int, Queue] = self._topology.queues_by_id
        self.dead_letters = DeadLetters(self)
        self.policies = Policies(self, ids, self._topology_changed)
        self.inner_queues = InnerQueues(self, ids)
        self._ids = ids
        self.router = Router(self.exchanges, self.queues, self.budget)
        self.arriving = Arriving()
        self._exclusive = ExclusiveQueues(self.budget)
        self._unused = UnusedQueues(self._deletion, self.queues, self.work, self.budget, name)
        self._dirty = DirtyQueues(self.budget, touched, name)
        # Not methods of this class: marking is on the path of every message.
        self.mark_dirty = self._dirty.mark
        self.mark_in_turn = self._dirty.mark_in_turn
        self.mark_urgent = self._dirty.mark_urgent
        self.is_overtaken = self._dirty.is_overtaken

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
        yield from one_by_one(self.queues, self._deletion, self.budget)
        yield from one_by_one(self.exchanges, self._topology.drop_exchange, self.budget)

    def reroute(self) -> None:
        """Have every route that was resolved, or allowed to somebody, asked for again."""
        self._topology_changed()

    # Exchanges

    def declare_exchange(
        self,
        name: str,
        type: str,
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Mapping[str, Any] | None = None,
        access: DeclareAccess = UNRESTRICTED,
    ) -> Exchange:
        """The exchange of that name, made if it is not there. With ``passive`` only the name
        counts. If it is durable, the client's -ok must wait for the journal.

        Raises :exc:`ChannelException`: 403 for a name that is not the client's to give or that
        ``access`` refuses, 404 where a passive one is not there, 406 for an unknown type, a bad
        argument, a difference from the exchange that is there, or at ``max_exchanges``.
        """
        name = cleaned(name)
        if name not in self.exchanges:
            self.require_unlocked()
        if passive:
            refuse_default(name)
            return self._exchange(name)
        wanted = Exchange(
            name,
            exchange_type(type),
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            arguments=arguments,
        )
        refuse_default(name)
        access.require(Action.CONFIGURE, "exchange", name)
        existing = self.exchanges.get(name)
        if existing is not None:
            check_redeclared_exchange(existing, wanted, self.name)
            return existing
        self._topology.require_gone(name, is_queue=False)
        check_new_exchange(wanted, self.name)
        access.require_alternate(name, wanted.arguments)
        self.bounds.check_exchanges(len(self.exchanges), name, self.name)
        self.inner_queues.add_to_exchange(wanted)
        self.policies.adopt_exchange(wanted)
        self._topology.add_exchange(wanted)
        return wanted

    def delete_exchange(
        self,
        name: str,
        *,
        if_unused: bool = False,
        access: DeclareAccess = UNRESTRICTED,
        answer: Callable[[], None] = lambda: None,
    ) -> None:
        """Delete the exchange, what it holds and has seen, and every binding from it and to it; one
        that is not there is fine. ``answer`` is called when all of it is done: now, or in a later
        turn.

        Raises :exc:`ChannelException`: 403 for the broker's own or what ``access`` refuses, 406
        with ``if_unused`` while something is bound to it (what it is bound to does not count).
        """
        name = cleaned(name)
        check_exchange_deletion(name, self.name)
        access.require(Action.CONFIGURE, "exchange", name)
        self.require_unlocked()
        exchange = self.exchanges.get(name)
        if exchange is None:
            answer()
            return
        if if_unused and exchange.bindings:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED, f"{described('exchange', name, self.name)} in use"
            )
        self.budget.left -= DECLARATION_UNITS
        self.work.start(followed_by(self._topology.drop_exchange(exchange), answer), self.name)

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
        exchange = self._exchange(name)
        if exchange.internal:
            raise ChannelException(
                ReplyCode.ACCESS_REFUSED,
                f"cannot publish to internal {described('exchange', name, self.name)}",
            )
        return exchange

    def _exchange(self, name: str) -> Exchange:
        exchange = self.exchanges.get(name)
        if exchange is None:
            raise not_found("exchange", name, self.name)
        return exchange

    # Queues

    def declare_queue(
        self,
        name: str,
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        owner: object | None = None,
        access: DeclareAccess = UNRESTRICTED,
    ) -> Queue:
        """The queue of that name, made if it is not there; an empty name asks for a new one. With
        ``passive`` only the name counts. If it is durable, the client's -ok must wait for the
        journal. Declaring counts as use (x-expires).

        Raises :exc:`ChannelException`: 403 for a reserved name or one that ``access`` refuses, 404
        where a passive one is not there, 405 where it is another connection's or ``exclusive``
        differs, 406 for a bad argument, a difference from the queue that is there, or at
        ``max_queues``; :exc:`ConnectionException` 540 for a stream.
        """
        name = cleaned(name)
        if name not in self.queues:
            self.require_unlocked()
        if passive:
            queue = self.queue_for(name, owner)
            queue.touch()
            return queue
        refuse_reserved("queue", name)
        default = default_type_for(self.queues.get(name), self.info.default_queue_type)
        temporary = exclusive or auto_delete or not durable
        arguments = with_default_type(arguments or {}, default, temporary=temporary)
        if not name:
            check_server_named(arguments.get("x-queue-type"))
            name = GENERATED_PREFIX + self._ids.token()
        access.require(Action.CONFIGURE, "queue", name)
        wanted = QueueDefinition(0, name, auto_delete, dict(arguments))
        owner = owner if exclusive else None
        existing = self._there(name)
        if existing is not None:
            check_redeclared_queue(existing, wanted, self.name, durable=durable, owner=owner)
            existing.touch()
            self.traffic.queues_declared += 1
            return existing
        self._topology.require_gone(name, is_queue=True)
        self.bounds.check_queues(len(self.queues), name, self.name)
        access.require_dead_lettering(name, wanted.arguments)
        wanted = wanted._replace(id=self._ids.next())
        queue = new_queue(self, wanted, durable, owner)
        kinds = {"durable": durable, "exclusive": exclusive, "auto_delete": auto_delete}
        check_properties(queue.limits.queue_type, name, self.name, **kinds)
        self._topology.add_queue(queue)
        self.traffic.queue_created()
        self._exclusive.add(queue)
        return queue

    def delete_queue(
        self,
        name: str,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
        owner: object | None = None,
        answer: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Delete the queue with its messages and bindings, and tell its consumers. ``answer`` is
        called when it is done, now or in a later turn, and before they are told: with how many
        messages were ready, with 0 for a queue that is not there, which is fine.

        Raises :exc:`ChannelException`: 405 for another connection's, 406 when a condition is not
        met; :exc:`ConnectionException` 540 for a condition on a quorum queue.
        """
        self.require_unlocked()
        queue = self._there(cleaned(name))
        if queue is None:
            answer(0)
            return
        check_conditional_deletion(
            queue.limits.queue_type, queue.name, self.name, if_unused=if_unused, if_empty=if_empty
        )
        require_rest(queue)  # what a consumer waits for, or has expired, does not count
        check_queue_deletion(queue, self.name, if_unused=if_unused, if_empty=if_empty, owner=owner)
        self.budget.left -= DECLARATION_UNITS
        self.work.start(self._deletion(queue, answer), self.name)

    def queue_for(self, name: str, owner: object | None) -> Queue:
        """The queue, for whatever ``owner`` wants to do with it. Raises :exc:`ChannelException`:
        404, or 405 when it is another connection's."""
        name = cleaned(name)
        queue = self._there(name)
        if queue is None:
            raise not_found("queue", name, self.name)
        require_access(queue, owner, self.name)
        return queue

    def _there(self, name: str) -> Queue | None:
        """The queue of that name. Raises :exc:`NotYet` for one that is about to go: of a connection
        that has ended, or unused."""
        queue = self.queues.get(name)
        if queue is not None:
            self._exclusive.require_unended(queue)
            queue = self._unused.named(queue)
        return queue

    def release_exclusive(self, owner: object) -> Steps:
        """Have the exclusive queues of a connection that has ended be unknown to everybody; returns
        the steps of deleting them, in order of declaration."""
        return self._exclusive.release(owner, self._deletion)

    def _deletion(self, queue: Queue, answer: Callable[[int], None] = lambda count: None) -> Steps:
        """Have the queue be gone for everybody; returns the steps that remain."""
        bindings = self._topology.drop_queue(queue)
        self.traffic.queue_deleted(queue)
        self._exclusive.remove(queue)
        return deletion(queue, bindings, answer)

    def _end_inner_queue(self, queue: Queue) -> None:
        queue.end()
        self.work.start(remove_everything(queue), self.name)

    # Bindings

    def bind(
        self,
        source: str,
        destination: str,
        key: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        destination_is_queue: bool,
        owner: object | None = None,
    ) -> None:
        """Bind a queue or an exchange to the exchange ``source``; a binding that is there already
        is fine. It is durable, and the client's -ok must wait, when both ends survive a restart.

        Raises :exc:`ChannelException`: 403 for the default exchange, 404, 405 for another
        connection's queue, 406 for arguments that the exchange can't take, or at ``max_bindings``.
        """
        ends = BindingEnds.named(source, destination, destination_is_queue)
        self.require_unlocked()
        if destination_is_queue:
            self._there(ends.destination)
        durable = ends.check_bind(self._topology, key, arguments or {}, self.name, owner)
        if self._topology.bindings.get(ends.identity(key, arguments)) is not None:
            return
        self.bounds.check_bindings(len(self._topology.bindings), ends.source, self.name)
        binding = Binding(
            ends.source,
            ends.destination,
            key,
            arguments,
            destination_is_queue=destination_is_queue,
            durable=durable,
            number=self._ids.next(),
        )
        self._topology.add_binding(binding)

    def unbind(
        self,
        source: str,
        destination: str,
        key: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        destination_is_queue: bool,
        owner: object | None = None,
    ) -> None:
        """Remove a binding; one that is not there is fine, as is a missing end. An auto-delete
        exchange goes with the last binding from it.

        Raises :exc:`ChannelException`: 403 for the default exchange, 405 for a binding of another
        connection's queue.
        """
        ends = BindingEnds.named(source, destination, destination_is_queue)
        self.require_unlocked()
        binding = self._topology.bindings.get(ends.identity(key, arguments))
        if binding is None:
            return
        if destination_is_queue:
            queue = self._there(ends.destination)
            if queue is None:  # it is just being deleted, and its bindings with it
                return
            require_access(queue, owner, self.name)
        self.work.start(self._topology.drop_binding(binding), self.name)

    def bindings(self) -> list[Binding]:
        """Every binding; those of the default exchange, which nobody declared, come first."""
        return [*self._topology.bindings_from(DEFAULT_EXCHANGE), *self._topology.bindings]

    def bindings_from(self, source: str) -> list[Binding]:
        """The bindings from an exchange, oldest first; none where there is no such exchange."""
        return self._topology.bindings_from(source)

    def bindings_to(self, destination: str, *, is_queue: bool) -> list[Binding]:
        """The bindings to a queue, its implicit one first, or to an exchange."""
        return self._topology.bindings_to(destination, is_queue=is_queue)

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

    def queue_expired(self, queue: Queue) -> None:
        """Delete a queue whose ``x-expires`` ran out."""
        self._unused.add(queue)

    def queue_unused(self, queue: Queue) -> None:
        """Delete an auto-delete queue: its last consumer is gone."""
        self._unused.add(queue)

    # Recovery

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up the definitions of this virtual host, and leave those of others. Call it before
        anything else happens here. Messages follow, by :meth:`Queue.restore`.

        Raises :exc:`Corrupt` for a definition that can't be read.
        """
        restore_vhost(self, self._topology, definitions)
