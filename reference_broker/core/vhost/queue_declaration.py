"""queue.declare and queue.delete: their checks, in RabbitMQ's order and words, and what is done
when they have passed.

A check raises, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from reference_broker.core.access.permission import Action
from reference_broker.core.arguments.equivalence import (
    QUEUE_ARGUMENTS,
    require_same,
    require_same_arguments,
)
from reference_broker.core.arguments.queue_arguments import QueueArguments, parse_stored
from reference_broker.core.arguments.queue_type import (
    check_conditional_deletion,
    check_properties,
    check_server_named,
    with_default_type,
)
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.names import (
    GENERATED_PREFIX,
    cleaned,
    described,
    in_use,
    not_empty,
    not_found,
    refuse_reserved,
)
from reference_broker.core.exchange.deduplication_rule import DeduplicationRule
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.rest import require_no_leaving, require_rest
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.vhost.method_access import UNRESTRICTED, DeclareAccess
from reference_broker.core.vhost.queue_deletion import UnusedQueues, deletion
from reference_broker.core.work.budget import DECLARATION_UNITS
from reference_broker.core.work.task import in_order
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.remote.ports import Home
    from reference_broker.core.vhost.topology import Topology
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.task import Steps


_ANOTHER_NODES = object()
"""The owner of an exclusive queue whose connection is another node's."""

_NOBODY = object()
"""The owner of an exclusive queue whose connection ended while the other nodes were asked."""


def default_type_for(existing: Queue | None, default: str) -> str:
    """The virtual host's ``default`` queue type, unless ``existing``, the queue of the declared
    name, was there before the default was: then none, which is empty."""
    if existing is not None and "x-queue-type" not in existing.arguments:
        return ""
    return default


def stored_queue(
    vhost: VHost, wanted: QueueDefinition, window_id: int | None, owner: object | None = None
) -> Queue:
    """The queue of a definition, with its window and its policies; it is not in the topology yet.
    A bad argument, which an earlier version took, is passed over. ``window_id`` is the id that the
    queue's window had, if any."""
    limits = parse_stored(wanted.arguments, wanted.name, vhost.name)
    rule = DeduplicationRule.of_stored_queue(wanted.arguments)
    return queue_of(vhost, wanted, owner, limits, rule, window_id)


def queue_of(
    vhost: VHost,
    wanted: QueueDefinition,
    owner: object | None,
    limits: QueueArguments,
    rule: DeduplicationRule | None,
    window_id: int | None = None,
) -> Queue:
    """:func:`stored_queue`, with the ``limits`` and the ``rule`` of its arguments."""
    window = None
    if rule is not None:
        kept = wanted.survives_restart
        window = vhost.inner_queues.window_of_queue(wanted.name, rule, window_id, durable=kept)
    return _made(partial(Queue, deduplication=window), vhost, wanted, owner, limits)


def remote_queue_of(
    vhost: VHost, wanted: QueueDefinition, owner: object | None, home: Home
) -> Queue:
    """The stand-in for a queue of another node, with its policies."""
    limits = parse_stored(wanted.arguments, wanted.name, vhost.name)
    return _made(partial(RemoteQueue, home=home), vhost, wanted, owner, limits)


def _made(
    kind: Callable[..., Queue],
    vhost: VHost,
    wanted: QueueDefinition,
    owner: object | None,
    limits: QueueArguments,
) -> Queue:
    queue = kind(
        id=wanted.id,
        name=wanted.name,
        durable=wanted.durable,
        auto_delete=wanted.auto_delete,
        owner=owner,
        arguments=wanted.arguments,
        limits=limits,
        env=vhost,
    )
    vhost.policies.adopt_queue(queue)
    return queue


def generated_name(ids: Ids) -> str:
    """A new name for a queue that is declared without one."""
    return GENERATED_PREFIX + ids.token()


def require_access(queue: Queue, owner: object | None, vhost_name: str) -> None:
    """Raises :exc:`ChannelException` 405 when ``queue`` is exclusive to another connection.

    ``owner`` is the connection that asks, ``None`` for the broker's own management.
    """
    if queue.owner is not None and queue.owner is not owner:
        raise _locked(queue, vhost_name)


def check_redeclared_queue(
    existing: Queue,
    wanted: QueueDefinition,
    vhost_name: str,
    *,
    durable: bool,
    owner: object | None,
) -> None:
    """Raises :exc:`ChannelException` when ``wanted`` is another queue than ``existing``: 405 where
    ``exclusive`` differs (``owner`` is ``None`` for a declaration without it), 406 for the rest."""
    if existing.owner is not owner:
        raise _locked(existing, vhost_name)
    resource = described("queue", existing.name, vhost_name)
    require_same("durable", durable, existing.durable, resource)
    require_same("auto_delete", wanted.auto_delete, existing.auto_delete, resource)
    require_same_arguments(wanted.arguments, existing.arguments, resource, QUEUE_ARGUMENTS)


def check_queue_deletion(
    queue: Queue, vhost_name: str, *, if_unused: bool, if_empty: bool, owner: object | None
) -> None:
    """Raises :exc:`ChannelException`: 405 for another connection's queue, 406 when a condition is
    not met. Only ready messages count against ``if_empty``, which is told first (RabbitMQ). And
    :exc:`NotYet` where consumers in the way are leaving."""
    require_access(queue, owner, vhost_name)
    if if_empty and queue.ready:
        raise not_empty(queue.name, vhost_name)
    if if_unused and queue.consumers:
        require_no_leaving(queue)
        raise in_use(queue.name, vhost_name)


def _locked(queue: Queue, vhost_name: str) -> ChannelException:
    return ChannelException(
        ReplyCode.RESOURCE_LOCKED,
        "cannot obtain exclusive access to locked"
        f" {described('queue', queue.name, vhost_name)}. It could be originally declared on"
        " another connection or the exclusive property value does not match that of the original"
        " declaration.",
    )


class QueueDeclarations:
    """Declares and deletes the queues of one virtual host, in its ``topology``, and knows which of
    them are about to go. ``ids`` are where new ones get theirs."""

    __slots__ = (
        "_claims",
        "_exclusive",
        "_ids",
        "_name",
        "_queues",
        "_topology",
        "_unused",
        "_vhost",
    )

    def __init__(self, vhost: VHost, topology: Topology, ids: Ids) -> None:
        self._vhost = vhost
        self._name = vhost.name
        self._topology = topology
        self._queues: Mapping[str, Queue] = topology.queues
        self._ids = ids
        self._exclusive = ExclusiveQueues(vhost.budget)
        self._claims: dict[str, dict[int, object]] = {}
        """Exclusive queues that the others are being asked for: owners by name and id. Several
        connections may want one name."""
        self._unused = UnusedQueues(
            self.ending,
            self._queues,
            vhost.work,
            vhost.budget,
            vhost.name,
            are_asked=vhost.definitions.shared,
        )

    def declare(
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
        drawn_name: str = "",
    ) -> Queue:
        """The queue of that name, made if it is not there; an empty name asks for a new one, which
        is ``drawn_name`` where that is given. With ``passive`` only the name counts. If it is
        durable, the client's -ok must wait for the journal. Declaring counts as use (x-expires).

        Raises :exc:`ChannelException`: 403 for a reserved name or one that ``access`` refuses, 404
        where a passive one is not there, 405 where it is another connection's or ``exclusive``
        differs, 406 for a bad argument, a difference from the queue that is there, or at
        ``max_queues``; :exc:`ConnectionException` 540 for a stream.
        """
        name = cleaned(name)
        if name not in self._queues:
            self._vhost.require_unlocked()
        if passive:
            queue = self.named(name, owner)
            queue.touch()
            return queue
        refuse_reserved("queue", name)
        default = default_type_for(self._queues.get(name), self._vhost.info.default_queue_type)
        temporary = exclusive or auto_delete or not durable
        arguments = with_default_type(arguments or {}, default, temporary=temporary)
        if not name:
            check_server_named(arguments.get("x-queue-type"))
            name = drawn_name or generated_name(self._ids)
        access.require(Action.CONFIGURE, "queue", name)
        wanted = QueueDefinition(0, name, auto_delete, dict(arguments), durable, exclusive)
        owner = owner if exclusive else None
        existing = self.there(name)
        if existing is not None:
            check_redeclared_queue(existing, wanted, self._name, durable=durable, owner=owner)
            existing.touch()
            self._vhost.traffic.queues_declared += 1
            return existing
        self._topology.require_gone(name, is_queue=True)
        self._vhost.bounds.check_queues(len(self._queues), name, self._name)
        access.require_dead_lettering(name, wanted.arguments)
        wanted = wanted._replace(id=self._ids.next())
        limits = QueueArguments.parse(wanted.arguments, name, self._name)
        rule = DeduplicationRule.of_queue(wanted.arguments)
        kinds = {"durable": durable, "exclusive": exclusive, "auto_delete": auto_delete}
        check_properties(limits.queue_type, name, self._name, **kinds)
        if owner is not None:
            self._claims.setdefault(name, {})[wanted.id] = owner
        self._topology.agree_on_queue(wanted)
        queue = queue_of(self._vhost, wanted, owner, limits, rule)
        self.enter(queue)
        return queue

    def enter_agreed(self, definition: QueueDefinition, home: Home | None) -> None:
        """Have a queue whose name is free be there, as was agreed; ``home`` is the other node that
        has it. An exclusive one is that connection's which has declared it; if that has ended by
        now, the queue goes."""
        owner: object | None = None
        if definition.exclusive and home is None:
            owner = self._claims.get(definition.name, {}).get(definition.id, _NOBODY)
        elif definition.exclusive:
            owner = _ANOTHER_NODES
        if home is None:
            queue = stored_queue(self._vhost, definition, None, owner)
        else:
            queue = remote_queue_of(self._vhost, definition, owner, home)
        self.enter(queue)
        if owner is _NOBODY:
            self._vhost.work.start(self.ending(queue), self._name)

    def enter(self, queue: Queue) -> None:
        """Have a queue whose name is free be there, as was agreed."""
        self._claims.pop(queue.name, None)
        self._topology.add_queue(queue)
        self._vhost.traffic.queue_created()
        self._exclusive.add(queue)

    def delete(
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
        self._vhost.require_unlocked()
        queue = self.there(cleaned(name))
        if queue is None:
            answer(0)
            return
        check_conditional_deletion(
            queue.limits.queue_type,
            queue.name,
            self._name,
            if_unused=if_unused,
            if_empty=if_empty,
        )
        require_rest(queue)  # what a consumer waits for, or has expired, does not count
        check_queue_deletion(queue, self._name, if_unused=if_unused, if_empty=if_empty, owner=owner)
        self._vhost.budget.left -= DECLARATION_UNITS
        self._topology.agree_without_queue(queue)
        self._vhost.work.start(self.deletion(queue, answer), self._name)

    def named(self, name: str, owner: object | None) -> Queue:
        """The queue, for whatever ``owner`` wants to do with it. Raises :exc:`ChannelException`:
        404, or 405 when it is another connection's."""
        name = cleaned(name)
        queue = self.there(name)
        if queue is None:
            raise not_found("queue", name, self._name)
        require_access(queue, owner, self._name)
        return queue

    def there(self, name: str) -> Queue | None:
        """The queue of that name. Raises :exc:`NotYet` for one that is about to go: of a connection
        that has ended, or unused."""
        queue = self._queues.get(name)
        if queue is not None:
            self._exclusive.require_unended(queue)
            queue = self._unused.named(queue)
        return queue

    def release_exclusive(self, owner: object) -> Steps:
        """Have the exclusive queues of a connection that has ended be unknown to everybody; returns
        the steps of deleting them, in order of declaration."""
        for name, claims in list(self._claims.items()):
            left = {id: claimant for id, claimant in claims.items() if claimant is not owner}
            if not left:
                del self._claims[name]
            elif len(left) < len(claims):
                self._claims[name] = left
        return self._exclusive.release(owner, self.ending)

    def ending(self, queue: Queue) -> Steps:
        """Have a queue go that no request deletes; returns the steps that remain."""
        try:
            self._topology.agree_without_queue(queue)
        except NotYet as wait:
            return self._until_gone(queue, wait.until)
        return self.deletion(queue)

    def _until_gone(self, queue: Queue, until: Until) -> Steps:
        """Ask the other nodes until the queue is gone; :meth:`deletion` is the view's part then."""
        while True:
            yield until
            if self._queues.get(queue.name) is not queue:
                return
            try:
                self._topology.agree_without_queue(queue)
            except NotYet as wait:
                until = wait.until

    def going_with_vhost(self, queue: Queue) -> Steps:
        """Have a queue go with its virtual host; returns the steps that remain."""
        self._topology.forget_queue(queue)
        return self.deletion(queue)

    def deletion(self, queue: Queue, answer: Callable[[int], None] = lambda count: None) -> Steps:
        """Have the queue be gone for everybody, as was agreed; returns the steps that remain."""
        bindings = self._topology.drop_queue(queue)
        self._vhost.traffic.queue_deleted(queue)
        self._exclusive.remove(queue)
        return deletion(queue, bindings, answer)

    def leave(self, queue: Queue) -> Steps:
        """Have the queue be gone, as was agreed; returns the steps of what is bound to it. Its
        messages go in their own time."""
        self._vhost.traffic.queue_deleted(queue)
        self._exclusive.remove(queue)
        bindings = self._topology.drop_queue(queue)
        self._vhost.work.start(deletion(queue, in_order(), lambda count: None), self._name)
        return bindings

    def delete_unused(self, queue: Queue) -> None:
        """Delete a queue whose ``x-expires`` ran out, or an auto-delete one whose last consumer is
        gone."""
        self._unused.add(queue)
